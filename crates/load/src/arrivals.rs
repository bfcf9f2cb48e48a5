//! When requests are due: offsets from the start of the window in nanoseconds,
//! a pure function of the schedule and its seed. The same seed gives every arm
//! of a block the same arrival times (common random numbers).
//!
//! Arrivals at a rate of one (1, 2, 3, … or sums of exponential gaps) are
//! mapped through the inverse of the profile's integral, so that one piece of
//! code serves every profile with either spacing.

mod profile;
mod profile_text;
mod recorded;

#[cfg(test)]
mod tests;

use std::iter::FusedIterator;
use std::sync::Arc;

use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;

pub use profile::{Part, Profile};
pub use profile_text::ProfileProblem;

/// The highest rate that a schedule may ask for, requests a second.
pub(crate) const HIGHEST_RATE: f64 = 1e7;
const LOWEST_RATE: f64 = 1e-6;

/// An open loop's schedule.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    /// A rate over time.
    Profile {
        /// The rate.
        profile: Profile,
        /// How arrivals lie at that rate.
        spacing: Spacing,
    },
    /// The instants of a recording, each divided by the speed. It lasts a mean
    /// gap beyond its last instant, so that it has its own rate: n arrivals in
    /// n gaps. One with a single instant lasts a second.
    Recorded {
        /// From the start of the recording in nanoseconds; never decreasing.
        offsets: Arc<[u64]>,
        /// 2 replays it in half the time.
        speed: f64,
    },
}

/// How arrivals lie at a given rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Evenly: at a constant rate the n-th request (from zero) at n / rate.
    Even,
    /// With exponential gaps, as independent users make them.
    Poisson {
        /// Of the gaps; the request sequence has its own seed.
        seed: u64,
    },
}

impl Arrivals {
    /// Evenly spaced at one rate.
    #[must_use]
    pub fn constant(rate: f64) -> Self {
        Self::even(Profile::constant(rate))
    }

    /// Poisson arrivals at one rate.
    #[must_use]
    pub fn poisson(rate: f64, seed: u64) -> Self {
        Self::random(Profile::constant(rate), seed)
    }

    /// Evenly spaced at the profile's rate.
    #[must_use]
    pub fn even(profile: Profile) -> Self {
        let spacing = Spacing::Even;
        Self::Profile { profile, spacing }
    }

    /// Poisson arrivals at the profile's rate.
    #[must_use]
    pub fn random(profile: Profile, seed: u64) -> Self {
        let spacing = Spacing::Poisson { seed };
        Self::Profile { profile, spacing }
    }

    /// The mean rate, requests a second: over the profile's parts, or over the
    /// recording.
    #[must_use]
    pub fn rate(&self) -> f64 {
        match self {
            Self::Profile { profile, .. } => profile.mean_rate(),
            Self::Recorded { offsets, speed } => recorded::mean_rate(offsets, *speed),
        }
    }

    /// The rate at its highest; of a recording, the most arrivals within a
    /// second.
    #[must_use]
    pub fn highest_rate(&self) -> f64 {
        match self {
            Self::Profile { profile, .. } => profile.highest_rate(),
            Self::Recorded { offsets, speed } => recorded::highest_rate(offsets, *speed),
        }
    }

    /// The rate at an offset from the start; of a recording, the arrivals of
    /// the second that begins there.
    #[must_use]
    pub fn rate_at(&self, offset_ns: u64) -> f64 {
        match self {
            Self::Profile { profile, .. } => profile.rate_at(offset_ns),
            Self::Recorded { .. } => {
                self.mean_rate_between(offset_ns, offset_ns.saturating_add(1_000_000_000))
            }
        }
    }

    /// What the schedule asks for between two offsets from the start, requests
    /// a second: the profile's own figure, not what chance makes of it.
    #[must_use]
    pub fn mean_rate_between(&self, from_ns: u64, to_ns: u64) -> f64 {
        match self {
            Self::Profile { profile, .. } => profile.mean_rate_between(from_ns, to_ns),
            Self::Recorded { offsets, speed } => {
                recorded::mean_rate_between(offsets, *speed, from_ns, to_ns)
            }
        }
    }

    /// When the schedule is over, if it ever is: a recording, or a profile
    /// whose last rate is zero.
    #[must_use]
    pub fn ends_after_ns(&self) -> Option<u64> {
        match self {
            Self::Profile { profile, .. } => profile
                .ends_after()
                .map(|end| u64::try_from(end.as_nanos()).unwrap_or(u64::MAX)),
            Self::Recorded { offsets, speed } => Some(recorded::length_ns(offsets, *speed)),
        }
    }

    /// Offsets from the start in nanoseconds, never decreasing.
    #[must_use]
    pub fn offsets_ns(&self) -> Offsets {
        Offsets(match self {
            Self::Profile { profile, spacing } => Kind::Profile {
                profile: profile.clone(),
                clock: match *spacing {
                    Spacing::Even => Clock::Even { count: 0 },
                    Spacing::Poisson { seed } => Clock::Poisson {
                        sum: 0.0,
                        random: Pcg64::seed_from_u64(seed),
                    },
                },
                last_ns: 0,
            },
            Self::Recorded { offsets, speed } => Kind::Recorded {
                offsets: offsets.clone(),
                next: 0,
                speed: *speed,
            },
        })
    }

    /// What is wrong with it: which figure, and what to give instead.
    pub(crate) fn problem(&self) -> Option<(&'static str, String, &'static str)> {
        let rate = |rate: f64| {
            let remedy = "give requests a second, above 0 and at most 10 million";
            Some(("rate", rate.to_string(), remedy))
        };
        match self {
            Self::Profile { profile, .. } => {
                if let Some(wrong) = profile.impossible_rate() {
                    return rate(wrong);
                }
                if profile.mean_rate_between(0, u64::MAX) == 0.0 && profile.ends_after().is_none() {
                    return rate(0.0);
                }
            }
            Self::Recorded { offsets, speed } => {
                if !(1e-3..=1e6).contains(speed) {
                    let remedy = "give a factor from 0.001 to a million";
                    return Some(("speed", speed.to_string(), remedy));
                }
                if offsets.is_empty() {
                    let remedy = "nothing was recorded; replay a recording with requests";
                    return Some(("recording", "0 arrivals".into(), remedy));
                }
                if let Some(at) = offsets.windows(2).position(|two| two[0] > two[1]) {
                    let remedy = "it lies before the one ahead of it; sort them by time";
                    return Some(("recording", format!("arrival {}", at + 2), remedy));
                }
                return None;
            }
        }
        let highest = self.highest_rate();
        if (LOWEST_RATE..=HIGHEST_RATE).contains(&highest) {
            None
        } else {
            rate(highest)
        }
    }
}

/// The iterator of [`Arrivals::offsets_ns`].
#[derive(Debug, Clone)]
pub struct Offsets(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Profile {
        profile: Profile,
        clock: Clock,
        /// Two arrivals whose instants differ by less than rounding must not
        /// change places.
        last_ns: u64,
    },
    Recorded {
        offsets: Arc<[u64]>,
        next: usize,
        speed: f64,
    },
}

/// Arrivals at a rate of one.
#[derive(Debug, Clone)]
enum Clock {
    Even { count: u64 },
    Poisson { sum: f64, random: Pcg64 },
}

impl Clock {
    fn next(&mut self) -> f64 {
        match self {
            // Whole numbers: nothing is ever rounded away.
            Self::Even { count } => {
                let at = *count as f64;
                *count += 1;
                at
            }
            Self::Poisson { sum, random } => {
                let gap: f64 = Exp1.sample(random);
                *sum += gap;
                *sum
            }
        }
    }
}

impl Iterator for Offsets {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match &mut self.0 {
            Kind::Profile {
                profile,
                clock,
                last_ns,
            } => {
                let at = profile.offset_ns(clock.next())?;
                *last_ns = at.max(*last_ns);
                Some(*last_ns)
            }
            Kind::Recorded {
                offsets,
                next,
                speed,
            } => {
                let at = *offsets.get(*next)?;
                *next += 1;
                Some(recorded::scaled(at, *speed))
            }
        }
    }
}

impl FusedIterator for Offsets {}
