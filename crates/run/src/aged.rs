//! Memory of a configuration once every trial has answered the same number of requests.

use serde::{Deserialize, Serialize};

/// The aged memory of a configuration, over its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
