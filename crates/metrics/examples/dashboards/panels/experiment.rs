//! The arms of an experiment in production.

use super::{Dashboard, Row, SERVICE, lines};

pub const DASHBOARD: Dashboard = Dashboard {
    name: "experiment",
    title: "Powerband: experiment by arm",
    about: "Instances by the arm of an experiment in production (POWERBAND_ARM). To look at: the verdict, with its interval, is powerband verdict's.",
    variables: &[SERVICE],
    rows: &[Row {
        title: "By arm",
        panels: &[
            lines(
                "Instances",
                "none",
                "How many run each arm, and ran no other one in the last 5 minutes.",
                &[(
                    r#"count by (arm) (job_instance:powerband_arm:info{job="$job"})"#,
                    "{{arm}}",
                )],
            ),
            lines(
                "Requests",
                "reqps",
                "Those that ended.",
                &[(
                    r#"job_arm:powerband_requests:rate5m{job="$job"}"#,
                    "{{arm}}",
                )],
            ),
            lines(
                "Time in the application, mean",
                "s",
                "",
                &[(
                    r#"job_arm:powerband_request_duration_seconds:mean5m{job="$job"}"#,
                    "{{arm}}",
                )],
            ),
            lines(
                "Queue time, mean",
                "s",
                "",
                &[(
                    r#"job_arm:powerband_request_queue_seconds:mean5m{job="$job"}"#,
                    "{{arm}}",
                )],
            ),
            lines(
                "Failed requests",
                "percentunit",
                "An exception, or a status from 500 to 599.",
                &[(
                    r#"job_arm:powerband_server_errors:ratio_rate5m{job="$job"}"#,
                    "{{arm}}",
                )],
            ),
            lines(
                "Processor time of a request, mean",
                "s",
                "",
                &[(
                    r#"job_arm:powerband_request_cpu_seconds:mean5m{job="$job"}"#,
                    "{{arm}}",
                )],
            ),
            lines(
                "Resident memory of a process, mean",
                "bytes",
                "",
                &[(
                    r#"sum by (arm) (powerband_resident_memory_bytes{job="$job"} * on (job, instance) group_left (arm) job_instance:powerband_arm:info{job="$job"}) / sum by (arm) (powerband_processes{job="$job"} * on (job, instance) group_left (arm) job_instance:powerband_arm:info{job="$job"})"#,
                    "{{arm}}",
                )],
            ),
        ],
    }],
};
