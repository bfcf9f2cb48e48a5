//! When a run may look at its evidence, and at which level.
//!
//! Every look is a chance to be wrong, so looks share one error rate. They
//! spend it along the Pocock-type function of Lan and DeMets (1983),
//! alpha ln(1 + (e - 1) t), at t the part of the planned blocks that is done.
//!
//! The spent amounts are turned into levels by simulating the very test: under
//! the null the joint law of the signed-rank sums at successive looks does not
//! depend on the distribution of the data, only on random signs and a random
//! order of magnitudes. At each look the critical sum is the greatest that
//! keeps the probability of having crossed so far within what may be spent.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::signed_rank::critical;

/// One moment at which a run may stop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Blocks done by then, from the first.
    pub blocks: u32,
    /// The two-sided level of this look alone.
    pub alpha: f64,
    /// The two-sided level of all looks of the run together.
    pub overall: f64,
}

/// Interim looks; the end of the plan is always the last one.
const INTERIM: [u32; 3] = [10, 16, 24];

/// Paths simulated: the overall error is then met within about 0.001.
const PATHS: usize = 40_000;

/// The looks of a run of `planned` blocks that may be wrong with probability
/// `alpha` overall: one at the end for six to nine blocks, and at 10, 16, 24
/// and the end for longer ones (an interim look within two blocks of the end
/// is left out: it would cost error and save nothing). `None` when so few
/// blocks can never reach `alpha`: fewer than six at 0.05.
pub fn looks(planned: u32, alpha: f64, seed: u64) -> Option<Vec<Look>> {
    critical(planned as usize, alpha / 2.0)?;
    let mut ends: Vec<u32> = INTERIM.into_iter().filter(|b| b + 2 < planned).collect();
    ends.push(planned);
    if ends.len() == 1 {
        return Some(vec![Look {
            blocks: planned,
            alpha,
            overall: alpha,
        }]);
    }
    let spent = |blocks: u32| {
        let done = f64::from(blocks) / f64::from(planned);
        alpha * ((std::f64::consts::E - 1.0) * done).ln_1p()
    };
    let mut paths = null_paths(&ends, seed);
    let mut crossed = 0;
    let mut looks = Vec::new();
    for (index, &blocks) in ends.iter().enumerate() {
        let allowed = (spent(blocks) * PATHS as f64) as usize - crossed;
        let sums = paths.iter().map(|path| path[index]).collect();
        let Some(limit) = greatest_within(sums, allowed) else {
            continue;
        };
        let before = paths.len();
        paths.retain(|path| path[index] > limit);
        crossed += before - paths.len();
        looks.push(Look {
            blocks,
            alpha: level_of(blocks, limit),
            overall: alpha,
        });
    }
    Some(looks)
}

/// The greatest sum that at most `allowed` of `sums` do not exceed.
fn greatest_within(mut sums: Vec<u32>, allowed: usize) -> Option<u32> {
    sums.sort_unstable();
    match sums.get(allowed) {
        Some(&first_beyond) => first_beyond.checked_sub(1),
        None => sums.last().copied(),
    }
}

/// The exact two-sided level of rejecting when the smaller sum is at most
/// `limit`, a hair wider so that rounding cannot turn that sum away.
fn level_of(blocks: u32, limit: u32) -> f64 {
    let cdf = crate::signed_rank::untied_cdf(blocks as usize);
    2.0 * cdf[limit as usize] * (1.0 + 1e-9)
}

/// The smaller of T+ and T- at each look, for `PATHS` runs without a difference.
fn null_paths(ends: &[u32], seed: u64) -> Vec<Vec<u32>> {
    let mut rng = crate::generator(seed);
    let last = ends.last().copied().unwrap_or(0) as usize;
    let mut sorted: Vec<(u32, bool)> = Vec::with_capacity(last);
    let path = |_| {
        sorted.clear();
        let mut smaller = Vec::with_capacity(ends.len());
        for &end in ends {
            while sorted.len() < end as usize {
                let (magnitude, positive): (u32, bool) = (rng.random(), rng.random());
                let place = sorted.partition_point(|(m, _)| *m < magnitude);
                sorted.insert(place, (magnitude, positive));
            }
            let ranks = (1..).zip(&sorted);
            let plus: u32 = ranks.filter(|(_, x)| x.1).map(|(rank, _)| rank).sum();
            smaller.push(plus.min(end * (end + 1) / 2 - plus));
        }
        smaller
    };
    (0..PATHS).map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(planned: u32) -> Vec<u32> {
        let looks = looks(planned, 0.05, 1).unwrap();
        looks.iter().map(|look| look.blocks).collect()
    }

    #[test]
    fn short_runs_look_once_and_shorter_ones_never() {
        assert_eq!(looks(5, 0.05, 1), None);
        for planned in 6..=9 {
            let one = vec![Look {
                blocks: planned,
                alpha: 0.05,
                overall: 0.05,
            }];
            assert_eq!(looks(planned, 0.05, 1), Some(one));
        }
    }

    #[test]
    fn longer_runs_look_at_10_16_and_24() {
        assert_eq!(blocks(12), [12]);
        assert_eq!(blocks(13), [10, 13]);
        assert_eq!(blocks(16), [10, 16]);
        assert_eq!(blocks(24), [10, 16, 24]);
        assert_eq!(blocks(30), [10, 16, 24, 30]);
    }

    #[test]
    fn levels_are_shared_out_about_evenly() {
        let looks = looks(24, 0.05, 1).unwrap();
        for look in &looks {
            assert!((0.015..0.035).contains(&look.alpha), "{looks:?}");
        }
    }

    /// Another seed, another sample: all looks together stay within the level.
    #[test]
    fn the_looks_together_are_wrong_in_at_most_five_per_cent() {
        let looks = looks(24, 0.05, 1).unwrap();
        let ends: Vec<u32> = looks.iter().map(|look| look.blocks).collect();
        let limits: Vec<u32> = looks
            .iter()
            .map(|look| critical(look.blocks as usize, look.alpha / 2.0).unwrap().0 as u32)
            .collect();
        let wrong = null_paths(&ends, 99)
            .iter()
            .filter(|path| path.iter().zip(&limits).any(|(sum, limit)| sum <= limit))
            .count();
        let p = crate::binomial_at_least(wrong as u32, PATHS as u32, 0.051);
        assert!(p > 0.001, "{wrong} of {PATHS}");
        assert!(wrong * 100 > PATHS * 4, "spends too little: {wrong}");
    }
}
