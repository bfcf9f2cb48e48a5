//! The validation document, version 1: what `powerband predict --validate --json` prints.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/validation-v1.schema.json` and `contract/validation-v1.md` are generated from them.

use crate::document::Host;
use crate::plan::WorkloadEntry;
use crate::sending::Sending;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use crate::figures::Figures;

/// The value of `schema` in every validation document of this version.
pub const SCHEMA: &str = "powerband/validation/1";

/// Predictions from one trace, and what came of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/validation/1`.
    pub schema: String,
    /// Version of powerband that ran it.
    pub powerband_version: String,
    /// The command as it was typed.
    pub command: String,
    /// UTC start time, RFC 3339.
    pub started_at: String,
    /// Wall-clock seconds, preparation included.
    pub elapsed_s: f64,
    /// Seed of the requests, of the arrivals and of the orders.
    pub seed: u64,
    /// The machine.
    pub host: Host,
    /// Versions of Ruby, server and agent.
    pub versions: BTreeMap<String, String>,
    /// Folder of the application.
    pub app_dir: String,
    /// The requests, by weight.
    pub workload: Vec<WorkloadEntry>,
    /// How they were sent; absent in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sending: Option<Sending>,
    /// The one configuration that predictions were made from.
    pub trace: Trace,
    /// Length of each window, seconds.
    pub window_s: f64,
    /// How often each configuration was to be measured.
    pub blocks: u32,
    /// Every window: what was predicted of it, and what came.
    pub trials: Vec<Trial>,
    /// The windows of one configuration at one load together.
    pub cells: Vec<Cell>,
    /// Each figure over all cells.
    pub scores: Vec<Score>,
    /// What to know before believing it.
    pub warnings: Vec<String>,
    /// The answer in one sentence.
    pub sentence: String,
    /// Exit code of the command: 0 scored, 3 no trial counts, 128 and more stopped by that signal.
    pub exit_code: u8,
}

/// The trace that predictions were made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The configuration.
    pub settings: Settings,
    /// Poisson arrivals, requests per second.
    pub rate_per_s: f64,
    /// Length, seconds.
    pub seconds: f64,
    /// Requests in it.
    pub requests: u64,
    /// Of these, requests whose sequence of running and waiting was recorded.
    pub with_bursts: u64,
    /// Good answers per second of a closed loop before it; absent when the rate was given.
    pub saturated_per_s: Option<f64>,
    /// Share of the time that a process's GVL was held, 0 to 1.
    pub utilisation_gvl: f64,
    /// Share of the time that its threads had a request, 0 to 1.
    pub utilisation_threads: f64,
    /// Cores of the machine.
    pub cores: f64,
    /// CPU time of the load generator per request, ms; taken off the cores.
    pub generator_ms: f64,
    /// CPU time of the application's services per request, ms; taken off the cores.
    pub services_ms: f64,
    /// CPU time of the server's own threads per request, ms.
    pub accept_ms: f64,
    /// What it costs that threads move between cores; absent where no thread can move, or it could not be measured.
    pub moving: Option<Moving>,
    /// What the trace recorded of itself.
    pub recorded: Figures,
    /// The same configuration predicted under its own arrivals.
    pub predicted: Figures,
    /// What is taken for granted.
    pub assumptions: Vec<String>,
}

/// What it costs that the server's threads move between cores, from closed loops before the trace. CPU times are the server's per request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Moving {
    /// Every thread busy, every core: CPU time, ms.
    pub crowded_ms: f64,
    /// Every thread busy, each process kept on one core: CPU time, ms.
    pub pinned_ms: f64,
    /// One request at a time, every core: CPU time, ms.
    pub alone_ms: f64,
    /// What explains them.
    pub cost: MovingCost,
    /// What explains each half of the loops; intervals of predictions are of both in turn.
    pub of_halves: Vec<MovingCost>,
}

/// CPU time that a stretch under the GVL takes longer while another core is idle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MovingCost {
    /// After a wait for the GVL, ms.
    pub hand_over_ms: f64,
    /// After sleeping, where the GVL was free, ms.
    pub wake_ms: f64,
}

/// One window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Block, from 1.
    pub block: u32,
    /// The configuration.
    pub settings: Settings,
    /// Rate as a share of the predicted capacity; absent: a closed loop, which measures the capacity.
    pub load: Option<f64>,
    /// Poisson arrivals, requests per second; absent in a closed loop.
    pub rate_per_s: Option<f64>,
    /// Why it does not count; absent when it does.
    pub refused: Option<String>,
    /// What speaks against it, though it counts.
    pub marks: Vec<String>,
    /// Good answers.
    pub requests: u64,
    /// The busiest of GVL, cores and threads, as predicted, 0 to 1.
    pub utilisation: f64,
    /// What was predicted of these arrivals.
    pub predicted: Option<Range>,
    /// What came, with what another window of as many requests might have shown.
    pub measured: Option<Range>,
    /// Predicted over measured, less one. Its interval is of the pairs of answers to one arrival; absent in a closed loop, where there are none.
    pub error: Option<Range>,
    /// Where a request's time went, as predicted.
    pub predicted_parts: Option<Parts>,
    /// Where it went, as the agent recorded it.
    pub measured_parts: Option<Parts>,
}

/// Figures with the ends of their 90 % intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The figures.
    pub figures: Figures,
    /// Lower ends.
    pub low: Figures,
    /// Upper ends.
    pub high: Figures,
}

/// Means of a request, ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// Until a thread began with it.
    pub queue_ms: Option<f64>,
    /// Ready and waiting for the GVL.
    pub gvl_wait_ms: f64,
    /// Waiting for I/O or locks.
    pub io_ms: f64,
    /// CPU time of the server's processes.
    pub cpu_ms: f64,
    /// Of the time that it held the GVL, without a processor (predicted: waiting for a core, native work included).
    pub core_wait_ms: f64,
}

/// One configuration at one load, over all blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The configuration.
    pub settings: Settings,
    /// Rate as a share of the predicted capacity; absent: the closed loop.
    pub load: Option<f64>,
    /// Windows that count.
    pub trials: u32,
    /// Geometric means of what was predicted.
    pub predicted: Figures,
    /// Geometric means of what came.
    pub measured: Figures,
    /// Predicted over measured, less one: of the geometric means.
    pub error: Figures,
    /// Standard deviation of the logarithm of predicted over measured between blocks; absent with fewer than two.
    pub spread: Option<Figures>,
}

/// How well one figure was predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// Which.
    pub figure: Scored,
    /// The error that is aimed at, a share; absent where nothing is.
    pub target: Option<f64>,
    /// Cells with it.
    pub cells: u32,
    /// Cells whose error is within the target.
    pub within: Option<u32>,
    /// Median of the errors' sizes.
    pub median_error: Option<f64>,
    /// The largest size.
    pub worst_error: Option<f64>,
    /// Mean of the errors with their signs: above 0, predictions are too high.
    pub bias: Option<f64>,
    /// Windows with it that count.
    pub windows: u32,
    /// Of these, windows whose 90 % interval held what came.
    pub covered: u32,
    /// Pairs of configurations, at the same load and in the same block, that differ by more than 5 %.
    pub pairs: u32,
    /// Of these, pairs that were predicted in the right order.
    pub right: u32,
}

/// A figure that is scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scored {
    /// Answers per second of a closed loop.
    Capacity,
    /// Answers per second of Poisson arrivals.
    Throughput,
    /// Mean response time.
    Mean,
    /// Its median.
    P50,
    /// p95.
    P95,
    /// p99.
    P99,
}

impl Scored {
    /// All, in the order of tables.
    pub const ALL: [Scored; 6] = [
        Scored::Capacity,
        Scored::Throughput,
        Scored::Mean,
        Scored::P50,
        Scored::P95,
        Scored::P99,
    ];

    /// As tables call it.
    pub fn word(self) -> &'static str {
        match self {
            Scored::Capacity => "capacity",
            Scored::Throughput => "throughput",
            Scored::Mean => "mean",
            Scored::P50 => "p50",
            Scored::P95 => "p95",
            Scored::P99 => "p99",
        }
    }

    /// Its value.
    pub fn of(self, figures: &Figures) -> f64 {
        match self {
            Scored::Capacity | Scored::Throughput => figures.throughput_per_s,
            Scored::Mean => figures.mean_ms,
            Scored::P50 => figures.p50_ms,
            Scored::P95 => figures.p95_ms,
            Scored::P99 => figures.p99_ms,
        }
    }

    /// Whether it is a figure of a closed loop, or else of an open one.
    pub fn of_closed_loop(self) -> bool {
        self == Scored::Capacity
    }
}
