//! How long the windows of a trial have to be, by what the pilot showed. Pure.

use super::LEAST_WINDOW_S;
use stats::{DEFAULT_SD, Noise, Scatter};

/// What the pilot showed of the trials to come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Length of its windows, seconds.
    pub window_s: f64,
    /// Logarithm of the ratio of the capacities of two equal trials, where there were two.
    pub log_ratio: Option<f64>,
    /// The scatter of a trial in windows of one second by earlier runs; of none where there were none.
    pub earlier: Scatter,
    /// Capacity of the baseline, requests per second.
    pub capacity_per_s: f64,
    /// The common rate, requests per second.
    pub rate_per_s: f64,
}

/// Windows that are long enough, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Windows {
    /// For throughput: noise, the number of answers and the time to settle allow no shorter ones.
    pub short_s: f64,
    /// For the latency objective, too; more arms or blocks are preferred over longer ones.
    pub good_s: f64,
}

/// The windows in which two equal trials differ by [`DEFAULT_SD`] where nothing is known. Windows are long enough where they differ by
/// no more.
const USUAL_WINDOW_S: f64 = 5.0;
/// Longest window that noise or few requests ask for: beyond it, more blocks say more.
const LONGEST_S: f64 = 10.0;
/// Blocks of the shortest confirmation.
const BLOCKS: f64 = 6.0;
/// Violations that a window should allow, or their number says little: 500 requests at p99.
const ALLOWED_VIOLATIONS: f64 = 5.0;
/// Utilisation at the common rate, as a share of the baseline's capacity.
const UTILISATION: f64 = super::OBJECTIVE_LOAD;
/// Times that a queue takes to settle, in a window.
const SETTLED: f64 = 5.0;

impl Windows {
    /// Before anything was measured.
    pub const ASSUMED: Windows = Windows {
        short_s: USUAL_WINDOW_S,
        good_s: USUAL_WINDOW_S,
    };

    /// Before anything of this run was measured, by the scatter of a trial in windows of one second.
    pub fn by_earlier(earlier: Scatter) -> Windows {
        let window_s = within(by_noise_s(earlier));
        Windows {
            short_s: window_s,
            good_s: window_s,
        }
    }

    /// After the pilot. `margin` is that of equivalence, `allowed` the share of requests that may violate the latency objective.
    pub fn of(seen: &Seen, margin: f64, allowed: Option<f64>) -> Windows {
        // One pair of equal trials says little: the convention counts for as much as it does, or earlier runs for what they have.
        let convention = Noise {
            freedom: Some(1),
            ..Noise::assumed(DEFAULT_SD)
        };
        let in_pilot = |noise| Scatter::of(noise).in_one_second(seen.window_s);
        let before = match seen.earlier.freedom {
            0 => in_pilot(Some(convention)),
            _ => seen.earlier,
        };
        let noise_s = by_noise_s(match seen.log_ratio {
            Some(x) => before.and(in_pilot(Noise::of_equal_arms(&[x]))),
            None => seen.earlier,
        });
        let late_s = allowed.map_or(0.0, |share| ALLOWED_VIOLATIONS / share / seen.rate_per_s);
        let short_s = noise_s.max(least_s(seen.capacity_per_s, margin));
        Windows {
            short_s: within(short_s),
            good_s: within(short_s.max(late_s)),
        }
    }
}

/// The length at which two equal trials differ by [`DEFAULT_SD`], by the scatter of a trial in windows of one second.
fn by_noise_s(seen: Scatter) -> f64 {
    // The variance of a count goes with one over the window's length.
    let length_s = |noise: Noise| (noise.sd / DEFAULT_SD).powi(2);
    seen.noise_in(1.0).map_or(USUAL_WINDOW_S, length_s)
}

/// The shortest window without any noise, seconds: it has to hold the answers that the margin needs, and a queue has to settle in it.
pub fn least_s(capacity_per_s: f64, margin: f64) -> f64 {
    // A comparison sees nothing below 1/sqrt(answers).
    let counted_s = 1.0 / (margin * margin * BLOCKS * capacity_per_s);
    let settled_s = SETTLED / capacity_per_s / (1.0 - UTILISATION.sqrt()).powi(2);
    within(counted_s.max(settled_s))
}

fn within(wanted_s: f64) -> f64 {
    wanted_s.clamp(LEAST_WINDOW_S, LONGEST_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each reason for a longer window by itself.
    #[test]
    fn what_is_short_of_something_gets_longer_windows() {
        let quiet = Seen {
            window_s: 4.0,
            log_ratio: Some(0.0),
            earlier: Scatter::default(),
            capacity_per_s: 1000.0,
            rate_per_s: 700.0,
        };
        let windows = |seen: Seen, allowed| Windows::of(&seen, 0.03, allowed);
        let found = windows(quiet, None);
        assert!((found.short_s - 2.0).abs() < 1e-9 && found.good_s == found.short_s);
        let noisy = Seen {
            log_ratio: Some(0.06),
            ..quiet
        };
        assert!((windows(noisy, None).short_s - 6.5).abs() < 1e-9);
        let wild = Seen {
            log_ratio: Some(0.5),
            ..quiet
        };
        assert_eq!(windows(wild, None).short_s, LONGEST_S);
        let unknown = Seen {
            log_ratio: None,
            ..quiet
        };
        assert_eq!(windows(unknown, None), Windows::ASSUMED);
        // 185 answers of each arm in each of six blocks are 1/0.03 squared.
        let slow = Seen {
            capacity_per_s: 40.0,
            rate_per_s: 28.0,
            ..quiet
        };
        assert!(
            (windows(slow, None).short_s - 4.68).abs() < 0.02,
            "{:?}",
            windows(slow, None)
        );
        // 500 requests at p99.
        let late = windows(
            Seen {
                rate_per_s: 100.0,
                ..quiet
            },
            Some(0.01),
        );
        assert!(
            (late.short_s - 2.0).abs() < 1e-9 && late.good_s == 5.0,
            "{late:?}"
        );
    }

    /// Ten pairs of an earlier run outweigh the one of the pilot; before it they alone count.
    #[test]
    fn earlier_runs_know_the_noise() {
        let earlier = |sd| {
            let noise = Noise {
                freedom: Some(10),
                ..Noise::assumed(sd)
            };
            Scatter::of(Some(noise)).in_one_second(5.0)
        };
        assert_eq!(Windows::by_earlier(Scatter::default()), Windows::ASSUMED);
        assert!((Windows::by_earlier(earlier(0.04)).short_s - 5.0).abs() < 1e-9);
        assert_eq!(Windows::by_earlier(earlier(0.01)).short_s, LEAST_WINDOW_S);
        let short_s = |sd| {
            let seen = Seen {
                window_s: 5.0,
                log_ratio: Some(0.05),
                earlier: earlier(sd),
                capacity_per_s: 1000.0,
                rate_per_s: 700.0,
            };
            Windows::of(&seen, 0.03, None).short_s
        };
        // 5 (10 x 0.05^2 + 0.05^2) / 11 / 0.04^2.
        assert!((short_s(0.05) - 7.8125).abs() < 1e-9, "{}", short_s(0.05));
        assert_eq!(short_s(0.01), LEAST_WINDOW_S);
    }
}
