//! Memory of a configuration once every trial has answered the same number of requests.

use crate::trial::UsageSample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the memory of a trial is compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Age {
    /// Requests that the server has answered in the trial by then, those of the warm-up and of the windows included.
    pub requests: u64,
    /// Longest that a trial may take for those after its windows, seconds; absent while no trial of the baseline is known.
    pub most_s: Option<f64>,
}

/// A trial's memory at the number of requests at which memory is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Aged {
    /// Requests answered in the trial up to the last sample that counts.
    pub requests: u64,
    /// Seconds of load after the windows.
    pub seconds: f64,
    /// Largest proportional set size up to that number of requests, bytes; absent where the trial was not aged.
    pub pss_bytes: Option<u64>,
    /// What one process of the application holds for itself at the end: mean unique set size of as many of the largest processes as
    /// the configuration has, bytes.
    pub process_bytes: Option<u64>,
    /// Why it was not aged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// The tree over time, after the windows.
    pub samples: Vec<UsageSample>,
}

/// The aged memory of a configuration, over its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgedArm {
    /// Trials that were aged.
    pub trials: u32,
    /// Trials that count and were not aged.
    pub not_aged: u32,
    /// Why the last of them was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// Growth in the second half of the requests; absent below two trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_growth: Option<LateGrowth>,
    /// How many of its processes fit into the memory; absent where no trial was aged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<Fits>,
}

/// Growth of the resident set in the second half of the requests, as a share of what it was before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LateGrowth {
    /// Mean over the trials; negative where it shrank.
    pub share: f64,
    /// Interval of that mean (95 %), low and high.
    pub interval: (f64, f64),
    /// What that says.
    pub course: LateCourse,
}

/// Whether memory still grew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LateCourse {
    /// The interval lies above the margin of equivalence.
    Growing,
    /// The interval lies below it.
    Flat,
    /// Neither.
    Undecided,
}

/// Processes that fit into the memory when aged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fits {
    /// Processes.
    pub processes: u32,
    /// Interval over the trials (95 %), low and high; absent below two trials.
    pub interval: Option<(u32, u32)>,
    /// The memory, bytes.
    pub limit_bytes: u64,
    /// Whether that is the limit of the plan; else it is a share of the machine's memory.
    pub is_asked: bool,
}
