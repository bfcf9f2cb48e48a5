//! What a run can detect, by simulating the very test it will use.
//!
//! Assumes normal log ratios with a known standard deviation: a convention for
//! planning, not for the verdict. The textbook 2.8 s/sqrt(n) is far too small
//! at few blocks, where only complete agreement is significant.
//!
//! No search is needed. Adding d to every log ratio of a simulated run moves
//! its whole interval up by d, so each run has one smallest d at which its
//! interval clears zero; the detectable effect is the quantile of those at the
//! power asked for.

use rand_distr::{Distribution, StandardNormal};

use crate::Look;
use crate::signed_rank::{critical, walsh_averages};

/// Simulated runs: the effect is then good to about 2 % of itself.
const RUNS: usize = 4_000;

/// Beyond this the root rule is within 2 %, and simulating is slow.
const SIMULATED_BLOCKS: u32 = 64;

/// A plan longer than this is no plan.
const MOST_BLOCKS: f64 = 10_000.0;

/// The ratio (above 1) that `blocks` blocks detect with probability `power`
/// in a two-sided test at `alpha`, when log ratios scatter by `sd`. Infinite
/// where no effect could be detected (fewer than six blocks at 0.05).
pub fn mde(blocks: u32, sd: f64, alpha: f64, power: f64, seed: u64) -> f64 {
    mde_of_looks(&[Look { blocks, alpha }], sd, power, seed)
}

/// The same for a run that may stop at any of `looks`.
pub fn mde_of_looks(looks: &[Look], sd: f64, power: f64, seed: u64) -> f64 {
    let thresholds = thresholds(looks, seed);
    let effect = crate::summary::quantile(&thresholds, power).unwrap_or(f64::INFINITY);
    if effect.is_finite() {
        (effect * sd).exp()
    } else {
        f64::INFINITY
    }
}

/// The probability that a true ratio of `ratio` is found, in its own
/// direction, at one of `looks`.
pub fn power_of_looks(looks: &[Look], sd: f64, ratio: f64, seed: u64) -> f64 {
    let effect = ratio.ln().abs() / sd;
    let found = thresholds(looks, seed)
        .iter()
        .filter(|t| **t < effect)
        .count();
    found as f64 / RUNS as f64
}

/// The fewest blocks, looked at once, that detect `effect` (a ratio, 1.06 or
/// 0.94) with probability `power`. `None` for no effect at all or when more
/// than 10,000 are needed.
///
/// Up to 64 blocks by simulation; beyond, by the large-sample rule that the
/// detectable effect shrinks with the root of the blocks.
pub fn blocks_needed(sd: f64, effect: f64, alpha: f64, power: f64, seed: u64) -> Option<u32> {
    let wanted = effect.ln().abs();
    let enough = |blocks: u32| mde(blocks, sd, alpha, power, seed).ln() <= wanted;
    if wanted.is_nan() || wanted <= 0.0 || sd.is_nan() {
        return None;
    }
    if !enough(SIMULATED_BLOCKS) {
        let at_most = mde(SIMULATED_BLOCKS, sd, alpha, power, seed).ln();
        let needed = (f64::from(SIMULATED_BLOCKS) * (at_most / wanted).powi(2)).ceil();
        return (needed <= MOST_BLOCKS).then_some(needed as u32);
    }
    let (mut too_few, mut sufficient) = (0, SIMULATED_BLOCKS);
    while sufficient - too_few > 1 {
        let middle = (too_few + sufficient) / 2;
        if enough(middle) {
            sufficient = middle;
        } else {
            too_few = middle;
        }
    }
    Some(sufficient)
}

/// For each simulated run the least effect, in standard deviations, at which
/// some look's interval lies above zero.
fn thresholds(looks: &[Look], seed: u64) -> Vec<f64> {
    let limits: Vec<(usize, usize)> = looks
        .iter()
        .filter_map(|look| {
            let blocks = look.blocks as usize;
            critical(blocks, look.alpha / 2.0).map(|(limit, _)| (blocks, limit))
        })
        .collect();
    let blocks = limits.iter().map(|(blocks, _)| *blocks).max().unwrap_or(0);
    let mut rng = crate::generator(seed);
    let mut noise = vec![0.0; blocks];
    let run = |_| {
        noise.fill_with(|| StandardNormal.sample(&mut rng));
        let lowest = |&(blocks, limit): &(usize, usize)| {
            let mut averages = walsh_averages(&noise[..blocks]);
            *averages.select_nth_unstable_by(limit, f64::total_cmp).1
        };
        -limits.iter().map(lowest).fold(f64::NEG_INFINITY, f64::max)
    };
    (0..RUNS).map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_six_blocks_the_textbook_is_57_per_cent_too_small() {
        let textbook = 2.8 * 0.03 / 6.0_f64.sqrt();
        let excess = mde(6, 0.03, 0.05, 0.8, 1).ln() / textbook - 1.0;
        assert!((excess - 0.57).abs() < 0.05, "{excess}");
    }

    #[test]
    fn five_blocks_detect_nothing() {
        assert_eq!(mde(5, 0.03, 0.05, 0.8, 1), f64::INFINITY);
    }

    #[test]
    fn blocks_needed_are_those_that_suffice() {
        for effect in [1.03_f64, 1.06, 1.2, 0.9] {
            let blocks = blocks_needed(0.04, effect, 0.05, 0.8, 1).unwrap();
            assert!(blocks >= 6);
            let detectable = mde(blocks, 0.04, 0.05, 0.8, 1).ln();
            assert!(
                detectable <= effect.ln().abs() * 1.001,
                "{effect}: {blocks}"
            );
        }
        assert_eq!(blocks_needed(0.04, 1.0, 0.05, 0.8, 1), None);
        assert_eq!(blocks_needed(0.3, 1.001, 0.05, 0.8, 1), None);
    }

    /// 7.85 s²/d², divided by the test's efficiency of 3/pi.
    #[test]
    fn many_blocks_follow_the_large_sample_formula() {
        let blocks = f64::from(blocks_needed(0.04, 1.01, 0.05, 0.8, 1).unwrap());
        let formula = 7.85 * (0.04 / 1.01_f64.ln()).powi(2) * std::f64::consts::PI / 3.0;
        assert!((blocks / formula - 1.0).abs() < 0.06, "{blocks} {formula}");
    }

    #[test]
    fn interim_looks_cost_a_little_and_power_answers_mde() {
        let looks = crate::looks(24, 0.05, 1).unwrap();
        let sequential = mde_of_looks(&looks, 0.04, 0.8, 1);
        let single = mde(24, 0.04, 0.05, 0.8, 1);
        assert!(sequential > single && sequential.ln() < 1.2 * single.ln());
        let power = power_of_looks(&looks, 0.04, sequential, 2);
        assert!((power - 0.8).abs() < 0.03, "{power}");
    }
}
