//! The response time of one page in two arms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One page of the workload in a comparison. It explains and decides nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageTime {
    /// Name in the workload.
    pub page: String,
    /// Name of the arm compared with.
    pub baseline: String,
    /// Name of the arm.
    pub candidate: String,
    /// p50 of the response time with the baseline at the common rate, ms: the median over the blocks.
    pub baseline_ms: f64,
    /// The same with the candidate, ms.
    pub candidate_ms: f64,
    /// Candidate over baseline: the geometric mean over the blocks.
    pub ratio: f64,
    /// Lower end of the interval of the ratio (Student's t of the logarithms); all intervals of the run hold together with 95 %.
    /// Absent with one block.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// Blocks in which both trials measured the page.
    pub blocks: u32,
}

impl PageTime {
    /// Whether the interval excludes that both arms are alike.
    pub fn differs(&self) -> bool {
        self.low.is_some_and(|low| low > 1.0) || self.high.is_some_and(|high| high < 1.0)
    }
}
