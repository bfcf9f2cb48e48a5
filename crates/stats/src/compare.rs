//! Two arms, paired by block: which is better, and by how much.
//!
//! The unit of evidence is the block. Each gives one log ratio of candidate to
//! baseline; requests inside a trial are not independent and are never counted
//! as evidence. Which figure is compared (throughput, CPU per request, memory)
//! is the caller's choice; latency tails belong to `violation`.

use serde::{Deserialize, Serialize};

use crate::error::within;
use crate::{SignedRank, StatsError, summary};

/// Which direction of the figure is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    Higher,
    Lower,
}

/// How a comparison is judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Differences within a factor of `1 + margin` either way do not matter.
    pub margin: f64,
    /// The level of this look, see [`crate::looks`].
    pub alpha: f64,
    pub better: Better,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            margin: 0.03,
            alpha: 0.05,
            better: Better::Higher,
        }
    }
}

/// What the evidence allows to be said of the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Better,
    Worse,
    /// Shown to lie within the margin. Takes precedence over a difference that
    /// is significant and yet within the margin: it is real but does not matter.
    Equivalent,
    /// Neither shown: not the same as equivalent.
    Undecided,
}

/// An interval of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    /// The confidence really achieved, at least the one asked for.
    pub confidence: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub verdict: Verdict,
    /// Candidate over baseline: the exponential of the Hodges-Lehmann estimate
    /// of the log ratios.
    pub ratio: f64,
    /// Of the ratio, at 1 - alpha. `None` when the blocks are too few for any
    /// finite interval (fewer than six at 0.05).
    pub interval: Option<Interval>,
    /// Two-sided, exact, of "no difference".
    pub p: f64,
    /// The greater of the two one-sided p-values of "outside the margin".
    pub p_equivalence: f64,
    pub blocks: u32,
    /// Standard deviation of the log ratios; `None` for a single block.
    pub sd_log_ratio: Option<f64>,
    /// When undecided: about how many blocks in all would decide with power
    /// 0.8, should the ratio stay what it is now. `None` when decided or when
    /// it cannot be told (one block, or more than 10,000 needed).
    pub blocks_to_decide: Option<u32>,
}

/// Judges `(baseline, candidate)` pairs, one a block, in any common unit.
///
/// # Errors
/// No pair, a value that is not above 0, or a rule outside 0..1.
pub fn compare(pairs: &[(f64, f64)], rule: &Rule) -> Result<Comparison, StatsError> {
    within("alpha", rule.alpha, (0.0, 1.0), "0..1, for instance 0.05")?;
    within("margin", rule.margin, (0.0, 1.0), "0..1, for instance 0.03")?;
    let log_ratios = log_ratios(pairs)?;
    let test = SignedRank::of(&log_ratios)?;
    let margin = rule.margin.ln_1p();
    let p = test.p_two_sided();
    let p_equivalence = test
        .against(-margin)?
        .p_greater()
        .max(test.against(margin)?.p_less());
    let estimate = test.estimate();
    let verdict = if p_equivalence <= rule.alpha {
        Verdict::Equivalent
    } else if p <= rule.alpha {
        if (estimate > 0.0) == (rule.better == Better::Higher) {
            Verdict::Better
        } else {
            Verdict::Worse
        }
    } else {
        Verdict::Undecided
    };
    let sd = summary::sd(&log_ratios);
    Ok(Comparison {
        verdict,
        ratio: estimate.exp(),
        interval: test.interval(rule.alpha).map(|i| Interval {
            low: i.low.exp(),
            high: i.high.exp(),
            confidence: i.confidence,
        }),
        p,
        p_equivalence,
        blocks: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
        sd_log_ratio: sd,
        blocks_to_decide: sd
            .filter(|_| verdict == Verdict::Undecided)
            .and_then(|sd| blocks_to_decide(pairs.len(), estimate, sd, margin)),
    })
}

fn log_ratios(pairs: &[(f64, f64)]) -> Result<Vec<f64>, StatsError> {
    let usable = |x: f64| x.is_finite() && x > 0.0;
    let of = |(index, &(baseline, candidate)): (usize, &(f64, f64))| {
        if usable(baseline) && usable(candidate) {
            Ok(candidate.ln() - baseline.ln())
        } else {
            Err(StatsError::NotPositive {
                index,
                baseline,
                candidate,
            })
        }
    };
    pairs.iter().enumerate().map(of).collect()
}

/// (z(0.975) + z(0.8))², for a difference; (z(0.95) + z(0.9))², for two
/// one-sided tests about no difference. Both over 3/pi, the efficiency of the
/// signed-rank test under the normal distribution.
const FOR_A_DIFFERENCE: f64 = 7.849 * std::f64::consts::PI / 3.0;
const FOR_EQUIVALENCE: f64 = 8.564 * std::f64::consts::PI / 3.0;

/// Whichever answer comes first: that there is a difference, or that it lies
/// within the margin.
fn blocks_to_decide(blocks: usize, estimate: f64, sd: f64, margin: f64) -> Option<u32> {
    let squared = |room: f64| (sd / room).powi(2);
    let different = FOR_A_DIFFERENCE * squared(estimate);
    let room = margin - estimate.abs();
    let equivalent = if room > 0.0 {
        FOR_EQUIVALENCE * squared(room)
    } else {
        f64::INFINITY
    };
    let needed = different.min(equivalent).ceil();
    // Below six nothing can be decided; this look did not decide either.
    let least = 6.max(blocks + 1) as f64;
    (needed <= 10_000.0).then(|| needed.max(least) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn against_100(candidates: &[f64]) -> Vec<(f64, f64)> {
        candidates.iter().map(|c| (100.0, *c)).collect()
    }

    fn verdict(candidates: &[f64], better: Better) -> Comparison {
        let rule = Rule {
            better,
            ..Rule::default()
        };
        compare(&against_100(candidates), &rule).unwrap()
    }

    #[test]
    fn six_that_agree_decide() {
        let faster = [108.0, 111.0, 109.0, 112.0, 107.0, 110.0];
        let up = verdict(&faster, Better::Higher);
        assert_eq!((up.verdict, up.p, up.blocks), (Verdict::Better, 0.03125, 6));
        assert_eq!(up.blocks_to_decide, None);
        assert!((up.ratio - 1.095).abs() < 0.002);
        assert_eq!(verdict(&faster, Better::Lower).verdict, Verdict::Worse);
    }

    #[test]
    fn five_that_agree_do_not() {
        let c = verdict(&[130.0, 131.0, 129.0, 132.0, 128.0], Better::Higher);
        assert_eq!((c.verdict, c.interval), (Verdict::Undecided, None));
        assert_eq!(c.blocks_to_decide, Some(6));
    }

    #[test]
    fn real_but_within_the_margin_is_equivalent() {
        let c = verdict(&[101.0, 101.2, 100.8, 101.1, 100.9, 101.3], Better::Higher);
        assert_eq!((c.verdict, c.p), (Verdict::Equivalent, 0.03125));
        assert!(c.ratio > 1.009);
    }

    #[test]
    fn wide_scatter_is_undecided_and_says_what_would_decide() {
        let c = verdict(&[93.0, 108.0, 97.0, 112.0, 91.0, 104.0], Better::Higher);
        assert_eq!(c.verdict, Verdict::Undecided);
        assert!(c.blocks_to_decide.unwrap() > 24);
    }

    #[test]
    fn refuses_a_failed_trial() {
        let error = compare(&[(1.0, 1.0), (2.0, 0.0)], &Rule::default()).unwrap_err();
        assert!(error.to_string().contains("block 1 pairs 2 with 0"));
        let rule = Rule {
            alpha: 5.0,
            ..Rule::default()
        };
        assert!(compare(&[(1.0, 1.0)], &rule).is_err());
    }
}
