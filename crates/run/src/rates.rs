//! The search for the highest rate that meets the latency objective, and what became of every rate that was offered.
//! Part of the run document (`tune` ends with it) and of the capacity document.

use crate::plan::LatencyObjective;
use crate::sending::PageRedirects;
use serde::{Deserialize, Serialize};

/// One search on one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RateSearch {
    /// What was to be kept: an error or a timeout counts as over the limit.
    pub objective: LatencyObjective,
    /// How the search ended.
    pub ending: RateEnding,
    /// Highest arrival rate that met the objective, with none below it that did not, requests per second.
    pub met_per_s: Option<f64>,
    /// True when the majority of full-length trials says so; false when it is a first impression.
    pub decided: bool,
    /// Lowest rate above it that did not meet the objective, per second.
    pub broke_per_s: Option<f64>,
    /// Lower end of the interval: the highest rate that surely meets the objective, per second; absent when none was
    /// offered long enough to be sure.
    pub low_per_s: Option<f64>,
    /// Upper end of the interval: the lowest rate that surely does not, per second.
    pub high_per_s: Option<f64>,
    /// Confidence of each trial's verdict behind the interval, two-sided, 0 to 1.
    pub confidence: f64,
    /// Good answers per second in a closed loop; in `tune`, the median of the arm's trials. Measured again, with more
    /// connections, where the first figure was no higher than the rate found; the larger one stands here.
    pub saturated_per_s: Option<f64>,
    /// Connections of that loop; absent in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturated_connections: Option<u32>,
    /// A lower rate than `met_per_s` with a full-length window that did not meet the objective and too few windows to decide by
    /// majority: the time left, the limit on the number of windows or a failure ended the search first; absent where there is
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubted_per_s: Option<f64>,
    /// Rate to plan for, 80 % of `met_per_s`, where that is so close to the most that the server answers that its queue still grows
    /// when the windows of the search end; absent elsewhere, and where a longer budget would make the windows long enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_for_per_s: Option<f64>,
    /// Offered against answered, ascending: one row a rate, its trials of the longest length together.
    pub curve: Vec<RatePoint>,
    /// Every trial, in the order in which it ran.
    pub trials: Vec<RateTrial>,
    /// Pages of which good answers sent the client elsewhere, over all windows; absent where there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<PageRedirects>,
    /// Whether the rate of `--at-least` meets the objective; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<AtLeast>,
    /// Wall-clock seconds of it all.
    pub took_s: f64,
    /// Why no rate can meet the objective; absent where some may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_reach: Option<String>,
    /// What a reader must know before believing it.
    pub warnings: Vec<String>,
}

/// A rate that had to be carried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AtLeast {
    /// Requests per second.
    pub per_s: f64,
    /// Whether it surely meets the objective, at `confidence`; `null` where neither that nor the opposite was shown.
    pub met: Option<bool>,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RateEnding {
    /// The bounds are as near as was asked.
    Found,
    /// Not even the lowest rate that was offered met the objective.
    NotEven,
    /// The highest rate that could be offered met it: the server carries at least that.
    AtLeast,
    /// The time ran out first.
    OutOfTime,
    /// The server died or did not recover.
    Broken,
    /// The generator was late in window after window, or could not offer even the lowest rate: nothing is known of the
    /// server.
    GeneratorLate,
    /// The user stopped it.
    Interrupted,
}

/// What became of the requests at one rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RatePoint {
    /// Arrival rate that was asked for, Poisson, per second.
    pub asked_per_s: f64,
    /// Requests that fell due per second: in time + late + failed.
    pub offered_per_s: f64,
    /// Of those, answered within the limit, per second.
    pub in_time_per_s: f64,
    /// Answered, but over the limit, per second.
    pub late_per_s: f64,
    /// Errors and timeouts, per second.
    pub failed_per_s: f64,
    /// Share late or failed, 0 to 1.
    pub violation_rate: f64,
    /// p50 of the response time, ms; absent when it is infinite.
    pub p50_ms: Option<f64>,
    /// p99 of the response time, ms; absent when it is infinite.
    pub p99_ms: Option<f64>,
    /// Share of the cores available to the server that its processes used, 0 to 1; absent where they are not known.
    pub utilisation: Option<f64>,
    /// Windows together, seconds.
    pub seconds: f64,
    /// Full-length windows behind the figures; 0 where the window was too short to count, and in older documents.
    #[serde(default)]
    pub windows: u32,
    /// Of those, the windows that met the objective.
    #[serde(default)]
    pub windows_met: u32,
    /// Requests behind the figures.
    pub requests: u64,
    /// False when the server did not recover from it.
    pub recovered: bool,
}

/// One rate offered for one window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RateTrial {
    /// What it was for.
    pub purpose: RatePurpose,
    /// Arrival rate that was asked for, Poisson, per second.
    pub asked_per_s: f64,
    /// Length of the window, seconds.
    pub seconds: f64,
    /// Requests that fell due in it.
    pub requests: u64,
    /// Answered within the limit.
    pub in_time: u64,
    /// Answered, but over the limit.
    pub late: u64,
    /// Errors and timeouts.
    pub failed: u64,
    /// p50 of the response time, ms; absent when it is infinite.
    pub p50_ms: Option<f64>,
    /// p99 of the response time, ms; absent when it is infinite.
    pub p99_ms: Option<f64>,
    /// Share of the cores available to the server that its processes used, 0 to 1; absent where they are not known.
    pub utilisation: Option<f64>,
    /// CPU of the generator as a share of one core, 0 to 1.
    pub generator_cpu: f64,
    /// p99 of the generator's own delay, ms.
    pub lateness_p99_ms: Option<f64>,
    /// Seconds from the end of the window until every answer had come and a single request was as quick as at first.
    pub recovery_s: f64,
    /// False when it was not as quick again in time.
    pub recovered: bool,
    /// Why the trial does not count; absent when it does.
    pub refused: Option<String>,
}

/// What a trial is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RatePurpose {
    /// Short: roughly where the answer lies.
    Bracket,
    /// Full length: whether this rate meets the objective.
    Decide,
    /// Full length, at the bounds: how sure they are.
    Assure,
    /// A point of the curve.
    Curve,
}

impl RatePurpose {
    /// The word that progress shows: a rough look, a full-length window, one for the 95 % range, a point of the curve.
    pub fn word(self) -> &'static str {
        match self {
            RatePurpose::Bracket => "short window",
            RatePurpose::Decide => "full window",
            RatePurpose::Assure => "for the interval",
            RatePurpose::Curve => "for the curve",
        }
    }
}

/// A reason why a window does not count, without the remedy, which follows the first semicolon.
#[must_use]
pub fn without_remedy(reason: &str) -> &str {
    reason.split("; ").next().unwrap_or(reason)
}
