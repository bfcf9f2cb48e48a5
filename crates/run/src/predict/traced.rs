//! What was traced.

use serde::{Deserialize, Serialize};

/// The configuration that was traced, and its requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Traced {
    /// e.g. `puma 6.6.0`.
    pub server: String,
    /// e.g. `3.3.8`.
    pub ruby: String,
    /// Processes that served.
    pub processes: u16,
    /// Threads of each.
    pub threads: u16,
    /// Requests that count.
    pub requests: u64,
    /// From the first arrival to the last, seconds.
    pub span_s: f64,
    /// Arrivals per second.
    pub rate_per_s: f64,
    /// Share of the time that a process's GVL was held.
    pub utilisation_gvl: f64,
    /// Share of the time that a serving thread had a request.
    pub utilisation_threads: f64,
    /// Cores' worth of CPU time that requests took.
    pub busy_cores: f64,
    /// Requests in threads at a time, on average.
    pub in_service: f64,
    /// Mean of a request: GVL held in the application, ms.
    pub held_ms: f64,
    /// Mean of a request: I/O, ms.
    pub io_ms: f64,
    /// Mean of a request: waiting for locks, ms.
    pub lock_wait_ms: f64,
    /// Mean of a request: waiting for the GVL, ms.
    pub gvl_wait_ms: f64,
    /// Mean of a request: CPU time of its thread, the server's part included, ms; absent when not measured.
    pub cpu_ms: Option<f64>,
    /// Mean of a request: time in queues before the application, ms; absent when no proxy said when they came.
    pub queue_ms: Option<f64>,
    /// Where the requests' steps are from.
    pub steps: Steps,
    /// What the server and the kernel add.
    pub costs: Costs,
}

/// How many requests have their steps from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// Their own bursts.
    pub own: u64,
    /// Those of another request of their endpoint, stretched to their own totals.
    pub borrowed: u64,
    /// Their totals alone, divided evenly.
    pub typical: u64,
}

/// What the server and the kernel add to the requests' own steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// CPU of the acceptor for each connection, µs.
    pub accept_us: f64,
    /// CPU of the reactor for each request over a kept connection, µs.
    pub reactor_us: f64,
    /// Where these two are from.
    pub from: CostsFrom,
    /// What a request waits before a thread begins with it although nothing else is served, median, µs: the network, the
    /// acceptor, waking up. What of it is not the acceptor's work is a delay. Absent when not known (then no delay).
    pub way_in_us: Option<f64>,
    /// GVL held by the serving thread outside the application, mean of a request, µs.
    pub server_us: f64,
    /// From one thread's giving the GVL up until the next one, which waited, has it, µs; absent when not measured (then 0).
    pub hand_over_us: Option<f64>,
}

/// Where the cost of the server's own threads is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CostsFrom {
    /// From their events.
    Events,
    /// From the CPU time of the processes, less that of the requests' threads.
    ProcessCpu,
    /// Nothing said it: a usual value.
    Assumed,
}
