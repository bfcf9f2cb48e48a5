//! The capacity document, version 1: what `powerband capacity --json` prints.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/capacity-v1.schema.json` and `contract/capacity-v1.md` are generated from them.

use crate::document::Host;
use crate::plan::WorkloadEntry;
use crate::rates::RateSearch;
use crate::sending::Sending;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The value of `schema` in every capacity document of this version.
pub const SCHEMA: &str = "powerband/capacity/1";

/// One run of `powerband capacity`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/capacity/1`.
    pub schema: String,
    /// Version of powerband that ran it.
    pub powerband_version: String,
    /// UTC start time, RFC 3339.
    pub started_at: String,
    /// Wall-clock seconds, preparation included.
    pub elapsed_s: f64,
    /// Seed of the requests and of the arrivals.
    pub seed: u64,
    /// The machine that the generator ran on.
    pub host: Host,
    /// What was loaded.
    pub target: Target,
    /// The requests, by weight.
    pub workload: Vec<WorkloadEntry>,
    /// How they were sent; absent in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sending: Option<Sending>,
    /// Time allowed, seconds.
    pub budget_s: f64,
    /// Longest wait for an answer before it counts as failed, seconds.
    pub timeout_s: f64,
    /// Connections of the closed loop that the search begins with.
    pub connections: u32,
    /// The search and the curve.
    pub search: RateSearch,
    /// The answer in one sentence.
    pub sentence: String,
    /// Exit code of the command: 0 found, 1 nothing meets the objective, 3 no honest answer, 128 and more stopped by that
    /// signal. With `--at-least`: 0 that rate is carried, 1 it is not, 3 neither was shown.
    pub exit_code: u8,
}

/// What was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// A server that was running already; absent when powerband started the application.
    pub url: Option<String>,
    /// Folder of the application that was started.
    pub app_dir: Option<String>,
    /// What it was started with.
    pub settings: Option<Settings>,
}
