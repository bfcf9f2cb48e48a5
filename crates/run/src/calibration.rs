//! What blocks of identical arms said of the host, before other arms were compared on it.

use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The baseline against itself, asked for with `--calibrate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// What follows for the comparisons.
    pub fitness: Fitness,
    /// The configuration that was compared with itself.
    pub settings: Settings,
    /// Blocks in which both of its trials count.
    pub blocks: u32,
    /// The copy over the baseline: the Hodges-Lehmann estimate of the ratio.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// Two-sided p of the exact signed-rank test of "no difference", over all blocks.
    pub p: f64,
    /// Runs of six consecutive blocks, each judged as if it were a comparison of its own.
    pub runs: u32,
    /// How many of them called the identical arms different.
    pub false_positives: u32,
    /// Probability of so many or more, were the signs of the differences coin tosses.
    pub p_false_positives: f64,
    /// By how much identical arms may differ here, as a ratio less one: intervals are widened by it on both sides, and it
    /// is taken off the margin of equivalence. 0 when the calibration is sound.
    pub allowance: f64,
    /// Standard deviation of the block log ratios about zero, which is their known mean.
    pub sd_log_ratio: f64,
    /// Standard deviation of the logarithm of the blocks' levels: what a comparison without blocks would have to see through.
    pub sd_log_level: f64,
    /// The second trial of a block over the first, whichever copy it was: what random order keeps out of the answer.
    pub second_over_first: f64,
    /// Two-sided p of "no difference" between first and second.
    pub p_order: f64,
}

/// What a calibration comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// Identical arms come out different no more often than the level of the test says.
    Sound,
    /// They do, though by less than the margin: intervals are widened.
    Widened,
    /// They differ by more than the margin: no comparison on this host would be honest.
    Refused,
}
