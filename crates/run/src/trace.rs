//! The trace document, version 1: what `powerband trace --json` prints about the file that it wrote.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/trace-v1.schema.json` and `contract/trace-v1.md` are generated from them.

use serde::{Deserialize, Serialize};

/// The value of `schema` in every trace document of this version.
pub const SCHEMA: &str = "powerband/trace/1";

/// One run of `powerband trace`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/trace/1`.
    pub schema: String,
    /// Version of powerband that ran it.
    pub powerband_version: String,
    /// The file for Perfetto.
    pub output: String,
    /// The picture, where one was asked for.
    pub picture: Option<String>,
    /// Seconds from the first to the last instant in the file.
    pub seconds: f64,
    /// Processes in the file.
    pub processes: Vec<Process>,
    /// Processes that were asked and recorded nothing, with the reason.
    pub silent: Vec<Silent>,
}

/// One process in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Its name in the file, e.g. `puma worker 1`.
    pub name: String,
    /// Threads of which anything is known.
    pub threads: u64,
    /// Requests, those included that only began or only ended in the recording.
    pub requests: u64,
    /// Pauses of the garbage collector.
    pub collections: u64,
    /// Events that were recorded.
    pub events: u64,
    /// Events that found the file full: the recording ends before them.
    pub lost: u64,
    /// Events that were being written when they were read.
    pub torn: u64,
}

/// A process that recorded nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Silent {
    /// Process id.
    pub pid: u32,
    /// Why there is nothing of it.
    pub reason: String,
}
