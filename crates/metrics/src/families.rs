//! The names of `contract/metrics-v1.md`, in its order.

use crate::sums::Kind;

/// What is said of requests and of jobs, of all together and of each name.
pub(crate) struct Group {
    pub kind: Kind,
    /// Each name has its own series, under this label.
    pub label: Option<&'static str>,
    pub count: &'static str,
    pub errors: &'static str,
    pub prefix: &'static str,
    pub subject: &'static str,
    pub by: &'static str,
}

pub(crate) const GROUPS: [Group; 4] = [
    Group {
        kind: Kind::Request,
        label: None,
        count: "requests",
        errors: "server_errors",
        prefix: "request",
        subject: "requests",
        by: "",
    },
    Group {
        kind: Kind::Request,
        label: Some("endpoint"),
        count: "endpoint_requests",
        errors: "endpoint_server_errors",
        prefix: "endpoint",
        subject: "requests",
        by: ", by endpoint",
    },
    Group {
        kind: Kind::Job,
        label: None,
        count: "jobs",
        errors: "job_errors",
        prefix: "job",
        subject: "jobs",
        by: "",
    },
    Group {
        kind: Kind::Job,
        label: Some("job_class"),
        count: "job_class_jobs",
        errors: "job_class_errors",
        prefix: "job_class",
        subject: "jobs",
        by: ", by class",
    },
];

pub(crate) const STATES: [(&str, &str); 4] = [
    ("held", "held_ns"),
    ("gvl_wait", "gvl_wait_ns"),
    ("lock_wait", "lock_wait_ns"),
    ("io", "io_ns"),
];

/// A family over requests and jobs: name, help, and the counter for each value of its label.
pub(crate) struct Overall {
    pub name: &'static str,
    pub help: &'static str,
    pub label: &'static str,
    pub counters: &'static [(&'static str, &'static str)],
}

pub(crate) const OVERALL: [Overall; 8] = [
    Overall {
        name: "call_seconds_total",
        help: "Time of calls as the application sees it, GVL wait included.",
        label: "client",
        counters: &[
            ("sql", "sql_ns"),
            ("http", "http_ns"),
            ("cache", "cache_ns"),
            ("redis", "redis_ns"),
        ],
    },
    Overall {
        name: "call_gvl_wait_seconds_total",
        help: "GVL wait inside calls; without it, they took what they really took.",
        label: "client",
        counters: &[
            ("sql", "sql_gvl_ns"),
            ("http", "http_gvl_ns"),
            ("cache", "cache_gvl_ns"),
            ("redis", "redis_gvl_ns"),
        ],
    },
    Overall {
        name: "calls_total",
        help: "Calls.",
        label: "client",
        counters: &[
            ("sql", "sql_count"),
            ("http", "http_count"),
            ("cache", "cache_count"),
            ("redis", "redis_count"),
        ],
    },
    Overall {
        name: "pool_wait_seconds_total",
        help: "Waiting for a database connection, GVL wait included.",
        label: "",
        counters: &[("", "pool_ns")],
    },
    Overall {
        name: "pool_gvl_wait_seconds_total",
        help: "GVL wait inside waiting for a database connection.",
        label: "",
        counters: &[("", "pool_gvl_ns")],
    },
    Overall {
        name: "pool_waits_total",
        help: "Checkouts of a database connection that had to wait.",
        label: "",
        counters: &[("", "pool_count")],
    },
    Overall {
        name: "server_seconds_total",
        help: "The server's own time with a request, before and after the application.",
        label: "part",
        counters: &[("parse", "parse_ns"), ("write", "write_ns")],
    },
    Overall {
        name: "server_thread_seconds_total",
        help: "Time of serving threads outside the application.",
        label: "state",
        counters: &[
            ("held", "server_held_ns"),
            ("gvl_wait", "server_gvl_wait_ns"),
        ],
    },
];

/// Name, help, and which of [`crate::sums::PROCESS`].
pub(crate) const OF_PROCESS: [(&str, &str, &str); 7] = [
    (
        "gc_pause_seconds_total",
        "Pauses of the garbage collector, in which no Ruby thread of the process ran.",
        "gc_pause_ns",
    ),
    (
        "gc_cpu_seconds_total",
        "Processor time of the garbage collector.",
        "gc_cpu_ns",
    ),
    (
        "gc_runs_total",
        "Pauses of the garbage collector.",
        "gc_runs",
    ),
    (
        "clock_skew_total",
        "Requests whose queue time was negative or absurd.",
        "clock_skew",
    ),
    (
        "endpoints_lost_total",
        "Requests under (other) because their process had no room for more endpoints.",
        "endpoints_lost",
    ),
    (
        "agent_faults_total",
        "Errors inside the agent, which it kept to itself.",
        "faults",
    ),
    (
        "process_starts_total",
        "Processes that began to record.",
        "starts",
    ),
];
