//! The response time of one page in two arms.

use serde::{Deserialize, Serialize};

/// One page of the workload in a comparison. It explains and decides nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PageTime {
    /// Name in the workload.
    pub page: String,
    /// Name of the arm compared with.
    pub baseline: String,
    /// Name of the arm.
    pub candidate: String,
    /// p50 of the response time with the baseline at the common rate, ms: the geometric mean over the blocks; the median where one of
    /// them is infinite, because half of the requests or more failed. Absent where the median is infinite, too.
    pub baseline_ms: Option<f64>,
    /// The same with the candidate, ms.
    pub candidate_ms: Option<f64>,
    /// Candidate over baseline: the geometric mean over the blocks. An infinite p50 counts as an hour.
    pub ratio: f64,
    /// Lower end of the interval of the ratio (docs/method.md#pages-of-a-comparison); all intervals of the run hold together with
    /// 95 %. Absent with one block.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// Blocks in which both trials measured the page.
    pub blocks: u32,
}

impl PageTime {
    /// Whether the interval excludes that both arms are alike, and the difference is beyond this margin, a share.
    pub fn differs(&self, margin: f64) -> bool {
        let (less, more) = (1.0 / (1.0 + margin), 1.0 + margin);
        self.low.is_some_and(|low| low > 1.0) && self.ratio >= more
            || self.high.is_some_and(|high| high < 1.0) && self.ratio <= less
    }
}
