//! Processes, their memory and garbage collection.

use super::{Dashboard, INSTANCES, Row, SERVICE, lines};

pub const DASHBOARD: Dashboard = Dashboard {
    name: "workers",
    title: "Powerband: workers, memory and garbage collection",
    about: "The processes of each instance: threads, memory, the collector, the agent. Single processes: powerband watch.",
    variables: &[SERVICE, INSTANCES],
    rows: &[
        Row {
            title: "Processes and threads",
            panels: &[
                lines(
                    "Processes",
                    "none",
                    "Those that record, and those that servers are set to run.",
                    &[
                        (
                            r#"powerband_processes{job="$job",instance=~"$instance"}"#,
                            "{{instance}}",
                        ),
                        (
                            r#"powerband_processes_expected{job="$job",instance=~"$instance"}"#,
                            "{{instance}} expected",
                        ),
                    ],
                ),
                lines(
                    "Threads in use now",
                    "percentunit",
                    "Requests and jobs in flight by the threads that serve.",
                    &[(
                        r#"powerband_requests_in_flight{job="$job",instance=~"$instance"} / powerband_threads{job="$job",instance=~"$instance"}"#,
                        "{{instance}}",
                    )],
                ),
                lines(
                    "GVL in use",
                    "percentunit",
                    "Time for which threads held the GVL in requests and in the server, by process. Near 100 % more threads do not help.",
                    &[(
                        r#"(sum by (instance) (rate(powerband_request_seconds_total{job="$job",instance=~"$instance",state="held"}[$__rate_interval])) + sum by (instance) (rate(powerband_server_thread_seconds_total{job="$job",instance=~"$instance",state="held"}[$__rate_interval]))) / sum by (instance) (powerband_processes{job="$job",instance=~"$instance"})"#,
                        "{{instance}}",
                    )],
                ),
                lines(
                    "The server's own time of a request",
                    "s",
                    "Parsing before the application, and writing after it.",
                    &[(
                        r#"sum by (part) (rate(powerband_server_seconds_total{job="$job",instance=~"$instance"}[$__rate_interval])) / on () group_left () sum(rate(powerband_requests_total{job="$job",instance=~"$instance"}[$__rate_interval]))"#,
                        "{{part}}",
                    )],
                ),
            ],
        },
        Row {
            title: "Memory and garbage collection",
            panels: &[
                lines(
                    "Resident memory of a process, mean",
                    "bytes",
                    "RSS: a page that workers share counts in each. Compare it over time.",
                    &[(
                        r#"powerband_resident_memory_bytes{job="$job",instance=~"$instance"} / powerband_processes{job="$job",instance=~"$instance"}"#,
                        "{{instance}}",
                    )],
                ),
                lines(
                    "Pauses of the collector",
                    "percentunit",
                    "Share of time in which no Ruby thread of a process ran.",
                    &[(
                        r#"rate(powerband_gc_pause_seconds_total{job="$job",instance=~"$instance"}[$__rate_interval]) / powerband_processes{job="$job",instance=~"$instance"}"#,
                        "{{instance}}",
                    )],
                ),
                lines(
                    "Pauses a second",
                    "ops",
                    "Steps of incremental marking and sweeping count one each.",
                    &[(
                        r#"rate(powerband_gc_runs_total{job="$job",instance=~"$instance"}[$__rate_interval])"#,
                        "{{instance}}",
                    )],
                ),
                lines(
                    "Objects allocated by a request",
                    "none",
                    "Mean.",
                    &[(
                        r#"rate(powerband_request_allocations_total{job="$job",instance=~"$instance"}[$__rate_interval]) / rate(powerband_requests_total{job="$job",instance=~"$instance"}[$__rate_interval])"#,
                        "{{instance}}",
                    )],
                ),
            ],
        },
        Row {
            title: "The agent",
            panels: &[
                lines(
                    "Not recorded",
                    "none",
                    "Processes that cannot make their flight file, and files that cannot be read.",
                    &[
                        (
                            r#"sum by (instance, reason) (powerband_processes_unrecorded{job="$job",instance=~"$instance"})"#,
                            "{{instance}} {{reason}}",
                        ),
                        (
                            r#"powerband_unreadable_files{job="$job",instance=~"$instance"} > 0"#,
                            "{{instance}} unreadable",
                        ),
                    ],
                ),
                lines(
                    "Faults and wrong clocks",
                    "none",
                    "In the last hour.",
                    &[
                        (
                            r#"sum(increase(powerband_agent_faults_total{job="$job",instance=~"$instance"}[1h]))"#,
                            "faults",
                        ),
                        (
                            r#"sum(increase(powerband_clock_skew_total{job="$job",instance=~"$instance"}[1h]))"#,
                            "queue times that are negative or absurd",
                        ),
                    ],
                ),
            ],
        },
    ],
};
