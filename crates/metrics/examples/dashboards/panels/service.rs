//! One service.

use super::{Dashboard, INSTANCES, Row, SERVICE, lines, parts};

pub const DASHBOARD: Dashboard = Dashboard {
    name: "service",
    title: "Powerband: service",
    about: "One service: where the time of its requests goes.",
    variables: &[SERVICE, INSTANCES],
    rows: &[
        Row {
            title: "Requests",
            panels: &[
                parts(
                    "Responses by class",
                    "reqps",
                    "What raised an exception is a 5xx.",
                    &[(
                        r#"sum by (class) (rate(powerband_responses_total{job="$job",instance=~"$instance"}[$__rate_interval]))"#,
                        "{{class}}",
                    )],
                ),
                lines(
                    "Time in the application",
                    "s",
                    "With the histogram's precision of a factor of two.",
                    &[
                        (
                            r#"histogram_quantile(0.5, sum by (le) (rate(powerband_request_duration_seconds_bucket{job="$job",instance=~"$instance"}[$__rate_interval])))"#,
                            "median",
                        ),
                        (
                            r#"histogram_quantile(0.95, sum by (le) (rate(powerband_request_duration_seconds_bucket{job="$job",instance=~"$instance"}[$__rate_interval])))"#,
                            "95 %",
                        ),
                        (
                            r#"histogram_quantile(0.99, sum by (le) (rate(powerband_request_duration_seconds_bucket{job="$job",instance=~"$instance"}[$__rate_interval])))"#,
                            "99 %",
                        ),
                    ],
                ),
                parts(
                    "Where request time goes",
                    "s",
                    "Mean of a request, by what its thread did.",
                    &[(
                        r#"sum by (state) (rate(powerband_request_seconds_total{job="$job",instance=~"$instance"}[$__rate_interval])) / on () group_left () sum(rate(powerband_requests_total{job="$job",instance=~"$instance"}[$__rate_interval]))"#,
                        "{{state}}",
                    )],
                ),
                lines(
                    "Queue time",
                    "s",
                    "Time before the application had the request, from X-Request-Start.",
                    &[
                        (
                            r#"sum(rate(powerband_request_queue_seconds_sum{job="$job",instance=~"$instance"}[$__rate_interval])) / sum(rate(powerband_request_queue_seconds_count{job="$job",instance=~"$instance"}[$__rate_interval]))"#,
                            "mean",
                        ),
                        (
                            r#"histogram_quantile(0.95, sum by (le) (rate(powerband_request_queue_seconds_bucket{job="$job",instance=~"$instance"}[$__rate_interval])))"#,
                            "95 %",
                        ),
                    ],
                ),
            ],
        },
        Row {
            title: "Calls and connections",
            panels: &[
                parts(
                    "Calls, without GVL wait",
                    "s",
                    "Seconds of calls for each second.",
                    &[(
                        r#"sum by (client) (rate(powerband_call_seconds_total{job="$job",instance=~"$instance"}[$__rate_interval])) - sum by (client) (rate(powerband_call_gvl_wait_seconds_total{job="$job",instance=~"$instance"}[$__rate_interval]))"#,
                        "{{client}}",
                    )],
                ),
                lines(
                    "Calls",
                    "ops",
                    "Calls a second.",
                    &[(
                        r#"sum by (client) (rate(powerband_calls_total{job="$job",instance=~"$instance"}[$__rate_interval]))"#,
                        "{{client}}",
                    )],
                ),
                parts(
                    "Database connections",
                    "none",
                    "As last seen.",
                    &[(
                        r#"sum by (pool, state) (powerband_pool_connections{job="$job",instance=~"$instance"})"#,
                        "pool {{pool}} {{state}}",
                    )],
                ),
                lines(
                    "Waiting for a connection, mean of a request or job",
                    "s",
                    "Above 10 ms: a larger pool, or fewer threads.",
                    &[(
                        r#"sum(rate(powerband_pool_wait_seconds_total{job="$job",instance=~"$instance"}[$__rate_interval])) / (sum(rate(powerband_requests_total{job="$job",instance=~"$instance"}[$__rate_interval])) + (sum(rate(powerband_jobs_total{job="$job",instance=~"$instance"}[$__rate_interval])) or 0 * sum(rate(powerband_requests_total{job="$job",instance=~"$instance"}[$__rate_interval]))))"#,
                        "wait",
                    )],
                ),
            ],
        },
        Row {
            title: "Jobs",
            panels: &[
                lines(
                    "Jobs by class",
                    "ops",
                    "Jobs that ended, of the busiest classes.",
                    &[(
                        r#"sum by (job_class) (rate(powerband_job_class_jobs_total{job="$job",instance=~"$instance"}[$__rate_interval]))"#,
                        "{{job_class}}",
                    )],
                ),
                lines(
                    "Time before jobs were begun, 95th percentile",
                    "s",
                    "Of all jobs.",
                    &[(
                        r#"histogram_quantile(0.95, sum by (le) (rate(powerband_job_queue_seconds_bucket{job="$job",instance=~"$instance"}[$__rate_interval])))"#,
                        "95 %",
                    )],
                ),
            ],
        },
        Row {
            title: "Endpoints",
            panels: &[
                lines(
                    "The ten with the most time",
                    "s",
                    "Seconds of requests for each second.",
                    &[(
                        r#"topk(10, sum by (endpoint) (rate(powerband_endpoint_duration_seconds_sum{job="$job",instance=~"$instance"}[$__rate_interval])))"#,
                        "{{endpoint}}",
                    )],
                ),
                lines(
                    "Failed requests by endpoint",
                    "reqps",
                    "An exception, or a status from 500 to 599.",
                    &[(
                        r#"topk(10, sum by (endpoint) (rate(powerband_endpoint_server_errors_total{job="$job",instance=~"$instance"}[$__rate_interval])) > 0)"#,
                        "{{endpoint}}",
                    )],
                ),
            ],
        },
    ],
};
