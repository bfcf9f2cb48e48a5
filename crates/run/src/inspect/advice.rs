//! What the split of time says about the number of threads.

use serde::{Deserialize, Serialize};

/// Thread advice, and the evidence for it. It is arithmetic on what was measured; `powerband tune` tries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Threads {
    /// Threads of each process today; absent when unknown or when processes differ.
    pub present: Option<u32>,
    /// I/O / (I/O + held) of all requests (of all jobs, where there were no requests): the part that threads can share.
    pub io_share_of_work: f64,
    /// T* = 1 + I/O / held, lock wait left out.
    pub useful_threads: Option<f64>,
    /// What the formula gives when lock wait is taken for I/O, as instruments do that cannot tell them apart.
    pub useful_threads_with_locks: Option<f64>,
    /// T* when the GVL that the server itself holds for a request is counted with the application's.
    pub useful_threads_with_server: Option<f64>,
    /// Amdahl's limit: the most that threads can speed one process up.
    pub amdahl_limit: Option<f64>,
    /// The count from which one more thread adds less than 5 % by Amdahl's law.
    pub amdahl_threads: u32,
    /// Amdahl's law and T* for this application, a row for each number of threads.
    pub table: Vec<ThreadRow>,
    /// The rule of thumb that people use; absent without a measured GVL wait or a known thread count.
    pub step_down: Option<StepDown>,
    /// The advice in words that need no formula.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plain: Vec<String>,
    /// The advice with its formulas.
    pub sentences: Vec<String>,
}

/// What one process does with a number of threads, as multiples of one thread's throughput.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ThreadRow {
    /// Threads.
    pub threads: u32,
    /// Amdahl: 1 / ((1 - p) + p / N), p the I/O share of work.
    pub amdahl: f64,
    /// What this thread adds by Amdahl's law: 0.05 is 5 %; absent for the first.
    pub amdahl_gain: Option<f64>,
    /// The upper bound min(N, T*): no request ever waits for another.
    pub bound: f64,
    /// Share of the time in which the GVL would be held at that bound.
    pub gvl_busy: f64,
}

/// The rule of thumb: begin with Amdahl's count and lower it until the mean GVL wait is under 75 ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StepDown {
    /// The wait that people accept, ms.
    pub limit_ms: f64,
    /// Mean GVL wait of a request at the present count, ms.
    pub mean_gvl_wait_ms: f64,
    /// 99th percentile of it, ms.
    pub p99_gvl_wait_ms: Option<f64>,
    /// What the rule says.
    pub verdict: StepVerdict,
}

/// What the rule of thumb says of the present count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepVerdict {
    /// More threads than the rule begins with, or a mean wait that is not under the limit: fewer, and measure again.
    Lower,
    /// Under the limit; one more thread would pass it, or be more than the rule begins with.
    Keep,
    /// Under the limit, and one more thread would stay under it, if waits grow with the other threads.
    Room,
}

/// The queue before the application for Poisson arrivals and exponential service (M/M/c), at the rate that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CalculatedQueue {
    /// Requests answered per second of the span.
    pub rate_per_s: f64,
    /// Mean time in the application, ms.
    pub service_ms: f64,
    /// Threads of all processes that serve.
    pub servers: u32,
    /// Mean wait, ms; absent when these threads cannot keep up with that rate.
    pub wait_ms: Option<f64>,
}
