//! Whether warm-up is over.
//!
//! Asked after each warm-up window. The rule: over the last three windows, in
//! latency, CPU per request and memory alike, the greatest and the least
//! differ by no more than the tolerance or three standard errors of their
//! difference, whichever is greater; and when the three rise or fall in one
//! direction, which chance does once in three, by no more than two thirds of
//! that. A slow leak passes, and must: it is reported as growth per thousand
//! requests instead (`growth_per_thousand`).

use serde::{Deserialize, Serialize};

/// A figure of one window with its standard error (0 where it is not known).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    pub value: f64,
    pub standard_error: f64,
}

impl Figure {
    /// A figure whose error is not known.
    pub fn exact(value: f64) -> Self {
        Self {
            value,
            standard_error: 0.0,
        }
    }
}

/// What one warm-up window showed, each in any unit that stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Window {
    pub latency: Figure,
    pub cpu_per_request: Figure,
    pub memory: Figure,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Flatness {
    /// Relative difference that still counts as flat.
    pub tolerance: f64,
    /// After so many windows without steadiness: never.
    pub most_windows: usize,
}

impl Default for Flatness {
    fn default() -> Self {
        Self {
            tolerance: 0.05,
            most_windows: 20,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steadiness {
    /// Flat from window `at` (counted from 0) on.
    Steady { at: usize },
    /// Run another window.
    NotYet,
    /// Give up: the trial does not count as steady.
    Never,
}

/// How many windows must be flat together.
const TOGETHER: usize = 3;

/// Judges the windows so far, oldest first.
pub fn flat(windows: &[Window], rule: &Flatness) -> Steadiness {
    let figures: [fn(&Window) -> Figure; 3] = [|w| w.latency, |w| w.cpu_per_request, |w| w.memory];
    if let Some(last) = windows.last_chunk::<TOGETHER>()
        && figures
            .iter()
            .all(|of| level(last.each_ref().map(of), rule.tolerance))
    {
        return Steadiness::Steady {
            at: windows.len() - TOGETHER,
        };
    }
    if windows.len() >= rule.most_windows {
        Steadiness::Never
    } else {
        Steadiness::NotYet
    }
}

fn level(figures: [Figure; TOGETHER], tolerance: f64) -> bool {
    let values = figures.map(|f| f.value);
    let spread = values.iter().copied().fold(f64::MIN, f64::max)
        - values.iter().copied().fold(f64::MAX, f64::min);
    let mean = values.iter().sum::<f64>() / TOGETHER as f64;
    let errors = figures.map(|f| f.standard_error.powi(2));
    let of_difference = (2.0 * errors.iter().sum::<f64>() / TOGETHER as f64).sqrt();
    let allowed = (tolerance * mean.abs()).max(3.0 * of_difference);
    let [a, b, c] = values;
    let one_way = (a < b && b < c) || (a > b && b > c);
    spread
        <= if one_way {
            allowed * 2.0 / 3.0
        } else {
            allowed
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(values: &[f64]) -> Vec<Window> {
        let window = |v: &f64| Window {
            latency: Figure::exact(*v),
            cpu_per_request: Figure::exact(3.0),
            memory: Figure::exact(1e8),
        };
        values.iter().map(window).collect()
    }

    fn judge(values: &[f64]) -> Steadiness {
        flat(&latencies(values), &Flatness::default())
    }

    #[test]
    fn warm_up_ends_where_three_windows_agree() {
        assert_eq!(judge(&[90.0, 30.0]), Steadiness::NotYet);
        assert_eq!(judge(&[90.0, 30.0, 20.0]), Steadiness::NotYet);
        let steady = judge(&[90.0, 30.0, 20.0, 20.4, 20.1]);
        assert_eq!(steady, Steadiness::Steady { at: 2 });
    }

    #[test]
    fn a_drift_in_one_direction_gets_less_room() {
        assert_eq!(judge(&[20.0, 20.9, 20.4]), Steadiness::Steady { at: 0 });
        assert_eq!(judge(&[20.0, 20.4, 20.9]), Steadiness::NotYet);
    }

    #[test]
    fn noise_within_its_standard_error_is_no_drift() {
        let mut windows = latencies(&[20.0, 23.0, 21.0]);
        assert_eq!(flat(&windows, &Flatness::default()), Steadiness::NotYet);
        for window in &mut windows {
            window.latency.standard_error = 1.0;
        }
        let steady = flat(&windows, &Flatness::default());
        assert_eq!(steady, Steadiness::Steady { at: 0 });
    }

    #[test]
    fn memory_counts_too_and_patience_ends() {
        let mut windows = latencies(&[20.0; 20]);
        for (i, window) in windows.iter_mut().enumerate() {
            window.memory.value *= 1.1_f64.powi(i as i32);
        }
        let rule = Flatness::default();
        assert_eq!(flat(&windows[..19], &rule), Steadiness::NotYet);
        assert_eq!(flat(&windows, &rule), Steadiness::Never);
    }
}
