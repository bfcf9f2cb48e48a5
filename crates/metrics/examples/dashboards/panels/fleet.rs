//! All services side by side.

use super::{Dashboard, Row, SERVICES, lines};

pub const DASHBOARD: Dashboard = Dashboard {
    name: "fleet",
    title: "Powerband: fleet",
    about: "All services side by side. The figures are those of the recording rules in powerband.rules.yml.",
    variables: &[SERVICES],
    rows: &[
        Row {
            title: "Load",
            panels: &[
                lines(
                    "Requests",
                    "reqps",
                    "Requests that ended, by service.",
                    &[(r#"job:powerband_requests:rate5m{job=~"$job"}"#, "{{job}}")],
                ),
                lines(
                    "Failed requests",
                    "percentunit",
                    "The share that raised an exception or answered with a status from 500 to 599.",
                    &[(
                        r#"job:powerband_server_errors:ratio_rate5m{job=~"$job"}"#,
                        "{{job}}",
                    )],
                ),
                lines(
                    "Threads in use",
                    "percentunit",
                    "Requests and jobs that run, by the threads that serve. Near 100 % requests queue.",
                    &[(
                        r#"job:powerband_threads_in_use:ratio_avg5m{job=~"$job"}"#,
                        "{{job}}",
                    )],
                ),
                lines(
                    "Queue time, mean",
                    "s",
                    "Time before the application had the request, from X-Request-Start. The figure to scale on.",
                    &[(
                        r#"job:powerband_request_queue_seconds:mean5m{job=~"$job"}"#,
                        "{{job}}",
                    )],
                ),
            ],
        },
        Row {
            title: "Response times",
            panels: &[
                lines(
                    "Time in the application, 99th percentile",
                    "s",
                    "With the histogram's precision of a factor of two.",
                    &[(
                        r#"job:powerband_request_duration_seconds:p99_5m{job=~"$job"}"#,
                        "{{job}}",
                    )],
                ),
                lines(
                    "GVL wait, mean",
                    "s",
                    "Above 75 ms: fewer threads, more processes.",
                    &[(
                        r#"job:powerband_request_gvl_wait_seconds:mean5m{job=~"$job"}"#,
                        "{{job}}",
                    )],
                ),
            ],
        },
        Row {
            title: "Processes",
            panels: &[
                lines(
                    "Processes that are missing",
                    "none",
                    "Processes that servers are set to run, less those that record.",
                    &[(
                        r#"sum by (job) (powerband_processes_expected{job=~"$job"}) - sum by (job) (powerband_processes{job=~"$job"})"#,
                        "{{job}}",
                    )],
                ),
                lines(
                    "Resident memory",
                    "bytes",
                    "RSS: a page that workers share counts in each.",
                    &[(
                        r#"sum by (job) (powerband_resident_memory_bytes{job=~"$job"})"#,
                        "{{job}}",
                    )],
                ),
            ],
        },
    ],
};
