//! Whether an arm meets a tail objective, judged as a rate of violations.
//!
//! "p99 ≤ 250 ms" is the statement that at most 1 % of requests take longer;
//! an error or a timeout counts as longer. A p99 read off one short trial is
//! noise; the rate pools every block.
//!
//! Requests of one block share their trouble, so blocks are what is counted.
//! From six blocks on the interval is a percentile block bootstrap. The
//! bootstrap of few blocks, or of rates near 0, is too narrow, so there is a
//! floor under it, and fewer than six blocks use the floor alone: Wilson's
//! interval with the requests divided by a design effect (Kish 1965), which
//! is how much more the blocks scatter than independent requests would, and
//! with Student's t in place of z. The design effect is drawn towards a
//! stated default of 4, which counts as four degrees of freedom, so that a
//! single block can be judged too, cautiously.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::error::within;
use crate::student::two_sided;
use crate::{Interval, StatsError, summary};

/// How an objective is judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ViolationRule {
    /// Tolerated rate: 0.01 for an objective on p99.
    pub objective_rate: f64,
    /// One minus the confidence of the two-sided interval.
    pub alpha: f64,
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The whole interval is at or below the objective.
    Meets,
    /// The whole interval is above it: the arm is infeasible.
    Breaks,
    /// The interval contains it.
    Unclear,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Feasibility {
    pub standing: Standing,
    /// All violations over all requests.
    pub rate: f64,
    /// Of the rate, at nominal confidence.
    pub interval: Interval,
}

const RESAMPLES: usize = 2_000;
const BOOTSTRAPPED_BLOCKS: usize = 6;
const DEFAULT_DESIGN_EFFECT: f64 = 4.0;
const DEFAULT_FREEDOM: u32 = 4;

/// Judges `(violations, requests)` of each block.
///
/// # Errors
/// No requests at all, more violations than requests, a rule outside 0..1.
pub fn meets(blocks: &[(u64, u64)], rule: &ViolationRule) -> Result<Feasibility, StatsError> {
    let limit = within(
        "objective rate",
        rule.objective_rate,
        (0.0, 1.0),
        "0..1, for instance 0.01 for p99",
    )?;
    within("alpha", rule.alpha, (0.0, 1.0), "0..1, for instance 0.05")?;
    if let Some(index) = blocks.iter().position(|(v, n)| v > n) {
        let (violations, total) = blocks[index];
        return Err(StatsError::TooManyViolations {
            index,
            violations,
            total,
        });
    }
    let blocks: Vec<(f64, f64)> = blocks
        .iter()
        .filter(|(_, total)| *total > 0)
        .map(|&(violations, total)| (violations as f64, total as f64))
        .collect();
    if blocks.is_empty() {
        return Err(StatsError::NoSamples);
    }
    let rate = pooled(&blocks);
    let (mut low, mut high) = floor(&blocks, rate, rule.alpha);
    let least = without_any(&blocks, rule.alpha);
    // One more violation never lowers the bound, however evenly violations are spread.
    high = if rate == 0.0 { least } else { high.max(least) };
    if blocks.len() >= BOOTSTRAPPED_BLOCKS {
        let (lower, upper) = bootstrap(&blocks, rule);
        (low, high) = (low.min(lower), high.max(upper));
    }
    let standing = if high <= limit {
        Standing::Meets
    } else if low > limit {
        Standing::Breaks
    } else {
        Standing::Unclear
    };
    Ok(Feasibility {
        standing,
        rate,
        interval: Interval {
            low,
            high,
            confidence: 1.0 - rule.alpha,
        },
    })
}

/// The requests that prove that an objective is met if none of them violates it: fewer never do.
#[must_use]
pub fn least_to_meet(objective_rate: f64, alpha: f64) -> f64 {
    DEFAULT_DESIGN_EFFECT * (alpha / 2.0).ln() / (-objective_rate).ln_1p()
}

/// About how many times as many requests would prove that the objective is met if violations stay as frequent; `None` where they are
/// more frequent than allowed. For planning: the width of the interval falls with the root of the number of requests.
#[must_use]
pub fn times_to_meet(
    rate: f64,
    interval: &Interval,
    requests: f64,
    objective_rate: f64,
) -> Option<f64> {
    let least = least_to_meet(objective_rate, 1.0 - interval.confidence) / requests;
    let spread = (interval.high - rate) / (objective_rate - rate);
    (rate < objective_rate).then(|| match rate {
        0.0 => least,
        _ => least.max(spread * spread),
    })
}

fn pooled(blocks: &[(f64, f64)]) -> f64 {
    let (violations, total) = blocks
        .iter()
        .fold((0.0, 0.0), |(v, n), block| (v + block.0, n + block.1));
    violations / total
}

/// Wilson's interval of the requests that the blocks are worth.
fn floor(blocks: &[(f64, f64)], rate: f64, alpha: f64) -> (f64, f64) {
    let total: f64 = blocks.iter().map(|(_, n)| n).sum();
    let freedom = (blocks.len() - 1) as f64;
    let prior = f64::from(DEFAULT_FREEDOM);
    let variance = rate * (1.0 - rate);
    // Pearson's chi-square of the blocks; without any violation it is no
    // evidence of independence, and the default stands.
    let (scatter, freedom) = if variance > 0.0 {
        let excess = |(v, n): &(f64, f64)| (v - n * rate).powi(2) / (n * variance);
        (blocks.iter().map(excess).sum::<f64>(), freedom)
    } else {
        (0.0, 0.0)
    };
    let effect = ((prior * DEFAULT_DESIGN_EFFECT + scatter) / (prior + freedom)).max(1.0);
    let worth = total / effect;
    let t = two_sided(alpha, DEFAULT_FREEDOM + freedom as u32);
    let shrunk = 1.0 + t * t / worth;
    let centre = (rate + t * t / (2.0 * worth)) / shrunk;
    let half = t / shrunk * (variance / worth + (t / (2.0 * worth)).powi(2)).sqrt();
    // Exactly 0 and 1 at the ends, where the two terms cancel up to rounding.
    let low = if rate == 0.0 {
        0.0
    } else {
        (centre - half).max(0.0)
    };
    let high = if rate == 1.0 {
        1.0
    } else {
        (centre + half).min(1.0)
    };
    (low, high)
}

/// The upper end where nothing was violated, and the least one otherwise. Such blocks do not show how much requests
/// cluster, so the design effect is the default: there is no t, and the bound is the exact one of that many independent
/// requests (Clopper and Pearson 1934).
fn without_any(blocks: &[(f64, f64)], alpha: f64) -> f64 {
    let total: f64 = blocks.iter().map(|(_, n)| n).sum();
    1.0 - (alpha / 2.0).powf(DEFAULT_DESIGN_EFFECT / total)
}

fn bootstrap(blocks: &[(f64, f64)], rule: &ViolationRule) -> (f64, f64) {
    let mut rng = crate::generator(rule.seed);
    let mut drawn = blocks.to_vec();
    let resample = |_| {
        drawn.fill_with(|| blocks[rng.random_range(0..blocks.len())]);
        pooled(&drawn)
    };
    let rates: Vec<f64> = (0..RESAMPLES).map(resample).collect();
    let at = |q| summary::quantile(&rates, q).unwrap_or(f64::NAN);
    (at(rule.alpha / 2.0), at(1.0 - rule.alpha / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const P99: ViolationRule = ViolationRule {
        objective_rate: 0.01,
        alpha: 0.05,
        seed: 3,
    };

    fn standing(blocks: &[(u64, u64)]) -> Standing {
        meets(blocks, &P99).unwrap().standing
    }

    #[test]
    fn one_short_block_proves_no_p99_but_can_break_it() {
        assert_eq!(standing(&[(0, 300)]), Standing::Unclear);
        assert_eq!(standing(&[(60, 300)]), Standing::Breaks);
    }

    #[test]
    fn the_least_number_without_a_violation_meets_it_and_one_less_does_not() {
        for rate in [0.05, 0.01, 0.001] {
            let rule = ViolationRule {
                objective_rate: rate,
                ..P99
            };
            let least = least_to_meet(rate, rule.alpha).ceil() as u64;
            let standing = |requests| meets(&[(0, requests)], &rule).unwrap().standing;
            assert_eq!(standing(least), Standing::Meets, "{rate}");
            assert_eq!(standing(least - 1), Standing::Unclear, "{rate}");
        }
    }

    #[test]
    fn more_requests_of_the_same_kind_meet_it() {
        for block in [(0, 200), (1, 300), (4, 600)] {
            let found = meets(&[block; 6], &P99).unwrap();
            assert_eq!(found.standing, Standing::Unclear);
            let requests = 6.0 * block.1 as f64;
            let times = times_to_meet(found.rate, &found.interval, requests, 0.01).unwrap();
            let blocks = (6.0 * times).ceil() as usize;
            assert!(blocks > 6);
            let more = meets(&vec![block; blocks], &P99).unwrap();
            assert_eq!(more.standing, Standing::Meets, "{block:?} in {blocks}");
        }
        let late = meets(&[(20, 1_000); 6], &P99).unwrap();
        assert_eq!(
            times_to_meet(late.rate, &late.interval, 6_000.0, 0.01),
            None
        );
    }

    #[test]
    fn quiet_blocks_meet_it_when_there_is_enough_of_them() {
        assert_eq!(standing(&[(0, 1_000); 6]), Standing::Meets);
        assert_eq!(standing(&[(3, 1_000); 8]), Standing::Meets);
        assert_eq!(standing(&[(9, 1_000); 8]), Standing::Unclear);
    }

    #[test]
    fn one_bad_block_in_six_is_unclear_where_requests_alone_would_be_sure() {
        let blocks = [
            (1, 1_000),
            (2, 1_000),
            (0, 1_000),
            (300, 1_000),
            (1, 1_000),
            (2, 1_000),
        ];
        assert_eq!(standing(&blocks), Standing::Unclear);
    }

    /// Of n independent requests the bound is about 3.7 / n, and these are worth a quarter, in however many blocks.
    #[test]
    fn without_a_violation_the_bound_is_the_exact_one() {
        let high = |blocks: &[(u64, u64)]| meets(blocks, &P99).unwrap().interval.high;
        let one = high(&[(0, 3_000)]);
        assert!(
            (one - (1.0 - 0.025_f64.powf(1.0 / 750.0))).abs() < 1e-12,
            "{one}"
        );
        assert!((one * 750.0 - 3.69).abs() < 0.02, "{one}");
        let many = [(0, 250); 12];
        assert!((high(&many) - one).abs() < 1e-12, "{}", high(&many));
        assert_eq!(standing(&many), Standing::Meets);
        assert_eq!(standing(&[(0, 100); 12]), Standing::Unclear);
    }

    /// Exactly: at a true rate as high as the bound, nothing is late in at most 2.5 % of such measurements. Twice with a
    /// design effect of 4: runs of four requests that share their fate, and blocks whose numbers of violations are
    /// negative binomial with a variance of four times their mean.
    #[test]
    fn without_a_violation_the_bound_covers_clusters_of_the_default_design_effect() {
        for count in [1, 6, 12, 24] {
            for requests in [20, 100, 1_000] {
                let high = meets(&vec![(0, requests); count], &P99)
                    .unwrap()
                    .interval
                    .high;
                let total = (count as u64 * requests) as f64;
                let in_runs = (1.0 - high).powf(total / 4.0);
                let in_blocks = 4_f64.powf(-total * high / 3.0);
                for none in [in_runs, in_blocks] {
                    assert!(none <= 0.025 + 1e-9, "{count} x {requests}: {none}");
                }
            }
        }
    }

    #[test]
    fn a_violation_more_never_lowers_the_bound() {
        for count in [1, 2, 5, 6, 12, 24] {
            for requests in [20, 100, 1_000] {
                let mut blocks = vec![(0, requests); count];
                let none = meets(&blocks, &P99).unwrap().interval.high;
                for at in 0..count {
                    blocks[at].0 = 1;
                    let some = meets(&blocks, &P99).unwrap().interval.high;
                    assert!(some >= none, "{count} x {requests}, {at}: {some} < {none}");
                }
            }
        }
    }

    #[test]
    fn refuses_the_impossible() {
        assert!(meets(&[(5, 4)], &P99).is_err());
        assert_eq!(meets(&[(0, 0)], &P99), Err(StatsError::NoSamples));
    }

    /// Blocks whose own rates scatter around 1 % (half of them at 0.2 %, half
    /// at 1.8 %): the interval must cover 1 % about as often as it says.
    #[test]
    fn covers_the_true_rate_in_spite_of_clusters() {
        let mut rng = crate::generator(11);
        for count in [2_usize, 4, 8, 16] {
            let mut covered = 0;
            for _ in 0..400 {
                let block = |_| {
                    let rate = if rng.random::<bool>() { 0.002 } else { 0.018 };
                    let violations = (0..400).filter(|_| rng.random_bool(rate)).count();
                    (violations as u64, 400)
                };
                let blocks: Vec<(u64, u64)> = (0..count).map(block).collect();
                let interval = meets(&blocks, &P99).unwrap().interval;
                covered += u32::from(interval.low <= 0.01 && 0.01 <= interval.high);
            }
            assert!(
                crate::binomial_at_most(covered, 400, 0.95) > 0.001,
                "{count}: {covered}"
            );
        }
    }
}
