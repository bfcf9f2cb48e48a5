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
        match *self {
            Self::Constant { rate } => Offsets::Constant {
                gap_ns: 1e9 / rate,
                count: 0,
            },
            Self::Poisson { rate, seed } => Offsets::Poisson {
                gap_ns: 1e9 / rate,
                at_ns: 0.0,
                random: Box::new(Pcg64::seed_from_u64(seed)),
            },
        }
    }
}

/// The iterator of [`Arrivals::offsets_ns`].
#[derive(Debug, Clone)]
pub enum Offsets {
    #[doc(hidden)]
    Constant { gap_ns: f64, count: u64 },
    #[doc(hidden)]
    Poisson {
        gap_ns: f64,
        at_ns: f64,
        random: Box<Pcg64>,
    },
}

impl Iterator for Offsets {
    type Item = u64;

    // The casts saturate: past 2^64 ns (584 years) nothing is ever due.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn next(&mut self) -> Option<u64> {
        match self {
            // A product, not a running sum, so that rounding cannot drift.
            Self::Constant { gap_ns, count } => {
                let at = *gap_ns * *count as f64;
                *count += 1;
                Some(at as u64)
            }
            Self::Poisson {
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
