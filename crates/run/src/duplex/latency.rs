//! Who is faster.

use crate::verdict::Outcome;
use serde::{Deserialize, Serialize};

/// Response times of one server against another's, over requests that both answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Name of the shadow.
    pub candidate: String,
    /// Name of what it is compared with: a shadow, or `primary`.
    pub reference: String,
    /// What the comparison is for.
    pub purpose: Purpose,
    /// The verdict on mean response time over all requests.
    pub outcome: Outcome,
    /// Why there is no verdict or only a weaker one; absent where nothing stands in its way.
    pub why: Option<String>,
    /// Seconds that the mirror would have to run on, at this rate, noise and ratio, to decide; absent when decided or when
    /// no time would.
    pub decides_in_s: Option<f64>,
    /// The same for the ratio within one standard error of the measured one that decides soonest; `null` where none would.
    #[serde(default)]
    pub decides_in_least_s: Option<f64>,
    /// The same for the ratio that decides latest; `null` where one would not.
    #[serde(default)]
    pub decides_in_most_s: Option<f64>,
    /// Requests that both answered whole and with the same status.
    pub requests: u64,
    /// Requests to which the two gave different statuses, neither or both of them 500 to 599; left out of all times.
    pub other_status: u64,
    /// Requests lost at the candidate: dropped, failed, or answered with 500 to 599 where the reference was not. As
    /// infinitely slow they are in the percentiles (the dropped ones are not: how long they would have taken is unknown).
    pub candidate_lost: u64,
    /// Requests lost at the reference likewise.
    pub reference_lost: u64,
    /// A factor of 1 + this that the interval of the mean is widened by on both sides. Against the A/A twin: what the twin was
    /// seen to differ from the primary by. Against the primary: what the mirror's wait for a CPU core adds to the shadow's times
    /// at most. 0 where neither was seen.
    pub allowance: f64,
    /// All requests together.
    pub all: Times,
    /// By endpoint, the one with the most requests first; the last may be `(other)`, all those that are not listed.
    pub endpoints: Vec<EndpointTimes>,
}

/// What a comparison is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It answers whether the shadow is better than what the primary runs: against the A/A twin where there is one, else
    /// against the primary.
    Claim,
    /// Two shadows that are both candidates.
    Between,
    /// The A/A twin against the primary: what the setup itself does to response times.
    Setup,
    /// A shadow against the primary where a twin is the fairer reference; for information.
    Primary,
}

/// One endpoint's response times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EndpointTimes {
    /// Method and path with identifiers as `:id`.
    pub endpoint: String,
    /// The verdict on its mean, at 0.05 divided by the number of endpoints; absent where there were too few requests to judge.
    pub outcome: Option<Outcome>,
    /// Why it is undecided where the interval of its mean alone would decide, or failed requests forbid a claim; else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Its times.
    pub times: Times,
}

/// Response times of both and their ratios.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// Requests that both answered.
    pub requests: u64,
    /// Failures and server errors of the candidate among those that it was sent, infinitely slow in its percentiles.
    pub candidate_failed: u64,
    /// The same of the reference.
    pub reference_failed: u64,
    /// Mean over requests that both answered.
    pub mean: Figure,
    /// Median.
    pub p50: Figure,
    /// 95th percentile.
    pub p95: Figure,
    /// 99th percentile.
    pub p99: Figure,
    /// Batches that the interval of the mean rests on; 0 where there is none.
    pub batches: u32,
    /// Serial correlation of neighbouring batches' log ratios, as estimated; absent without batches.
    pub correlation: Option<f64>,
    /// What the interval of the mean was widened by because of it and its standard error, a factor; 1 where it was not.
    pub widened: f64,
}

impl Times {
    /// The mean and the percentiles, with their names.
    #[must_use]
    pub fn figures(&self) -> [(&'static str, &Figure); 4] {
        [
            ("mean", &self.mean),
            ("p50", &self.p50),
            ("p95", &self.p95),
            ("p99", &self.p99),
        ]
    }
}

/// One figure of both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The candidate's, ms, over everything; absent when infinite (more failed than lies above the percentile) or without requests.
    pub candidate_ms: Option<f64>,
    /// The reference's likewise.
    pub reference_ms: Option<f64>,
    /// Candidate over reference: the Hodges-Lehmann estimate over batches, or without batches the plain ratio.
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval; absent where there is too little for one.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}
