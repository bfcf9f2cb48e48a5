//! When requests are due: offsets from the start of the window in nanoseconds,
//! a pure function of rate and seed. The same seed gives every arm of a block
//! the same arrival times (common random numbers).

use std::iter::FusedIterator;

use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;

/// An open loop's schedule.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    /// Evenly spaced: the n-th request (from zero) at n / rate.
    Constant {
        /// Requests a second.
        rate: f64,
    },
    /// Exponential gaps: what independent users make.
    Poisson {
        /// Requests a second, on average.
        rate: f64,
        /// Of the gaps; the request sequence has its own seed.
        seed: u64,
    },
}

impl Arrivals {
    /// The mean rate, requests a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        match *self {
            Self::Constant { rate } | Self::Poisson { rate, .. } => rate,
        }
    }

    /// Offsets from the start in nanoseconds, never decreasing, without end.
    /// The rate must be finite and above zero.
    #[must_use]
    pub fn offsets_ns(&self) -> Offsets {
        Offsets(match *self {
            Self::Constant { rate } => Kind::Constant {
                gap_ns: 1e9 / rate,
                count: 0,
            },
            Self::Poisson { rate, seed } => Kind::Poisson {
                gap_ns: 1e9 / rate,
                at_ns: 0.0,
                random: Pcg64::seed_from_u64(seed),
            },
        })
    }
}

/// The iterator of [`Arrivals::offsets_ns`].
#[derive(Debug, Clone)]
pub struct Offsets(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Constant {
        gap_ns: f64,
        count: u64,
    },
    Poisson {
        gap_ns: f64,
        at_ns: f64,
        random: Pcg64,
    },
}

impl Iterator for Offsets {
    type Item = u64;

    // The casts saturate: past 2^64 ns (584 years) nothing is ever due.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn next(&mut self) -> Option<u64> {
        match &mut self.0 {
            // A product, not a running sum, so that rounding cannot drift.
            Kind::Constant { gap_ns, count } => {
                let at = *gap_ns * *count as f64;
                *count += 1;
                Some(at as u64)
            }
            Kind::Poisson {
                gap_ns,
                at_ns,
                random,
            } => {
                let gap: f64 = Exp1.sample(random);
                *at_ns += gap * *gap_ns;
                Some(*at_ns as u64)
            }
        }
    }
}

impl FusedIterator for Offsets {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pins generator and sampling: a run repeated with a newer Powerband must
    /// ask at the same instants, so an upgrade that changes them is refused.
    #[test]
    fn poisson_arrivals_never_change() {
        let first: Vec<u64> = Arrivals::Poisson {
            rate: 1000.0,
            seed: 42,
        }
        .offsets_ns()
        .take(5)
        .collect();
        assert_eq!(first, GOLDEN);
    }

    const GOLDEN: [u64; 5] = [1_173_671, 2_227_005, 4_634_322, 4_868_329, 7_563_832];

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let rate = 250.0;
        let count = 200_000;
        let at: Vec<u64> = Arrivals::Poisson { rate, seed: 1 }
            .offsets_ns()
            .take(count)
            .collect();
        let gaps: Vec<f64> = at.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e9).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance =
            gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / (gaps.len() - 1) as f64;
        // Five standard errors; an exponential's deviation is its mean.
        assert!((mean * rate - 1.0).abs() < 5.0 / (count as f64).sqrt());
        assert!((variance.sqrt() * rate - 1.0).abs() < 0.02);
    }

    #[test]
    fn constant_arrivals_do_not_drift() {
        let at = Arrivals::Constant { rate: 3.0 }
            .offsets_ns()
            .nth(3_000_000)
            .unwrap();
        assert!(at.abs_diff(1_000_000_000_000_000) <= 1);
    }

    proptest! {
        #[test]
        fn offsets_never_decrease_and_repeat(rate in 0.01f64..1e6, seed: u64) {
            let arrivals = Arrivals::Poisson { rate, seed };
            let first: Vec<u64> = arrivals.offsets_ns().take(300).collect();
            prop_assert!(first.is_sorted());
            prop_assert_eq!(&first, &arrivals.offsets_ns().take(300).collect::<Vec<_>>());
            let other = Arrivals::Poisson { rate, seed: seed ^ 1 };
            prop_assert_ne!(&first, &other.offsets_ns().take(300).collect::<Vec<_>>());
        }
    }
}
