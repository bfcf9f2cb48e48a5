//! The survivors document, version 1: what `powerband trace --survivors --json` prints.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/survivors-v1.schema.json` and `contract/survivors-v1.md` are generated from them.

use crate::trace::Silent;
use serde::{Deserialize, Serialize};

/// The value of `schema` in every survivors document of this version.
pub const SCHEMA: &str = "powerband/survivors/1";

/// A sample of the objects that processes made, by call site, with what became of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/survivors/1`.
    pub schema: String,
    /// Version of powerband that read the recordings.
    pub powerband_version: String,
    /// UTC time of the reading, RFC 3339.
    pub read_at: String,
    /// The folder that was asked for.
    pub source: String,
    /// One object in so many was sampled, by chance: each sampled one stands for so many.
    pub every: u32,
    /// Processes that recorded.
    pub processes: Vec<Process>,
    /// Processes that were asked and recorded nothing, with the reason.
    pub silent: Vec<Silent>,
    /// Objects that became old, of all sites.
    pub old: Total,
    /// Objects that were freed while young, of all sites.
    pub young: Total,
    /// Methods and blocks that `stack` names by their index.
    pub frames: Vec<Frame>,
    /// Lines, those of the most objects that became old first.
    pub lines: Vec<Line>,
    /// The stacks of these lines, those of the most objects that became old first.
    pub sites: Vec<Site>,
}

/// A process that recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Puma's index of this worker; absent in single mode or when unknown.
    pub worker: Option<u32>,
    /// How long it recorded, the time included in which it only watched what became of the sampled objects, s.
    pub seconds: f64,
    /// Collections whose marking ended meanwhile.
    pub collections: u32,
    /// Objects that it made while it sampled.
    pub allocated: u64,
    /// Of those: sampled.
    pub sampled: u64,
    /// Of the sampled: internal ones of Ruby, which belong to no site.
    pub internal: u64,
    /// Of the sampled: without room in tables or file (`--buffer`), or undecided when a collection ran inside another library's hook.
    pub lost: u64,
    /// Of the sampled: neither old nor freed when the recording ended.
    pub undecided: u64,
}

/// Objects with one fate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Total {
    /// Sampled ones.
    pub sampled: u64,
    /// All, estimated.
    pub objects: u64,
    /// Their size, estimated, bytes.
    pub bytes: u64,
}

/// A method or block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// As Ruby calls it, e.g. `block in Order#total`.
    pub label: String,
    /// Its file; of a function in C `<cfunc>`.
    pub path: String,
}

/// A frame and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Index into `frames`.
    pub frame: u32,
    /// Line; 0 of a function in C.
    pub line: u32,
}

/// Objects of one class that one line made for one line of the application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Class of the objects.
    pub class: String,
    /// The line of a Ruby file that made them, `path:line`; absent where only C functions and Ruby's core did.
    pub made_at: Option<String>,
    /// The innermost line below the application's root and outside of its gems.
    pub application_line: Option<String>,
    /// Sampled objects, undecided ones included.
    pub sampled: u64,
    /// Those that became old.
    pub old: Fate,
    /// Those that were freed while young.
    pub young: Fate,
    /// What may be done about them.
    pub advice: Vec<Advice>,
}

/// Objects of one class that one stack made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Index into `lines`.
    pub line: u32,
    /// Sampled objects, undecided ones included.
    pub sampled: u64,
    /// Of those: became old.
    pub old: u64,
    /// Of those: were freed while young.
    pub young: u64,
    /// From the innermost frame outward.
    pub stack: Vec<Step>,
}

/// How many objects of a line had one fate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fate {
    /// Sampled ones.
    pub sampled: u64,
    /// All, estimated.
    pub objects: u64,
    /// Their size, estimated: a slot, or what strings, arrays, hashes and instance variables hold; bytes.
    pub bytes: u64,
    /// Share of all objects with this fate.
    pub share: Option<f64>,
    /// 95 % interval of the share.
    pub share_between: Option<[f64; 2]>,
}

/// A change that is worth a look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// What kind of change.
    pub change: Change,
    /// The line that it is about, `path:line`.
    pub line: String,
    /// The line itself, where its file could be read.
    pub code: Option<String>,
}

/// Kinds of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A string literal: freeze it, or begin the file with `# frozen_string_literal: true`.
    Freeze,
    /// An array, a hash or a pattern that is the same each time: make it a constant.
    Constant,
    /// The same call made the same object again and again: keep its result.
    Memoise,
    /// Loaded or built while requests wait: do it at boot, before workers fork, so that they share it.
    MoveToBoot,
    /// Large and short-lived: read and write it in pieces.
    Stream,
}
