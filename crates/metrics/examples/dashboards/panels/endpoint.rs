//! One endpoint.

use super::{Dashboard, ENDPOINT, Row, SERVICE, lines, parts};

pub const DASHBOARD: Dashboard = Dashboard {
    name: "endpoint",
    title: "Powerband: endpoint",
    about: "One endpoint, as far as it is among the busiest of its instances.",
    variables: &[SERVICE, ENDPOINT],
    rows: &[Row {
        title: "Requests",
        panels: &[
            lines(
                "Requests",
                "reqps",
                "Those that ended, and of these the ones that failed.",
                &[
                    (
                        r#"sum(rate(powerband_endpoint_requests_total{job="$job",endpoint="$endpoint"}[$__rate_interval]))"#,
                        "requests",
                    ),
                    (
                        r#"sum(rate(powerband_endpoint_server_errors_total{job="$job",endpoint="$endpoint"}[$__rate_interval]))"#,
                        "failed",
                    ),
                ],
            ),
            lines(
                "Time in the application",
                "s",
                "With the histogram's precision of a factor of two.",
                &[
                    (
                        r#"histogram_quantile(0.5, sum by (le) (rate(powerband_endpoint_duration_seconds_bucket{job="$job",endpoint="$endpoint"}[$__rate_interval])))"#,
                        "median",
                    ),
                    (
                        r#"histogram_quantile(0.95, sum by (le) (rate(powerband_endpoint_duration_seconds_bucket{job="$job",endpoint="$endpoint"}[$__rate_interval])))"#,
                        "95 %",
                    ),
                    (
                        r#"histogram_quantile(0.99, sum by (le) (rate(powerband_endpoint_duration_seconds_bucket{job="$job",endpoint="$endpoint"}[$__rate_interval])))"#,
                        "99 %",
                    ),
                ],
            ),
            parts(
                "Where its time goes",
                "s",
                "Mean of a request, by what its thread did.",
                &[(
                    r#"sum by (state) (rate(powerband_endpoint_seconds_total{job="$job",endpoint="$endpoint"}[$__rate_interval])) / on () group_left () sum(rate(powerband_endpoint_requests_total{job="$job",endpoint="$endpoint"}[$__rate_interval]))"#,
                    "{{state}}",
                )],
            ),
            lines(
                "Waits, 95th percentile",
                "s",
                "For the GVL, and before the application had the request.",
                &[
                    (
                        r#"histogram_quantile(0.95, sum by (le) (rate(powerband_endpoint_gvl_wait_seconds_bucket{job="$job",endpoint="$endpoint"}[$__rate_interval])))"#,
                        "GVL wait",
                    ),
                    (
                        r#"histogram_quantile(0.95, sum by (le) (rate(powerband_endpoint_queue_seconds_bucket{job="$job",endpoint="$endpoint"}[$__rate_interval])))"#,
                        "queue",
                    ),
                ],
            ),
            lines(
                "Objects allocated by a request",
                "none",
                "Mean.",
                &[(
                    r#"sum(rate(powerband_endpoint_allocations_total{job="$job",endpoint="$endpoint"}[$__rate_interval])) / sum(rate(powerband_endpoint_requests_total{job="$job",endpoint="$endpoint"}[$__rate_interval]))"#,
                    "objects",
                )],
            ),
            lines(
                "Processor time and garbage collection of a request",
                "s",
                "Mean.",
                &[
                    (
                        r#"sum(rate(powerband_endpoint_cpu_seconds_total{job="$job",endpoint="$endpoint"}[$__rate_interval])) / sum(rate(powerband_endpoint_requests_total{job="$job",endpoint="$endpoint"}[$__rate_interval]))"#,
                        "processor",
                    ),
                    (
                        r#"sum(rate(powerband_endpoint_gc_stopped_seconds_total{job="$job",endpoint="$endpoint"}[$__rate_interval])) / sum(rate(powerband_endpoint_requests_total{job="$job",endpoint="$endpoint"}[$__rate_interval]))"#,
                        "stopped by the collector",
                    ),
                ],
            ),
        ],
    }],
};
