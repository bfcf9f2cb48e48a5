//! `calc amdahl`.

use serde::{Deserialize, Serialize};

/// Amdahl's law: 1 / ((1 - p) + p / N).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Amdahl {
    /// p: the part of the work that can be shared out, 0 to 1.
    pub parallel: f64,
    /// The most that any number of threads can speed it up, 1 / (1 - p); absent when there is no limit (p = 1).
    pub limit: Option<f64>,
    /// A gain under this is not worth one more thread: 0.05 is 5 %.
    pub worth: f64,
    /// The least count from which one more adds less than that.
    pub enough: u32,
    /// A row for each count.
    pub rows: Vec<AmdahlRow>,
}

/// One number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AmdahlRow {
    /// N.
    pub threads: u32,
    /// How many times as fast as with one.
    pub speedup: f64,
    /// What one more than N adds: 0.05 is 5 %.
    pub one_more_adds: f64,
    /// Speed-up a thread: 1 when none of it is lost.
    pub efficiency: f64,
}
