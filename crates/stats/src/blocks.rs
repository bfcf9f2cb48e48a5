//! How many blocks would have decided.

use rand_distr::{Distribution, StandardNormal};

use crate::signed_rank::{critical, walsh_averages};
use crate::{Comparison, Look, Rule, looks};

/// Simulated runs: the probability of a decision is then good to 0.02.
const RUNS: usize = 1_000;

/// Up to here the test itself is simulated; beyond, the large-sample rule
/// serves, and no run holds as many anyway.
const SIMULATED: u32 = 24;

/// A plan longer than this is no plan.
const MOST: f64 = 10_000.0;

const POWER: f64 = 0.8;

/// About how many blocks in all would decide, with probability 0.8, should
/// ratio and scatter stay what they are in `found`: whichever comes first, that
/// there is a difference or that it lies within the margin. The runs simulated
/// have the looks that a run of so many blocks has. `None` from a single block,
/// or when more than 10,000 are needed.
pub fn blocks_to_decide(found: &Comparison, rule: &Rule, seed: u64) -> Option<u32> {
    let sd = found.sd_log_ratio?;
    let truth = Truth {
        effect: found.ratio.ln().abs(),
        sd,
        allowance: rule.allowance.ln_1p(),
        margin: rule.margin.ln_1p() - rule.allowance.ln_1p(),
    };
    // Below six nothing can be decided; this look did not decide either.
    let least = 6.max(found.blocks + 1);
    let enough = |blocks: u32| {
        let plan = looks(blocks, rule.overall, seed);
        plan.is_some_and(|plan| truth.decided(&plan, seed) >= POWER)
    };
    if least <= SIMULATED && enough(SIMULATED) {
        let (mut too_few, mut sufficient) = (least - 1, SIMULATED);
        while sufficient - too_few > 1 {
            let middle = (too_few + sufficient) / 2;
            if enough(middle) {
                sufficient = middle;
            } else {
                too_few = middle;
            }
        }
        return Some(sufficient);
    }
    let needed = truth
        .large_sample()
        .max(f64::from(least.max(SIMULATED + 1)));
    (needed <= MOST).then_some(needed as u32)
}

/// (z(0.975) + z(0.8))², for a difference; (z(0.95) + z(0.9))², for two
/// one-sided tests about no difference. Both over 3/pi, the efficiency of the
/// signed-rank test under the normal distribution.
const FOR_A_DIFFERENCE: f64 = 7.849 * std::f64::consts::PI / 3.0;
const FOR_EQUIVALENCE: f64 = 8.564 * std::f64::consts::PI / 3.0;

/// What is supposed to be true, in logarithms; the effect is not below 0.
struct Truth {
    effect: f64,
    sd: f64,
    allowance: f64,
    margin: f64,
}

impl Truth {
    /// The share of runs that come to a decision at one of their looks.
    fn decided(&self, plan: &[Look], seed: u64) -> f64 {
        let limits: Vec<(usize, usize, Option<usize>)> = plan
            .iter()
            .filter_map(|look| {
                let n = look.blocks as usize;
                let (two_sided, _) = critical(n, look.alpha / 2.0)?;
                Some((n, two_sided, critical(n, look.alpha).map(|(c, _)| c)))
            })
            .collect();
        let blocks = limits.last().map_or(0, |limit| limit.0);
        let mut rng = crate::generator(seed);
        let mut run = vec![0.0; blocks];
        let decides = |_: &usize| {
            run.fill_with(|| {
                let noise: f64 = StandardNormal.sample(&mut rng);
                self.effect + self.sd * noise
            });
            limits.iter().any(|&(n, two_sided, one_sided)| {
                let mut averages = walsh_averages(&run[..n]);
                averages.sort_unstable_by(f64::total_cmp);
                let bounds = |cut: usize| (averages[cut], averages[averages.len() - 1 - cut]);
                let (low, high) = bounds(two_sided);
                let different = low > self.allowance || high < -self.allowance;
                let within = one_sided.is_some_and(|cut| {
                    let (low, high) = bounds(cut);
                    low > -self.margin && high < self.margin
                });
                different || within
            })
        };
        (0..RUNS).filter(decides).count() as f64 / RUNS as f64
    }

    fn large_sample(&self) -> f64 {
        let of = |factor: f64, room: f64| {
            if room > 0.0 {
                factor * (self.sd / room).powi(2)
            } else {
                f64::INFINITY
            }
        };
        let different = of(FOR_A_DIFFERENCE, self.effect - self.allowance);
        let equivalent = of(FOR_EQUIVALENCE, self.margin - self.effect);
        different.min(equivalent).ceil()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    fn undecided(ratio: f64, sd: f64, blocks: u32) -> Comparison {
        Comparison {
            verdict: Verdict::Undecided,
            ratio,
            interval: None,
            p: 0.2,
            p_equivalence: 0.2,
            blocks,
            sd_log_ratio: Some(sd),
        }
    }

    fn needed(ratio: f64, sd: f64) -> Option<u32> {
        blocks_to_decide(&undecided(ratio, sd, 6), &Rule::default(), 1)
    }

    #[test]
    fn more_scatter_needs_more_blocks_and_either_answer_will_do() {
        let different = [0.03, 0.05, 0.08, 0.2].map(|sd| needed(1.06, sd).unwrap());
        assert!(different.windows(2).all(|w| w[0] < w[1]), "{different:?}");
        let equal = [0.02, 0.04, 0.08].map(|sd| needed(1.0, sd).unwrap());
        assert!(equal.windows(2).all(|w| w[0] < w[1]), "{equal:?}");
        // Neither shown: just at the margin it takes a difference.
        assert!(needed(1.03, 0.04) > needed(1.06, 0.04));
    }

    #[test]
    fn so_many_do_decide_and_one_fewer_does_not() {
        let (ratio, sd) = (1.06_f64, 0.07);
        let blocks = needed(ratio, sd).unwrap();
        assert!((13..=24).contains(&blocks), "{blocks}");
        let truth = Truth {
            effect: ratio.ln(),
            sd,
            allowance: 0.0,
            margin: 0.03_f64.ln_1p(),
        };
        let decided = |n: u32| truth.decided(&looks(n, 0.05, 1).unwrap(), 99);
        assert!(decided(blocks) > 0.75, "{}", decided(blocks));
        assert!(decided(blocks - 3) < 0.8, "{}", decided(blocks - 3));
    }

    #[test]
    fn always_more_than_there_were_and_never_a_promise_without_end() {
        let rule = Rule::default();
        let last = undecided(1.2, 0.01, 24);
        assert_eq!(blocks_to_decide(&last, &rule, 1), Some(25));
        let never = undecided(1.03, 30.0, 6);
        assert_eq!(blocks_to_decide(&never, &rule, 1), None);
        let single = Comparison {
            sd_log_ratio: None,
            ..undecided(1.2, 0.01, 1)
        };
        assert_eq!(blocks_to_decide(&single, &rule, 1), None);
    }
}
