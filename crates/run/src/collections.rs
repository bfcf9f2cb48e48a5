//! The collections document, version 1: what `powerband trace --gc --json` prints.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/collections-v1.schema.json` and `contract/collections-v1.md` are generated from them.

use crate::inspect::{CollectionCause, CollectionKind, MajorBy, NotRead};
use serde::{Deserialize, Serialize};

/// The value of `schema` in every collections document of this version.
pub const SCHEMA: &str = "powerband/collections/1";

/// Ruby's collections one by one, from the logs in flight files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/collections/1`.
    pub schema: String,
    /// Version of powerband that read the files.
    pub powerband_version: String,
    /// UTC time of the reading, RFC 3339.
    pub read_at: String,
    /// The folder or file that was asked for.
    pub source: String,
    /// Collections that began before this were left out (`--last`), RFC 3339; absent otherwise.
    pub since: Option<String>,
    /// Processes with a log.
    pub processes: Vec<Process>,
    /// Collections of all these processes, oldest first.
    pub collections: Vec<Collection>,
    /// Files that were not read, and processes whose agent has no log.
    pub not_read: Vec<NotRead>,
}

/// A process whose log was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Puma's index of this worker; absent in single mode or when unknown.
    pub worker: Option<u32>,
    /// Its file.
    pub file: String,
    /// Collections since the file was made.
    pub written: u64,
    /// Of those: no longer in the log, which holds the latest 2,048.
    pub lost: u64,
}

/// One collection. A field that is absent is not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// When it began, RFC 3339.
    pub at: String,
    /// Process id.
    pub pid: u32,
    /// Puma's index of this worker.
    pub worker: Option<u32>,
    /// Its number in the process, `GC.count`.
    pub number: u32,
    /// Minor or major.
    pub kind: Option<CollectionKind>,
    /// Why it is a major one; absent for minor ones.
    pub major_by: Option<MajorBy>,
    /// What set it off.
    pub cause: Option<CollectionCause>,
    /// Whether it is over, as far as the log knows.
    pub over: bool,
    /// The length of its pauses, during which no Ruby thread of the process ran, ms.
    pub pause_ms: f64,
    /// How many pauses: incremental marking and lazy sweeping go in steps.
    pub pauses: u32,
    /// The longest pause, ms.
    pub longest_pause_ms: f64,
    /// Of `pause_ms`: pauses that swept and did nothing else, ms.
    pub sweeping_ms: f64,
    /// From the begin of the first pause to the end of the last, ms.
    pub lasted_ms: f64,
    /// Thread CPU spent in its pauses, ms.
    pub cpu_ms: f64,
    /// Slots with an object as it began.
    pub live_before: Option<u64>,
    /// Slots with an object after its last pause, those included that were filled since it began.
    pub live_after: Option<u64>,
    /// Objects that it freed.
    pub freed: Option<u64>,
    /// Old objects as it began.
    pub old_before: Option<u64>,
    /// Old objects after its last pause.
    pub old_after: Option<u64>,
    /// Objects that became old; absent for major ones, which count old objects anew.
    pub promoted: Option<u64>,
    /// Size of the heap's pages as it began, bytes.
    pub heap_before_bytes: Option<u64>,
    /// Size of the heap's pages after its last pause, bytes.
    pub heap_after_bytes: Option<u64>,
    /// Memory that objects took outside of their slots since the previous collection, bytes (`malloc_increase_bytes`).
    pub malloc_bytes: Option<u64>,
    /// The same since the previous major collection, bytes (`oldmalloc_increase_bytes`).
    pub oldmalloc_bytes: Option<u64>,
    /// Endpoint of the request, or class of the job, whose thread ran the first pause. Absent when that thread served
    /// neither, when the request has not ended, and when its record is no longer kept.
    pub request: Option<String>,
    /// Requests and jobs that were served meanwhile and that collections stopped: in their own thread, or in another while
    /// they were ready to run. Those that have not ended are not among them. Absent when their records are no longer all kept.
    pub waited: Option<u64>,
}
