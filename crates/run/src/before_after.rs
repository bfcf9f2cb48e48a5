//! The before-after document, version 1: what `powerband verdict --before … --after … --json` prints.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/before-after-v1.schema.json` and `contract/before-after-v1.md` are generated from them.

use crate::production::Check;
use serde::{Deserialize, Serialize};

/// The value of `schema` in every before-after document of this version.
pub const SCHEMA: &str = "powerband/before-after/1";

/// Two periods of a fleet compared, without an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/before-after/1`.
    pub schema: String,
    /// Version of powerband that read the series.
    pub powerband_version: String,
    /// UTC time of the reading, RFC 3339.
    pub read_at: String,
    /// Address of the Prometheus server, without credentials.
    pub prometheus: String,
    /// Label matchers of every query, as `--match` has them; empty without any.
    pub matchers: String,
    /// The outcome in a sentence.
    pub sentence: String,
    /// What such a comparison cannot tell apart.
    pub promise: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The period before the change.
    pub before: Period,
    /// The period after the change, of the same length.
    pub after: Period,
    /// Hours in which both periods have 20 requests or more.
    pub hours: u64,
    /// Mean response time after the change over that before it; `null` where there is not enough.
    pub response_time: Option<Change>,
    /// The change that periods of this length and noise show with a probability of 80 %: 0.05 is 5 %.
    pub detectable: Option<f64>,
    /// Whether the periods are alike in other respects.
    pub alike: Vec<Check>,
    /// What is left out or unusual.
    pub notes: Vec<String>,
}

/// The outcome of such a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The mean response time is shorter after the change.
    Shorter,
    /// It is longer.
    Longer,
    /// The noise of the hours explains the difference.
    NoDifference,
    /// Fewer than three days, or too few hours with requests in both periods.
    NotEnough,
}

/// A period. Figures are of all its hours that have requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// UTC time of its begin.
    pub from: String,
    /// UTC time of its end.
    pub to: String,
    /// Its hours with requests.
    pub hours: u64,
    /// Mean number of instances (of Prometheus).
    pub instances: Option<f64>,
    /// Requests, estimated from the scrapes of each hour.
    pub requests: u64,
    /// Share of failed requests; `null` without requests.
    pub errors: Option<f64>,
    /// Mean response time, ms: in the application and, where it is known in both periods, in the queue before it.
    pub response_ms: Option<f64>,
    /// 95 % of the requests took at most about this in the application, ms.
    pub p95_ms: Option<f64>,
    /// 99 % of the requests took at most about this in the application, ms.
    pub p99_ms: Option<f64>,
    /// Mean time in the queue before the application, ms; `null` where it is known of no request.
    pub queue_ms: Option<f64>,
    /// Mean wait for the GVL of a request, ms.
    pub gvl_wait_ms: Option<f64>,
    /// Mean resident memory of an instance, bytes.
    pub memory_bytes: Option<f64>,
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The estimate: the geometric mean of the hours' ratios.
    pub estimate: f64,
    /// Lower bound of its interval.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Probability of a difference that large if nothing had changed.
    pub p: f64,
    /// Confidence of the interval.
    pub confidence: f64,
    /// Degrees of freedom of the noise.
    pub freedom: u32,
}
