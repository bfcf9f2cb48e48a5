//! The advice document, version 1: what `powerband advise --json` prints.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/advise-v1.schema.json` and `contract/advise-v1.md` are generated from them.

use crate::collections::Process;
use crate::inspect::NotRead;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of `schema` in every advice document of this version.
pub const SCHEMA: &str = "powerband/advise/1";

/// Settings of memory and garbage collection that are worth a test, from what the agent recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/advise/1`.
    pub schema: String,
    /// Version of powerband that read the files.
    pub powerband_version: String,
    /// UTC time of the reading, RFC 3339.
    pub read_at: String,
    /// The folders or files that were asked for.
    pub sources: Vec<String>,
    /// The outcome in a sentence.
    pub sentence: String,
    /// What was looked at.
    pub looked_at: LookedAt,
    /// Settings that are worth a test. None of them is proven to help.
    pub suggestions: Vec<Suggestion>,
    /// Checks that suggest nothing.
    pub left: Vec<Left>,
    /// Checks that could not be made, each with the reason.
    pub not_known: Vec<NotKnown>,
    /// The command that compares today's settings with each suggestion; absent without suggestions, and where the files do not say
    /// how many threads and workers the server runs with.
    pub command: Option<String>,
    /// Files that were not read, and processes whose agent has no log.
    pub not_read: Vec<NotRead>,
}

/// What the advice rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LookedAt {
    /// Processes with a log of collections.
    pub processes: Vec<Process>,
    /// Root folder of the application; absent when unknown.
    pub application: Option<String>,
    /// Ruby's version, as `3.3.8`.
    pub ruby: String,
    /// The server and its version, as `puma 6.6.0`.
    pub server: String,
    /// Threads of a process; absent when unknown.
    pub threads: Option<u32>,
    /// Worker processes, 0 in single mode; absent when unknown.
    pub workers: Option<u32>,
    /// Process whose variables of memory are known: the agent recorded them, or they were read from its environment. When absent, Ruby's
    /// defaults are assumed.
    pub environment_of: Option<u32>,
    /// Processes of other servers that were left out: the files are of several starts, or of Sidekiq as well.
    pub left_out: u64,
    /// Time that the logs hold, all processes added up, s.
    pub watched_s: f64,
    /// Collections in the logs.
    pub collections: u64,
    /// Share of the time for which requests held the GVL that collections in their own threads took; absent where it is not known.
    pub share_of_ruby: Option<f64>,
    /// The same of major collections alone.
    pub share_of_ruby_major: Option<f64>,
    /// Share of the slowest 1 % of the requests that major collections stopped; absent with fewer than 1,000 requests on record.
    pub slowest_by_major: Option<f64>,
    /// Share of the slowest 1 % of the requests that minor collections stopped.
    pub slowest_by_minor: Option<f64>,
}

/// Settings that are worth a test together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Suggestion {
    /// The check, as `docs/advise.md` lists it.
    pub check: String,
    /// Knobs and values, as `powerband compare` takes them.
    pub settings: BTreeMap<String, String>,
    /// The environment variables that set them; empty where none does.
    pub variables: BTreeMap<String, String>,
    /// The figures that suggest it.
    pub evidence: String,
    /// What the settings change.
    pub effect: String,
    /// What they may cost.
    pub cost: String,
}

/// A check that suggests nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Left {
    /// The check.
    pub check: String,
    /// The figures that speak against a change.
    pub evidence: String,
}

/// A check that could not be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NotKnown {
    /// The check.
    pub check: String,
    /// Why not.
    pub why: String,
}
