//! The processes behind the figures: who they are, what of them was read, their collector and pools.

use serde::{Deserialize, Serialize};

/// A process whose flight file was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Its file.
    pub file: String,
    /// Its process id.
    pub pid: u32,
    /// Whether it runs.
    pub state: ProcessState,
    /// When its file was made, RFC 3339.
    pub started_at: String,
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
    /// Requests and jobs counted.
    pub requests: u64,
    /// Jobs among `requests`.
    pub jobs: u64,
    /// Being served at the reading; of a process that died, what died with it.
    pub in_flight: u64,
    /// Records that its ring holds.
    pub ring: u32,
    /// Records read.
    pub records: u64,
    /// Every request that ended since is among these, RFC 3339.
    pub records_from: String,
    /// Whether the split of its time by the GVL was measured and is valid: it is not where fibers serve requests.
    pub split_valid: bool,
    /// Errors inside the agent that it swallowed.
    pub faults: u64,
    /// Requests whose queue time came out negative, or unknown because it was absurd: clocks disagree.
    pub clock_skew: u64,
    /// Requests booked under `(other)` because the endpoint table was full.
    pub endpoints_lost: u64,
}

/// Whether a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    /// It runs.
    Live,
    /// It closed its file in good order.
    Closed,
    /// It ended without closing its file: killed, or crashed.
    Died,
    /// It did not close its file, and whether it runs cannot be seen from here: another machine's or container's.
    Unknown,
}

/// The processes between saved counters and a later reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// When the counters were saved, RFC 3339.
    pub since: String,
    /// Processes that were there and have not ended.
    pub continued: u64,
    /// Processes that began since: restarted and recycled workers among them.
    pub started: u64,
    /// Processes that ended since, with the last that they counted.
    pub ended: u64,
    /// Processes that ran then and of which nothing is left to be read.
    pub gone: u64,
    /// The requests by arm (`POWERBAND_ARM`), the arm with the most pods first; empty where no process has an arm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<Arm>,
    /// Each process with what it served since, by its worker index and its start.
    pub processes: Vec<IntervalProcess>,
}

/// The servers of one arm since the saved counters. Each pod counts the same, however many requests it served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// `POWERBAND_ARM`; empty for processes without one.
    pub arm: String,
    /// Requests, without jobs.
    pub requests: u64,
    /// Of those: status 500 to 599, or the application raised.
    pub errors: u64,
    /// Mean time in the application: the geometric mean over pods of each pod's mean, ms.
    pub wall_ms: OverPods,
    /// The pods.
    pub pods: Vec<ArmPod>,
    /// Compared with the first arm; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
}

/// The processes of an arm in one saved file, where several were read; else those that share a PID namespace: a container, or
/// all servers of a machine without containers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ArmPod {
    /// The saved file, where several were read; each is of one pod then.
    #[serde(default)]
    pub file: Option<String>,
    /// Inode of the PID namespace; absent when not recorded, where a process stands for itself, and where a file has several.
    pub pid_namespace: Option<u64>,
    /// Its processes that served requests, those that have ended included.
    pub pids: Vec<u32>,
    /// Requests, without jobs.
    pub requests: u64,
    /// Of those: status 500 to 599, or the application raised.
    pub errors: u64,
    /// Mean time in the application, ms.
    pub wall_ms: f64,
}

/// One arm against another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Against {
    /// The arm that it is compared with.
    pub arm: String,
    /// Ratio of the mean times in the application; below 1 this arm is faster.
    pub ratio: OverPods,
    /// Why it cannot be judged; absent where it can.
    pub why_not: Option<String>,
}

/// An estimate over pods, with its 95 % interval; without one where there are fewer than two pods.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OverPods {
    /// The estimate.
    pub estimate: f64,
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// A process between saved counters and a later reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IntervalProcess {
    /// Its process id.
    pub pid: u32,
    /// Puma's index of this worker; absent in single mode or when unknown.
    pub worker: Option<u32>,
    /// Whether it was there when the counters were saved.
    pub change: ProcessChange,
    /// Whether it runs.
    pub state: ProcessState,
    /// Its requests and jobs since; rates are over the whole interval.
    pub traffic: super::Traffic,
}

/// Whether a process was there when counters were saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProcessChange {
    /// It was.
    Continued,
    /// It began since.
    Started,
}

/// Memory of processes, all in one measure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// What the bytes are.
    pub measure: MemoryMeasure,
    /// Of all together, masters included.
    pub total_bytes: u64,
    /// Masters first, then workers by their index.
    pub processes: Vec<ProcessMemory>,
}

/// Which bytes of a process count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MemoryMeasure {
    /// Proportional set size: a page that n processes share counts 1/n in each, so that the sum is what they take.
    Pss,
    /// Resident set size, where PSS may not be read: a shared page counts in full in each, so that the sum is too high.
    Rss,
}

/// Memory of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProcessMemory {
    /// Its id.
    pub pid: u32,
    /// Puma's index of this worker; absent in single mode, of a master, or when unknown.
    pub worker: Option<u32>,
    /// It forked the workers and serves nothing itself, so that it has no flight file.
    pub is_master: bool,
    /// Its memory, bytes.
    pub bytes: u64,
}

/// A file that was not read, or not whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NotRead {
    /// Its path.
    pub file: String,
    /// Whether the rest of it was read and counted.
    pub partly: bool,
    /// Why, or what of it.
    pub reason: String,
}

/// What the garbage collector did to the processes as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Collector {
    /// Pauses; incremental and sweeping steps count one each.
    pub pauses: u64,
    /// Their length together, ms; no Ruby thread of the process ran meanwhile.
    pub pause_ms: f64,
    /// Thread CPU spent in them, ms.
    pub cpu_ms: f64,
    /// Their length as a share of the processes' time since their files were made.
    pub share_of_time: Option<f64>,
}

/// A database connection pool over time, over all processes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Which of the process's pools, from 0.
    pub pool: u16,
    /// Samples, at most one a second and process, taken by requests that end.
    pub samples: u64,
    /// Connections that a process's pool may have, the largest seen.
    pub size: u16,
    /// Connections that it had, most.
    pub connections_max: u16,
    /// In use by live threads, mean.
    pub busy_mean: f64,
    /// In use by live threads, most.
    pub busy_max: u16,
    /// Threads that waited for one, mean.
    pub waiting_mean: f64,
    /// Threads that waited for one, most.
    pub waiting_max: u16,
    /// Share of the samples in which somebody waited.
    pub waiting_share: f64,
    /// In use by threads that had died, most.
    pub dead_max: u16,
}
