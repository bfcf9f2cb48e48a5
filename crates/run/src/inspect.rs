//! The inspect document, version 1: what `powerband inspect --json` prints.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/inspect-v1.schema.json` and `contract/inspect-v1.md` are generated from them.

use serde::{Deserialize, Serialize};

mod advice;
mod collections;
mod locks;
mod process;

pub use advice::*;
pub use collections::*;
pub use locks::*;
pub use process::*;

/// The value of `schema` in every inspect document of this version.
pub const SCHEMA: &str = "powerband/inspect/1";

/// Where request time went, from flight files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/inspect/1`.
    pub schema: String,
    /// Version of powerband that read the files.
    pub powerband_version: String,
    /// UTC time of the reading, RFC 3339.
    pub read_at: String,
    /// The folders and files that were asked for.
    pub sources: Vec<String>,
    /// What was counted.
    pub scope: Scope,
    /// Each process whose file was read, in the order of their making.
    pub processes: Vec<Process>,
    /// What became of each process since the saved counters (`--since FILE`); absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Files that were not read, or not whole.
    pub not_read: Vec<NotRead>,
    /// All requests together; absent when there were none.
    pub requests: Option<Traffic>,
    /// All jobs together; absent when there were none.
    pub jobs: Option<Traffic>,
    /// The requests by endpoint, the one with the most time first.
    pub endpoints: Vec<Traffic>,
    /// The jobs by class, the one with the most time first.
    pub job_classes: Vec<Traffic>,
    /// Memory of the processes that run on this machine, now; absent when none does, or none can be seen.
    pub memory: Option<Memory>,
    /// What the garbage collector did to whole processes; absent when it was not watched, and with `--since` or `--last`.
    pub collector: Option<Collector>,
    /// Ruby's collections by kind and cause, and the requests that waited for them; absent when no agent that logs them was there,
    /// and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collections: Option<Collections>,
    /// Database connection pools over time.
    pub pools: Vec<Pool>,
    /// Locks that requests waited for, the one with the longest waits together first, at most 20; empty with `--since` or `--last`, and
    /// in older documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<Lock>,
    /// How long the requests would wait before the application by the formula of `powerband calc queue`; absent when a figure that
    /// it takes is not known, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calculated_queue: Option<CalculatedQueue>,
    /// What follows for the number of threads; absent when the split of time is not known.
    pub threads: Option<Threads>,
    /// What a reader must know before believing it, most important first.
    pub warnings: Vec<String>,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// Begin of the span, RFC 3339: the making of the first file, or the instant asked for.
    pub from: String,
    /// End of the span, RFC 3339: the reading while a process lives, else the end of the last request.
    pub to: String,
    /// Seconds between the two, over which rates are taken.
    pub span_s: f64,
    /// Requests that arrived before this were left out (`--since`, `--last`), RFC 3339. Everything then comes from the rings.
    pub since: Option<String>,
    /// Only processes with this many threads were counted (`--threads`).
    pub threads: Option<u32>,
    /// Requests and jobs whose records are in the rings and were counted.
    pub records: u64,
    /// Every request that ended since is among these records, RFC 3339.
    pub records_from: String,
    /// Seconds from the end of the last request or job on record to the reading; absent without records, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_ended_before_s: Option<f64>,
    /// Whether the rings hold every request of the span, so that all percentiles are exact.
    pub records_are_all: bool,
}

/// Requests of one endpoint, jobs of one class, or all of either. Means are over its requests. A part that is
/// absent was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// `products#index`, `GET /orders/:id`, `job HardWorker`; `all requests` and `all jobs` for the sums.
    pub name: String,
    /// How many there were.
    pub requests: u64,
    /// Of those: status 500 to 599, or the application raised.
    pub errors: u64,
    /// Per second of the span.
    pub rate_per_s: Option<f64>,
    /// Its share of the time of all requests (jobs: of all jobs), 0 to 1.
    pub share_of_time: f64,
    /// Time in the application.
    pub wall: Times,
    /// Time in queues before it, of the requests whose queue time is known (jobs: the queue's latency).
    pub queue: Option<Times>,
    /// Time ready and waiting for the GVL.
    pub gvl_wait: Option<Times>,
    /// Where the time in the application went.
    pub split: Option<Split>,
    /// Time lost to the garbage collector.
    pub gc: Option<Gc>,
    /// Calls of each kind that was looked at.
    pub calls: Vec<Calls>,
    /// The server's own work around the application.
    pub server: Option<Server>,
    /// Objects allocated, mean.
    pub allocations: Option<f64>,
    /// Times that the GVL was given up, mean.
    pub yields: Option<f64>,
    /// Requests in flight in the process when one began, itself included, mean.
    pub busy_threads: Option<f64>,
    /// The same by how long requests took, fastest first; from the rings.
    pub bands: Vec<Band>,
}

/// Mean and percentiles of a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// Of how many requests.
    pub count: u64,
    /// Mean, ms.
    pub mean_ms: f64,
    /// Median, ms. The percentiles are absent where neither records nor a histogram hold them.
    pub p50_ms: Option<f64>,
    /// 90th percentile, ms.
    pub p90_ms: Option<f64>,
    /// 99th percentile, ms.
    pub p99_ms: Option<f64>,
    /// The longest, ms.
    pub max_ms: Option<f64>,
    /// True: the percentiles are exact, from the records of all. False: they are the upper edges of a histogram's buckets,
    /// never below the truth and at most 25 % above it (under 4 µs: 1 µs).
    pub exact: bool,
}

/// Where the time in the application went: held + GVL wait + lock wait + I/O = wall. Means in ms; shares from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The thread held the GVL, ms.
    pub held_ms: f64,
    /// It was ready and waited for the GVL, ms.
    pub gvl_wait_ms: f64,
    /// It waited for a Mutex, Monitor, Queue or ConditionVariable, ms; absent when this is part of I/O.
    pub lock_wait_ms: Option<f64>,
    /// It had given the GVL up otherwise, ms.
    pub io_ms: f64,
    /// Held as a share of wall.
    pub held_share: f64,
    /// GVL wait as a share of wall.
    pub gvl_wait_share: f64,
    /// Lock wait as a share of wall.
    pub lock_wait_share: Option<f64>,
    /// I/O as a share of wall.
    pub io_share: f64,
    /// I/O / (I/O + held), without the waits, which belong to the configuration: what Amdahl's law and T* take.
    pub io_share_of_work: Option<f64>,
    /// T* = 1 + I/O / held: threads at which one process would keep its GVL busy; absent when the GVL was never held.
    pub useful_threads: Option<f64>,
    /// Thread CPU, ms: a part of held, of the server's own held time and, in native code, of I/O.
    pub cpu_ms: Option<f64>,
    /// Held + server held - CPU where positive, ms: the GVL was held without a processor. CPU starvation, or native
    /// code that waits without letting go of the GVL.
    pub starved_ms: Option<f64>,
}

/// Time lost to the garbage collector, parts of held and of GVL wait. Means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Gc {
    /// It stopped the request, ms: in its own thread, or in another while this one was ready.
    pub stopped_ms: f64,
    /// As a share of wall.
    pub stopped_share: f64,
    /// The part that its own thread ran, ms.
    pub own_ms: Option<f64>,
    /// The part that other threads ran, ms.
    pub others_ms: Option<f64>,
    /// Thread CPU of its own part, ms.
    pub own_cpu_ms: Option<f64>,
    /// Pauses that stopped it.
    pub pauses: Option<f64>,
}

/// Calls of one kind. Means over requests, with and without such calls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// Of what.
    pub kind: CallKind,
    /// How many in all.
    pub count: u64,
    /// How many a request.
    pub per_request: f64,
    /// Time a request as the application saw it, ms.
    pub seen_ms: f64,
    /// GVL wait inside, ms.
    pub gvl_wait_ms: f64,
    /// What they really took, ms: seen without the GVL wait.
    pub really_ms: f64,
    /// As the application saw it, ms a call; absent without calls.
    pub seen_ms_per_call: Option<f64>,
    /// What it really took, ms a call.
    pub really_ms_per_call: Option<f64>,
}

/// What a request calls and waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// SQL queries.
    Sql,
    /// HTTP clients.
    Http,
    /// Caches.
    Cache,
    /// Redis.
    Redis,
    /// Checkouts that had to wait for a database connection.
    Pool,
}

/// The server's own work around the application. Means in ms; not part of wall.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// From the thread taking the connection up to the application, ms.
    pub parse_ms: Option<f64>,
    /// From the application's return until the response was written, ms.
    pub write_ms: Option<f64>,
    /// Of how many requests the two are known.
    pub spans_known: u64,
    /// GVL held by the thread outside the application, ms.
    pub held_ms: Option<f64>,
    /// GVL wait likewise, ms.
    pub gvl_wait_ms: Option<f64>,
}

/// Requests that took about as long: a range of ranks by time in the application. Means in ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Percentile from which it goes, e.g. 90.
    pub from: f64,
    /// Percentile to which it goes, e.g. 99.
    pub to: f64,
    /// Requests in it.
    pub requests: u64,
    /// Time in the application, ms.
    pub wall_ms: f64,
    /// GVL held, ms.
    pub held_ms: f64,
    /// GVL wait, ms.
    pub gvl_wait_ms: f64,
    /// Lock wait, ms; absent when not measured.
    pub lock_wait_ms: Option<f64>,
    /// I/O, ms.
    pub io_ms: f64,
    /// Stopped by the garbage collector, ms; absent when not measured.
    pub gc_ms: Option<f64>,
    /// I/O / (I/O + held).
    pub io_share_of_work: Option<f64>,
}
