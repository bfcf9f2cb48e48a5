//! Memory that grows with the requests served.

use crate::slope::of_pairs;
use crate::summary::median;
use crate::{Interval, mean_and_half};

/// Growth within the windows of a trial, as a share of the memory before the
/// first request, that an arm must exceed for its memory to be called growing. What is
/// left of a warm-up stays below it.
pub const MATERIAL_GROWTH: f64 = 0.10;

/// Memory before the first request, at least, as a share of that at the first
/// sample.
const LEAST_BEFORE: f64 = 0.1;

/// How memory grew in one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grown {
    /// Bytes per thousand requests, over all samples.
    pub per_thousand: f64,
    /// What the windows added at the pace of all samples, or of those in the
    /// second half of the requests, whichever is less: growth that levels off is
    /// small by this measure. Over the memory before the first request, by the
    /// same pace: a leak during the warm-up does not make a leak look small.
    pub share: f64,
}

/// The growth of an arm over its trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Mean bytes per thousand requests.
    pub per_thousand: f64,
    /// Of that mean, by Student's t over the trials.
    pub interval: Interval,
    /// Whether the memory surely grows: the interval of the mean share lies
    /// above [`MATERIAL_GROWTH`], and that of the growth above zero.
    pub significant: bool,
}

/// Judges one trial by its samples, as [`growth_per_thousand`] takes them,
/// oldest first. `None` where either slope is unknown.
pub fn grown(samples: &[(u64, f64)]) -> Option<Grown> {
    let (first, last) = (samples.first()?, samples.last()?);
    let requests = last.0.checked_sub(first.0)?;
    let middle = first.0 + requests / 2;
    let later = samples.partition_point(|(served, _)| *served < middle);
    let per_thousand = growth_per_thousand(samples)?;
    let lasting = per_thousand.min(growth_per_thousand(&samples[later..])?);
    let before = first.1 - lasting.max(0.0) / 1_000.0 * first.0 as f64;
    // A pace that rises would leave nothing, or less.
    let before = before.max(LEAST_BEFORE * first.1);
    (before > 0.0).then(|| Grown {
        per_thousand,
        share: lasting / 1_000.0 * requests as f64 / before,
    })
}

/// Judges an arm by its trials. Samples within a trial depend on one another,
/// so a trial is one piece of evidence. `None` below two trials.
pub fn growth(trials: &[Grown], alpha: f64) -> Option<Growth> {
    let paces: Vec<f64> = trials.iter().map(|trial| trial.per_thousand).collect();
    let shares: Vec<f64> = trials.iter().map(|trial| trial.share).collect();
    let (per_thousand, half) = mean_and_half(&paces, alpha)?;
    let (share, half_share) = mean_and_half(&shares, alpha)?;
    Some(Growth {
        per_thousand,
        interval: Interval {
            low: per_thousand - half,
            high: per_thousand + half,
            confidence: 1.0 - alpha,
        },
        significant: share - half_share > MATERIAL_GROWTH && per_thousand > half,
    })
}

/// Growth in bytes per thousand requests, from `(requests served since the
/// start, bytes)`: the Theil-Sen slope, the median of the slopes of all pairs,
/// which a garbage collection in one sample does not throw off. `None` below
/// three samples at different counts. May be negative.
pub fn growth_per_thousand(samples: &[(u64, f64)]) -> Option<f64> {
    let points: Vec<(f64, f64)> = samples
        .iter()
        .map(|(served, bytes)| (*served as f64, *bytes))
        .collect();
    let slopes = of_pairs(&points);
    if slopes.len() < 3 {
        return None;
    }
    Some(1_000.0 * median(&slopes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_pcg::Pcg64;

    #[test]
    fn finds_the_leak_behind_one_outlier() {
        let mut samples: Vec<(u64, f64)> =
            (0..10).map(|i| (i * 500, 1e8 + i as f64 * 2e5)).collect();
        samples[4].1 -= 3e7;
        let growth = growth_per_thousand(&samples).unwrap();
        assert!((growth - 4e5).abs() < 1.0, "{growth}");
    }

    /// A trial of 40 samples, 50 requests apart, after a warm-up of 1,000: memory by the part of the windows that is over, as a
    /// factor of a level, and how much of it a sample may be off.
    fn trial(memory: impl Fn(f64) -> f64, noise: f64, rng: &mut Pcg64) -> Grown {
        let level = 1e8 * rng.random_range(0.95..1.05);
        let samples: Vec<(u64, f64)> = (0..40)
            .map(|i| {
                let off = 1.0 + rng.random_range(-noise..=noise);
                (1_000 + i * 50, level * memory(i as f64 / 39.0) * off)
            })
            .collect();
        grown(&samples).unwrap()
    }

    /// Of 500 arms of so many trials, those that are called growing.
    fn called(trials: usize, memory: impl Fn(&mut Pcg64) -> Box<dyn Fn(f64) -> f64>) -> u32 {
        let mut rng = crate::generator(7);
        let arms = (0..500).map(|_| {
            let trials: Vec<Grown> = (0..trials)
                .map(|_| {
                    let pace = memory(&mut rng);
                    trial(pace, 0.01, &mut rng)
                })
                .collect();
            growth(&trials, 0.05).unwrap().significant
        });
        arms.filter(|significant| *significant).count() as u32
    }

    #[test]
    fn a_leak_is_called_in_two_trials_and_in_nine() {
        for trials in [2, 3, 9] {
            let leaks = called(trials, |rng| {
                let pace = rng.random_range(0.95..1.05);
                Box::new(move |at| 1.0 + pace * at)
            });
            assert!(leaks > 450, "{leaks} with {trials} trials");
        }
    }

    /// What a warm-up leaves, however much it is, and memory that wanders.
    #[test]
    fn what_levels_off_or_wanders_is_no_leak() {
        for trials in [2, 3, 9] {
            let warming = called(trials, |_| {
                Box::new(|at: f64| 1.5 - 0.5 * (-5.0 * at).exp())
            });
            let wandering = called(trials, |rng| {
                let drift = rng.random_range(-0.3..0.3);
                Box::new(move |at| 1.0 + drift * at)
            });
            for (what, count) in [("warming", warming), ("wandering", wandering)] {
                let p = crate::binomial_at_least(count, 500, 0.025);
                assert!(p > 0.01, "{what}: {count} with {trials} trials");
            }
        }
    }

    /// Requests of the warm-up, over those of the windows.
    const WARMED_UP: f64 = 1_000.0 / 1_950.0;

    /// Short windows after a long warm-up in which most of what leaks has leaked already.
    #[test]
    fn what_leaked_while_warming_up_hides_no_leak() {
        let samples = (0..10).map(|i| (2_300 + i * 50, 75e6 + i as f64 * 50.0 * 20_480.0));
        let trial = grown(&samples.collect::<Vec<_>>()).unwrap();
        assert!(trial.share > 0.3, "{trial:?}");
        assert!(growth(&[trial, trial], 0.05).unwrap().significant);
    }

    /// The claim is that growth exceeds what is material, and keeps its level where it is just that.
    #[test]
    fn growth_of_just_the_bound_is_called_as_often_as_promised() {
        for trials in [3, 9] {
            let count = called(trials, |rng| {
                // The lesser of two slopes, so a little less than this is judged.
                let pace = MATERIAL_GROWTH + rng.random_range(-0.05..0.05);
                Box::new(move |at| 1.0 + pace * (at + WARMED_UP))
            });
            let p = crate::binomial_at_least(count, 500, 0.025);
            assert!(p > 0.01, "{count} with {trials} trials");
        }
    }

    #[test]
    fn one_trial_or_one_moment_says_nothing() {
        let one = Grown {
            per_thousand: 1e6,
            share: 40.0,
        };
        assert_eq!(growth(&[one], 0.05), None);
        assert_eq!(grown(&[(5, 1.0); 9]), None);
        assert_eq!(grown(&[]), None);
        let from_nothing: Vec<(u64, f64)> = (0..20).map(|i| (i, 0.0)).collect();
        assert_eq!(grown(&from_nothing), None);
    }

    #[test]
    fn too_few_samples_say_nothing() {
        assert_eq!(growth_per_thousand(&[(0, 1.0), (1, 2.0)]), None);
        assert_eq!(growth_per_thousand(&[(5, 1.0); 9]), None);
    }
}
