//! `calc threads`.

use serde::{Deserialize, Serialize};

/// What threads and processes can do with requests of one kind, when every thread always has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Threads {
    /// Time a request holds the GVL, ms.
    pub held_ms: f64,
    /// Time it waits without the GVL, that under the lock included, ms.
    pub io_ms: f64,
    /// Processor time it takes without the GVL, ms.
    pub native_ms: f64,
    /// Part of the I/O in possession of one lock of its process, ms.
    pub lock_ms: f64,
    /// Cores that the processes share.
    pub cores: f64,
    /// Processes.
    pub processes: u32,
    /// T* = 1 + I/O / held; absent when the GVL is never held.
    pub useful_threads: Option<f64>,
    /// Throughput at which every process holds its GVL all the time; absent when it is never held.
    pub gvl_bound_per_s: Option<f64>,
    /// Throughput at which every process's lock is held all the time; absent without a lock.
    pub lock_bound_per_s: Option<f64>,
    /// Throughput at which the cores are busy all the time; absent when a request takes no processor time.
    pub cores_bound_per_s: Option<f64>,
    /// A gain under this is not worth one more thread: 0.05 is 5 %.
    pub worth: f64,
    /// The least count from which one more thread a process adds less than that.
    pub enough: u32,
    /// A row for each count.
    pub rows: Vec<ThreadsRow>,
}

/// One number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ThreadsRow {
    /// Threads of each process.
    pub threads: u32,
    /// The least of the bounds: no request ever waits for another.
    pub bound_per_s: f64,
    /// Which bound that is.
    pub bound_by: BoundBy,
    /// Throughput by mean value analysis, where requests do wait for each other.
    pub throughput_per_s: f64,
    /// What one more thread a process adds to it: 0.05 is 5 %.
    pub one_more_adds: f64,
    /// Mean time of a request in its thread, ms.
    pub response_ms: f64,
    /// Of that, mean wait for the GVL, ms.
    pub gvl_wait_ms: f64,
    /// Share of the time in which a process's GVL is held.
    pub gvl_busy: f64,
    /// Share of the cores that is busy.
    pub cores_busy: f64,
}

/// What limits the throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BoundBy {
    /// All threads are busy.
    Threads,
    /// Every process holds its GVL all the time.
    Gvl,
    /// Every process's lock is held all the time.
    Lock,
    /// The cores are busy.
    Cores,
}
