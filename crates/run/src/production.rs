//! The verdict document, version 1: what `powerband verdict --json` prints.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/verdict-v1.schema.json` and `contract/verdict-v1.md` are generated from them.

use serde::{Deserialize, Serialize};

/// The value of `schema` in every verdict document of this version.
pub const SCHEMA: &str = "powerband/verdict/1";

/// Digits of a digest that labels and pages show.
const SHORT: usize = 8;

/// The first digits of a digest.
pub fn short_digest(digest: &str) -> String {
    digest.chars().take(SHORT).collect()
}

/// The results of an experiment in production so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/verdict/1`.
    pub schema: String,
    /// Version of powerband that read the series.
    pub powerband_version: String,
    /// UTC time of the reading, RFC 3339.
    pub read_at: String,
    /// The experiment's name.
    pub name: String,
    /// SHA-256 of the values of the experiment file; labels have its first eight digits.
    pub digest: String,
    /// Address of the Prometheus server, without credentials.
    pub prometheus: String,
    /// The outcome in a sentence.
    pub sentence: String,
    /// UTC time at which the experiment starts.
    pub starts: String,
    /// UTC time at which it ends.
    pub ends: String,
    /// The last look that is completed; absent before the first.
    pub look: Option<Look>,
    /// UTC time of the next look; absent after the last.
    pub next_look_at: Option<String>,
    /// The arms, the first one first. Figures are of the time until the look; before the first look, of the time until the reading.
    pub arms: Vec<Arm>,
    /// Each other arm against the first, at the look.
    pub comparisons: Vec<Comparison>,
    /// The guardrails of each other arm, at the reading.
    pub guardrails: Vec<Guardrail>,
    /// Whether the arms can be compared.
    pub balance: Vec<Check>,
    /// Slices and draws that are left out or unusual, with their counts.
    pub notes: Vec<String>,
    /// Halted arms.
    pub halted: Vec<Halted>,
}

/// A look: results are calculated at these instants alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// Its number, from 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
    /// Its UTC time.
    pub at: String,
    /// Level of the test of each arm at this look; the intervals have one minus this as confidence.
    pub level: f64,
}

/// An arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// Its share, from 0 to 1.
    pub share: f64,
    /// Instances (of Prometheus) that ran it.
    pub instances: u64,
    /// Draws that gave it: an instance in one period counts once.
    pub draws: u64,
    /// Slices of its draws that are evidence.
    pub slices: u64,
    /// Slices of its draws that are left out: not scraped, without a request, or a counter went down.
    pub slices_left_out: u64,
    /// Requests.
    pub requests: u64,
    /// Share of failed requests; absent without requests.
    pub errors: Option<f64>,
    /// Mean response time: in the application and, where it is known, in the queue before it, ms.
    pub response_ms: Option<f64>,
    /// 95 % of the requests took at most about this in the application, ms.
    pub p95_ms: Option<f64>,
    /// 99 % of the requests took at most about this in the application, ms.
    pub p99_ms: Option<f64>,
    /// Mean time in the queue before the application, ms; absent where it is known of no request.
    pub queue_ms: Option<f64>,
    /// Mean wait for the GVL of a request, ms.
    pub gvl_wait_ms: Option<f64>,
    /// Mean resident memory of an instance, bytes.
    pub memory_bytes: Option<f64>,
}

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The mean response time is shorter.
    Better,
    /// The mean response time is longer.
    Worse,
    /// The last look shows no difference.
    NoDifference,
    /// No difference so far, and looks are left.
    Undecided,
    /// There are too few units or requests for any answer.
    NotEnough,
    /// The arms cannot be compared, for the reason that `why_not` gives.
    Refused,
}

/// An arm against the first one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The arm.
    pub arm: String,
    /// Its result.
    pub verdict: Verdict,
    /// The same in a sentence.
    pub sentence: String,
    /// Mean response time over that of the first arm; absent where it is refused or there is not enough.
    pub response_time: Option<Ratio>,
    /// The change that the last look finds with a probability of 80 % with as many draws as there are now: 0.05 is 5 %.
    pub detectable: Option<f64>,
    /// Request rate of an instance over that of the first arm.
    pub request_rate: Option<Ratio>,
    /// Why there is no answer, and what would give one.
    pub why_not: Option<String>,
}

/// A ratio by randomisation inference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// The estimate.
    pub estimate: f64,
    /// Lower bound of its interval; absent where there are too few units.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Probability of a difference that large if the arms made none.
    pub p: f64,
    /// Confidence of the interval.
    pub confidence: f64,
    /// Draws of the first arm in it.
    pub draws_of_first: u64,
    /// Draws of this arm in it.
    pub draws: u64,
}

/// The state of a guardrail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is kept.
    Holds,
    /// It is broken: the arm should be halted.
    Broken,
    /// The figures show neither yet.
    Unknown,
}

/// A guardrail of an arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Guardrail {
    /// The arm.
    pub arm: String,
    /// `errors`, `p99`, `memory` or `restarts`.
    pub figure: String,
    /// Its state.
    pub state: State,
    /// The figures.
    pub sentence: String,
}

/// A check of balance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// What is checked.
    pub name: String,
    /// Whether it is passed; absent where it is not known yet.
    pub passed: Option<bool>,
    /// The figures.
    pub sentence: String,
}

/// A halted arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Halted {
    /// Its name.
    pub arm: String,
    /// UTC time.
    pub at: String,
    /// Why.
    pub reason: String,
}
