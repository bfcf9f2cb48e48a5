//! The counters document, version 1: what `powerband inspect --save` writes.
//!
//! As in the run document, the comment on each field is its public description. It has the counters of each process
//! apart, so that a later reading can be compared with it process by process.

use crate::inspect::{NotRead, ProcessState};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of `schema` in every counters document of this version.
pub const SCHEMA: &str = "powerband/counters/1";

/// The counters of flight files at one instant. It holds names of endpoints and folders, and nothing of any request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// Always `powerband/counters/1`.
    pub schema: String,
    /// Version of powerband that read the files.
    pub powerband_version: String,
    /// UTC time at which the reading began, RFC 3339.
    pub read_at: String,
    /// The same, nanoseconds since 1970.
    pub read_at_ns: u64,
    /// The folders and files that were asked for.
    pub sources: Vec<String>,
    /// Each process whose file was read.
    pub processes: Vec<Process>,
    /// Files that were not read, or not whole.
    pub not_read: Vec<NotRead>,
}

/// The counters of one process since its flight file was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Process {
    /// Its file.
    pub file: String,
    /// Its process id.
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`, which tells it from others with the same id.
    pub start_ticks: u64,
    /// Inode of its PID namespace; absent when not recorded.
    pub pid_namespace: Option<u64>,
    /// Boot of its machine, 32 hexadecimal digits; absent when not recorded.
    pub boot_id: Option<String>,
    /// When its file was made, nanoseconds since 1970.
    pub created_wall_ns: u64,
    /// The same by `CLOCK_MONOTONIC`.
    pub created_mono_ns: u64,
    /// End of its last request, nanoseconds since 1970; absent when there was none.
    pub last_ended_ns: Option<u64>,
    /// Whether it ran.
    pub state: ProcessState,
    /// Puma's index of this worker; absent in single mode or when unknown.
    pub worker: Option<u32>,
    /// Worker processes of its server, 0 in single mode; absent when unknown.
    pub workers: Option<u32>,
    /// Threads that serve at most; absent when unknown.
    pub threads: Option<u32>,
    /// e.g. `puma 6.6.0`.
    pub server: String,
    /// e.g. `3.3.8`.
    pub ruby: String,
    /// e.g. `rails 7.2.2.1`, or empty.
    pub framework: String,
    /// Version of the agent.
    pub agent: String,
    /// Folder of the application.
    pub app_root: String,
    /// Whether fibers serve requests.
    pub fibers: bool,
    /// The fields of a record that the agent measures in this process (`contract/flight-v1.md`).
    pub measured: Vec<String>,
    /// Whether its file has the counters since agent 0.1.
    pub counts_further: bool,
    /// Whether responses are counted by the class of their status; false in files of powerband before this field.
    #[serde(default)]
    pub counts_statuses: bool,
    /// Whether requests of at most 75 and at most 250 ms are counted; false in files of powerband before this field.
    #[serde(default)]
    pub counts_edges: bool,
    /// `POWERBAND_ARM`: the group of servers that it belongs to in a comparison; empty without one.
    #[serde(default)]
    pub arm: String,
    /// Records that its ring holds.
    pub ring: u32,
    /// Requests and jobs being served.
    pub in_flight: u64,
    /// Records ever written.
    pub written: u64,
    /// Errors inside the agent that it swallowed.
    pub faults: u64,
    /// Requests whose queue time came out negative or absurd.
    pub clock_skew: u64,
    /// Requests booked under `(other)` because the endpoint table was full.
    pub endpoints_lost: u64,
    /// What the garbage collector did; absent when it was not watched.
    pub collector: Option<Collector>,
    /// The counters over all endpoints, by their names in `contract/flight-v1.md`.
    pub totals: BTreeMap<String, u64>,
    /// Endpoints and job classes with a request, in the order of the file.
    pub endpoints: Vec<Endpoint>,
}

/// Pauses of the garbage collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Collector {
    /// How many.
    pub runs: u64,
    /// Their length.
    pub pause_ns: u64,
    /// Thread CPU spent in them.
    pub cpu_ns: u64,
}

/// The counters of an endpoint or job class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Endpoint {
    /// `products#index`, `GET /orders/:id`, `job HardWorker`.
    pub name: String,
    /// By their names in `contract/flight-v1.md`.
    pub counters: BTreeMap<String, u64>,
    /// Time in the application: requests by bucket of the flight file's histogram.
    pub wall: BTreeMap<u16, u64>,
    /// GVL wait likewise.
    pub gvl_wait: BTreeMap<u16, u64>,
    /// Queue time likewise, of the requests whose queue time is known.
    pub queue: BTreeMap<u16, u64>,
}
