//! Two arms, paired by block: which is better, and by how much.
//!
//! The unit of evidence is the block. Each gives one log ratio of candidate to
//! baseline; requests inside a trial are not independent and are never counted
//! as evidence. Which figure is compared (throughput, CPU per request, memory)
//! is the caller's choice; latency tails belong to `violation`.

use serde::{Deserialize, Serialize};

use crate::error::within;
use crate::{Look, SignedRank, StatsError, summary};

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
    /// The level of all looks of the run together: what an interval may claim
    /// that is reported at whichever look the run stops. The same as `alpha`
    /// where there is one look.
    pub overall: f64,
    /// Identical arms were seen to differ by up to a factor of `1 + allowance`,
    /// so as much is taken off every difference; 0 where they were not. See
    /// [`crate::calibrate`].
    pub allowance: f64,
    pub better: Better,
}

impl Rule {
    /// The rule of one look of a run.
    pub fn at(look: &Look, margin: f64, better: Better) -> Self {
        Self {
            margin,
            alpha: look.alpha,
            overall: look.overall,
            allowance: 0.0,
            better,
        }
    }
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            margin: 0.03,
            alpha: 0.05,
            overall: 0.05,
            allowance: 0.0,
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
    /// The confidence of the procedure that reports it: of a single look what
    /// the discrete test really achieves, of several looks that of all.
    pub confidence: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub verdict: Verdict,
    /// Candidate over baseline: the exponential of the Hodges-Lehmann estimate
    /// of the log ratios.
    pub ratio: f64,
    /// Of the ratio, widened by the allowance. `None` when the blocks are too few for any
    /// finite interval (fewer than six at 0.05).
    pub interval: Option<Interval>,
    /// Two-sided, exact, of "no difference beyond the allowance".
    pub p: f64,
    /// The greater of the two one-sided p-values of "outside the margin".
    pub p_equivalence: f64,
    pub blocks: u32,
    /// Standard deviation of the log ratios; `None` for a single block.
    pub sd_log_ratio: Option<f64>,
}

/// Judges `(baseline, candidate)` pairs, one a block, in any common unit.
///
/// # Errors
/// No pair, a value that is not above 0, or a rule outside 0..1.
pub fn compare(pairs: &[(f64, f64)], rule: &Rule) -> Result<Comparison, StatsError> {
    within("alpha", rule.alpha, (0.0, 1.0), "0..1, for instance 0.05")?;
    within("margin", rule.margin, (0.0, 1.0), "0..1, for instance 0.03")?;
    within(
        "allowance",
        1.0 + rule.allowance,
        (1.0 - f64::EPSILON, f64::INFINITY),
        "0 and above, for instance 0.01",
    )?;
    let log_ratios = log_ratios(pairs)?;
    let test = SignedRank::of(&log_ratios)?;
    let allowance = rule.allowance.ln_1p();
    let margin = rule.margin.ln_1p() - allowance;
    let p = if allowance > 0.0 {
        let above = test.against(allowance)?.p_greater();
        let below = test.against(-allowance)?.p_less();
        (2.0 * above.min(below)).min(1.0)
    } else {
        test.p_two_sided()
    };
    let p_equivalence = if margin > 0.0 {
        let not_slower = test.against(-margin)?.p_greater();
        not_slower.max(test.against(margin)?.p_less())
    } else {
        1.0
    };
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
    let sequential = rule.overall > rule.alpha;
    Ok(Comparison {
        verdict,
        ratio: estimate.exp(),
        interval: test.interval(rule.alpha).map(|i| Interval {
            low: (i.low - allowance).exp(),
            high: (i.high + allowance).exp(),
            confidence: if sequential {
                1.0 - rule.overall
            } else {
                i.confidence
            },
        }),
        p,
        p_equivalence,
        blocks: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
        sd_log_ratio: summary::sd(&log_ratios),
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
        assert!((up.ratio - 1.095).abs() < 0.002);
        assert_eq!(verdict(&faster, Better::Lower).verdict, Verdict::Worse);
    }

    #[test]
    fn five_that_agree_do_not() {
        let c = verdict(&[130.0, 131.0, 129.0, 132.0, 128.0], Better::Higher);
        assert_eq!((c.verdict, c.interval), (Verdict::Undecided, None));
    }

    #[test]
    fn real_but_within_the_margin_is_equivalent() {
        let c = verdict(&[101.0, 101.2, 100.8, 101.1, 100.9, 101.3], Better::Higher);
        assert_eq!((c.verdict, c.p), (Verdict::Equivalent, 0.03125));
        assert!(c.ratio > 1.009);
    }

    #[test]
    fn wide_scatter_is_undecided() {
        let c = verdict(&[93.0, 108.0, 97.0, 112.0, 91.0, 104.0], Better::Higher);
        assert_eq!(c.verdict, Verdict::Undecided);
    }

    /// What identical arms were seen to differ by is taken off on both sides.
    #[test]
    fn an_allowance_widens_what_is_claimed() {
        let by = |candidates: &[f64], allowance: f64| {
            let rule = Rule {
                allowance,
                ..Rule::default()
            };
            compare(&against_100(candidates), &rule).unwrap()
        };
        let faster = [108.0, 111.0, 109.0, 112.0, 107.0, 110.0];
        assert_eq!(by(&faster, 0.05).verdict, Verdict::Better);
        let wide = by(&faster, 0.08);
        assert_eq!(wide.verdict, Verdict::Undecided);
        assert!(wide.interval.unwrap().low < 1.0 && wide.p > 0.05);
        let close = [101.0, 101.2, 100.8, 101.1, 100.9, 101.3];
        assert_eq!(by(&close, 0.01).verdict, Verdict::Equivalent);
        assert_eq!(by(&close, 0.02).verdict, Verdict::Undecided);
        assert_eq!(by(&close, 0.04).p_equivalence, 1.0);
    }

    /// At whichever look a run stops, its interval covers as all looks promise.
    #[test]
    fn one_look_of_several_claims_the_confidence_of_all() {
        let looks = crate::looks(24, 0.05, 1).unwrap();
        let pairs: Vec<(f64, f64)> = (0..10).map(|i| (100.0, 104.0 + f64::from(i))).collect();
        let c = compare(&pairs, &Rule::at(&looks[0], 0.03, Better::Higher)).unwrap();
        assert_eq!(c.interval.unwrap().confidence, 0.95);
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
