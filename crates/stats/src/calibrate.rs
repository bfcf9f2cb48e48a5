//! What blocks of identical arms say of a host and of everything around the
//! test, before a difference between other arms is believed.
//!
//! Random order makes the signs of A/A log ratios coin tosses, whatever the
//! host does: level shifts, drift inside a block and heavy tails cost power and
//! not honesty. False positives above nominal therefore mean that something
//! distinguishes the two copies although they are the same (the length of a
//! name in the environment, a cache that only one of them finds, a hook), and
//! that is what is looked for: every run of six consecutive blocks, in the
//! order in which they were measured, is judged as a run of its own.
//!
//! Those runs overlap, so their count is not binomial. Its law is that of the
//! same magnitudes with random signs, which is enumerated, or drawn from where
//! there are too many.
//!
//! What identical arms differ by is a shift and does not shrink with more
//! blocks, so intervals are moved apart by it and not multiplied.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::compare::compare;
use crate::{Comparison, Noise, Rule, SignedRank, StatsError, summary};

/// Blocks of the shortest run that can decide: what false positives are
/// counted over.
pub const RUN_OF: usize = 6;

/// False positives that are less likely than this are more than nominal.
const SIGNIFICANT: f64 = 0.05;

/// Sign patterns up to which all are gone through (12 blocks).
const PATTERNS: u32 = 4_096;

/// One block of two identical arms, in any common unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EqualBlock {
    pub baseline: f64,
    pub copy: f64,
    /// Whether the baseline's trial came first.
    pub baseline_first: bool,
}

/// What follows for the comparisons to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// Identical arms differ no more often than the level says.
    Sound,
    /// They do, by less than what matters: intervals are widened.
    Widened,
    /// They differ by more than what matters: no answer would be honest.
    Refused,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    pub fitness: Fitness,
    /// For [`Rule::allowance`]: 0 unless widened or refused, else the end of
    /// the A/A interval that is farther from no difference.
    pub allowance: f64,
    /// The copy against the baseline over all blocks.
    pub comparison: Comparison,
    /// How much A/A log ratios scatter; zero is their known mean.
    pub noise: Noise,
    /// Runs of six consecutive blocks.
    pub runs: u32,
    /// How many of them called the arms different.
    pub false_positives: u32,
    /// Probability of so many or more, were each sign a coin toss.
    pub p_false_positives: f64,
    /// Second trial of a block over the first, and the p of "no difference".
    pub second_over_first: f64,
    pub p_order: f64,
    /// Standard deviation of the blocks' own levels, as logarithms: what a
    /// comparison without blocks would have to see through.
    pub sd_of_levels: f64,
}

/// Judges A/A blocks in the order in which they were measured.
///
/// # Errors
/// Fewer than six blocks or more than 64, or what `compare` refuses.
pub fn calibrate(blocks: &[EqualBlock], rule: &Rule, seed: u64) -> Result<Calibrated, StatsError> {
    if !(RUN_OF..=64).contains(&blocks.len()) {
        return Err(StatsError::OutOfRange {
            name: "the number of A/A blocks",
            value: blocks.len() as f64,
            limits: "6 to 64",
        });
    }
    let pairs: Vec<(f64, f64)> = blocks.iter().map(|b| (b.baseline, b.copy)).collect();
    let comparison = compare(&pairs, rule)?;
    let ratios: Vec<f64> = pairs
        .iter()
        .map(|(one, other)| (other / one).ln())
        .collect();
    let (false_positives, p_false_positives) = false_positives(&ratios, rule.alpha, seed)?;
    let fitness = if p_false_positives > SIGNIFICANT {
        Fitness::Sound
    } else if comparison.ratio.ln().abs() > rule.margin.ln_1p() {
        Fitness::Refused
    } else {
        Fitness::Widened
    };
    let farther = comparison
        .interval
        .map_or(0.0, |i| i.high.ln().max(-i.low.ln()).exp_m1());
    let in_order = |b: &EqualBlock| {
        let sign = if b.baseline_first { 1.0 } else { -1.0 };
        sign * (b.copy / b.baseline).ln()
    };
    let order = SignedRank::of(&blocks.iter().map(in_order).collect::<Vec<f64>>())?;
    let levels: Vec<f64> = (blocks.iter())
        .map(|b| (b.baseline.ln() + b.copy.ln()) / 2.0)
        .collect();
    Ok(Calibrated {
        fitness,
        allowance: if fitness == Fitness::Sound {
            0.0
        } else {
            farther
        },
        comparison,
        noise: Noise::of_equal_arms(&ratios).ok_or(StatsError::NoSamples)?,
        runs: (blocks.len() - RUN_OF + 1) as u32,
        false_positives,
        p_false_positives,
        second_over_first: order.estimate().exp(),
        p_order: order.p_two_sided(),
        sd_of_levels: summary::sd(&levels).unwrap_or(0.0),
    })
}

/// The runs that call a difference, and the probability of so many or more.
fn false_positives(ratios: &[f64], alpha: f64, seed: u64) -> Result<(u32, f64), StatsError> {
    let runs: Vec<u64> = ratios
        .windows(RUN_OF)
        .map(|run| rejecting(run, alpha))
        .collect::<Result<_, _>>()?;
    // A bit says whether the block's sign is turned about.
    let count = |turned: u64| -> u32 {
        let rejects = |(first, run): (usize, &u64)| {
            let pattern = (turned >> first) & ((1 << RUN_OF) - 1);
            (run >> pattern & 1) as u32
        };
        runs.iter().enumerate().map(rejects).sum()
    };
    let seen = count(0);
    if seen == 0 {
        return Ok((0, 1.0));
    }
    if ratios.len() <= PATTERNS.ilog2() as usize {
        let patterns = 1_u64 << ratios.len();
        let as_many = (0..patterns)
            .filter(|turned| count(*turned) >= seen)
            .count();
        return Ok((seen, as_many as f64 / patterns as f64));
    }
    let mut rng = crate::generator(seed);
    let as_many = (0..PATTERNS)
        .filter(|_| count(rng.random()) >= seen)
        .count();
    // What was seen is one of the patterns too.
    Ok((seen, (as_many + 1) as f64 / f64::from(PATTERNS + 1)))
}

/// For each pattern of signs turned about whether the run calls a difference.
fn rejecting(run: &[f64], alpha: f64) -> Result<u64, StatsError> {
    let mut rejecting = 0;
    for pattern in 0..1_u64 << RUN_OF {
        let sign = |index: usize| 1.0 - 2.0 * (pattern >> index & 1) as f64;
        let turned: Vec<f64> = (0..).zip(run).map(|(i, x)| sign(i) * x).collect();
        let rejects = SignedRank::of(&turned)?.p_two_sided() <= alpha;
        rejecting |= u64::from(rejects) << pattern;
    }
    Ok(rejecting)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Alternating order, the copy ahead of the baseline by these logarithms.
    fn blocks(ahead: &[f64]) -> Vec<EqualBlock> {
        let block = |(index, ahead): (usize, &f64)| EqualBlock {
            baseline: 100.0,
            copy: 100.0 * ahead.exp(),
            baseline_first: index % 2 == 0,
        };
        ahead.iter().enumerate().map(block).collect()
    }

    fn of(ahead: &[f64]) -> Calibrated {
        calibrate(&blocks(ahead), &Rule::default(), 1).unwrap()
    }

    #[test]
    fn signs_that_change_are_sound() {
        let sound = of(&[
            0.02, -0.01, 0.03, 0.01, -0.02, 0.01, -0.03, 0.02, -0.01, 0.01,
        ]);
        assert_eq!((sound.fitness, sound.allowance), (Fitness::Sound, 0.0));
        assert_eq!((sound.runs, sound.false_positives), (5, 0));
        assert_eq!(sound.p_false_positives, 1.0);
        assert!((sound.noise.sd - 0.0182).abs() < 0.001);
    }

    #[test]
    fn a_small_difference_between_identical_arms_widens() {
        let off = of(&[
            0.02, 0.01, 0.015, 0.02, 0.01, 0.02, 0.01, 0.012, 0.018, 0.02,
        ]);
        assert_eq!((off.fitness, off.false_positives), (Fitness::Widened, 5));
        // All signs equal: two patterns of 1,024.
        assert_eq!(off.p_false_positives, 2.0 / 1_024.0);
        assert!(off.allowance >= 0.015 && off.allowance < 0.021, "{off:?}");
    }

    #[test]
    fn one_beyond_the_margin_refuses() {
        let off = of(&[-0.08, -0.05, -0.07, -0.06, -0.05, -0.08, -0.07, -0.06]);
        assert_eq!(off.fitness, Fitness::Refused);
        assert!(off.comparison.ratio < 0.97 && off.allowance > 0.05);
    }

    /// The one run of six blocks: exactly the level of the test, 2/64.
    #[test]
    fn the_law_of_the_count_is_that_of_random_signs() {
        let (seen, p) = false_positives(&[0.01, 0.02, 0.03, 0.04, 0.05, 0.06], 0.05, 1).unwrap();
        assert_eq!((seen, p), (1, 2.0 / 64.0));
        let mut many = vec![0.01; 20];
        many[10] = -0.01;
        let (seen, p) = false_positives(&many, 0.05, 1).unwrap();
        assert!(seen == 9 && p < 0.02, "{seen} {p}");
    }

    #[test]
    fn the_order_inside_blocks_is_distinguished_from_the_arms() {
        // The second copy is slower by 5 %.
        let mut all = blocks(&[0.0; 10]);
        for block in &mut all {
            if block.baseline_first {
                block.copy *= 0.95;
            } else {
                block.baseline *= 0.95;
            }
        }
        let found = calibrate(&all, &Rule::default(), 1).unwrap();
        assert_eq!(found.fitness, Fitness::Sound);
        assert!((found.second_over_first - 0.95).abs() < 1e-9 && found.p_order < 0.01);
    }

    #[test]
    fn fewer_than_six_blocks_say_nothing() {
        let error = calibrate(&blocks(&[0.0; 5]), &Rule::default(), 1).unwrap_err();
        assert!(error.to_string().contains("6 to 64"));
    }
}
