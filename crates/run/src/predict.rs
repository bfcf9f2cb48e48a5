//! The predict document, version 1: what `powerband predict FLIGHT_DIR --json` prints.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/predict-v1.schema.json` and `contract/predict-v1.md` are generated from them.

use serde::{Deserialize, Serialize};

mod point;
mod traced;

pub use crate::figures::Figures;
pub use point::*;
pub use traced::*;

/// The value of `schema` in every predict document of this version.
pub const SCHEMA: &str = "powerband/predict/1";

/// What other configurations would answer, by simulation of what flight files say of an application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/predict/1`.
    pub schema: String,
    /// Version of powerband that predicted.
    pub powerband_version: String,
    /// Folders and files as they were named.
    pub sources: Vec<String>,
    /// What it means, in plain words.
    pub sentence: String,
    /// The configuration that was traced, and its requests.
    pub traced: Traced,
    /// The traced configuration predicted under its own recorded arrivals, against what was recorded.
    pub self_check: SelfCheck,
    /// What was asked.
    pub asked: Asked,
    /// The traced configuration as it is, at the rates without the traffic of `what_if`; absent without `what_if`.
    pub today: Option<Point>,
    /// Every configuration, fewer processes first, then fewer threads; with `what_if` the traced one before all others. Not to
    /// be believed where the self-check failed.
    pub points: Vec<Point>,
    /// The configuration to begin with: with an objective the smallest that meets it at the first rate, throughout the interval
    /// where any does, with room to grow where any has; else the smallest within 3 % of the most that any can do. Absent when none
    /// is enough, and where the self-check failed.
    pub begin_with: Option<Size>,
    /// What memory is fitted as; absent when nothing was there to fit it from.
    pub memory: Option<Memory>,
    /// What is taken for granted.
    pub assumptions: Vec<String>,
    /// What a reader must know before believing it, most important first.
    pub warnings: Vec<String>,
    /// The exit code: 0 done; 1 nothing meets the objective or fits into the memory; 3 the self-check failed.
    pub exit_code: u8,
}

/// A number of processes and threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Processes that serve; 1 is Puma's single mode, unless a cluster of one was traced.
    pub processes: u16,
    /// Threads of each; 1 where the server has one request per process.
    pub threads: u16,
}

/// The model where the truth is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SelfCheck {
    /// What was recorded; from when a proxy said that requests came (`X-Request-Start`), else from when a thread took them.
    pub recorded: Figures,
    /// What is predicted for the same configuration under the same arrivals.
    pub predicted: Figures,
    /// Predicted over recorded, less 1, of each figure: 0.05 is 5 % too much.
    pub error: Figures,
    /// The model's error that widens every interval: the standard deviation of the logarithm of predicted over true.
    pub model_error: Figures,
    /// The factors by which predicted and recorded may differ, either way: 2 is half to double.
    pub most_apart: Figures,
    /// Whether a figure is further off: then there is no answer.
    pub failed: bool,
    /// Where it failed, the likely causes with their evidence and remedy, those with the strongest evidence first.
    pub causes: Vec<String>,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Arrival rates, per second, the traffic of `what_if` included.
    pub rates_per_s: Vec<f64>,
    /// Whether these were chosen from the traced rate, because none was given.
    pub rates_chosen: bool,
    /// Cores that the server has, those of `what_if` included.
    pub cores: f64,
    /// CPU quota of its control group, in cores; absent without one.
    pub quota_cores: Option<f64>,
    /// Whether clients keep their connections.
    pub keep_alive: bool,
    /// The latency that must be kept; absent when none was given.
    pub objective: Option<Objective>,
    /// Memory that all processes may use, bytes; absent when no limit was given.
    pub memory_bytes: Option<u64>,
    /// What is supposed to be different; absent when nothing is.
    pub what_if: Option<WhatIf>,
    /// Requests of each simulation.
    pub requests: u32,
    /// Draws of the trace behind each interval.
    pub draws: u32,
    /// Seed of every random choice.
    pub seed: u64,
}

/// A latency that must be kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// Which percentile, e.g. 99.
    pub percentile: f64,
    /// Its limit, ms.
    pub limit_ms: f64,
}

/// What is supposed to be different from the trace.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WhatIf {
    /// Times of I/O are multiplied by this.
    pub io: f64,
    /// Times of CPU work are multiplied by this.
    pub cpu: f64,
    /// Arrival rates are multiplied by this.
    pub traffic: f64,
    /// Cores more; negative: fewer.
    pub cores: f64,
}

/// Memory as M0 + W (m + T t).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// M0: what processes share, bytes.
    pub shared_bytes: u64,
    /// m: of each process, bytes.
    pub per_process_bytes: u64,
    /// t: of each thread, bytes.
    pub per_thread_bytes: u64,
    /// What it was fitted to, in words.
    pub from: String,
}
