//! How a time budget becomes arms, blocks and windows. Pure.

use run::Timing;

/// What a trial costs beside its windows, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overhead {
    /// Start, settling, stop and hooks.
    pub fixed_s: f64,
    /// Warm-up.
    pub warmup_s: f64,
}

impl Overhead {
    /// Before anything was measured: a small Rails application.
    pub const ASSUMED: Overhead = Overhead {
        fixed_s: 4.0,
        warmup_s: 4.0,
    };

    fn seconds(&self) -> f64 {
        self.fixed_s + self.warmup_s
    }
}

/// How `tune` spends its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Arms in the race, baseline included.
    pub arms: usize,
    /// Blocks of the race.
    pub race_blocks: u32,
    /// Blocks of the confirmation.
    pub blocks: u32,
    /// Lengths of the parts of a trial.
    pub timing: Timing,
}

/// Trials of the pilot: the baseline against itself.
pub const PILOT_TRIALS: u32 = 2;

/// Shortest window that still holds enough requests of an ordinary application, seconds.
const LEAST_WINDOW_S: f64 = 2.0;
/// Window that is long enough to prefer more arms or blocks over longer ones, seconds.
const GOOD_WINDOW_S: f64 = 5.0;
/// Longest window; beyond it, more blocks say more.
const MOST_WINDOW_S: f64 = 30.0;

/// Share of a budget that is planned with: trials vary in length, and a run that was promised for its budget
/// should not outlast it.
const USABLE: f64 = 0.95;

/// Most arms that a race takes.
pub const MOST_ARMS: usize = 8;

/// Shapes from the richest to the poorest: arms, race blocks, confirming blocks.
const SHAPES: [(usize, u32, u32); 7] = [
    (MOST_ARMS, 3, 9),
    (7, 3, 8),
    (6, 3, 7),
    (5, 3, 6),
    (4, 3, 6),
    (3, 2, 6),
    (2, 2, 6),
];

/// A budget in which six confirming blocks do not fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TooShort {
    /// The least that would do, seconds.
    pub least_s: f64,
}

/// What the user fixed, and which trials are still to come.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Wishes {
    /// Most arms in the race, baseline included.
    pub most_arms: Option<usize>,
    /// Blocks of the confirmation.
    pub blocks: Option<u32>,
    /// Length of a window, seconds.
    pub window_s: Option<f64>,
    /// Trials of the pilot that are still to come.
    pub pilot_trials: u32,
}

/// Seconds of a budget that are left to trials, the searches at the end taken off where there are any.
pub fn left_for_trials(budget_s: f64, spent_s: f64, with_search: bool) -> f64 {
    let kept_s = match with_search {
        true => kept_for_search(budget_s),
        false => 0.0,
    };
    USABLE * (budget_s - kept_s - spent_s)
}

/// Fits `tune` into `budget_s`.
pub fn fit(budget_s: f64, overhead: Overhead, wishes: Wishes) -> Result<Shape, TooShort> {
    let Wishes {
        most_arms,
        blocks,
        window_s,
        pilot_trials,
    } = wishes;
    let cap = most_arms.unwrap_or(usize::MAX);
    // More confirming blocks than asked for are never planned, nor fewer.
    let shape =
        |(arms, race, confirm): (usize, u32, u32)| (arms.min(cap), race, blocks.unwrap_or(confirm));
    let budget_s = budget_s * USABLE;
    let trials = |(arms, race, confirm): (usize, u32, u32)| {
        f64::from(pilot_trials + race * arms as u32 + confirm * 2)
    };
    let window_in = |s| (budget_s / trials(s) - overhead.seconds()) / 2.0;
    let wanted = window_s.unwrap_or(GOOD_WINDOW_S);
    let shapes = SHAPES.map(shape);
    let roomy = shapes.into_iter().find(|s| window_in(*s) >= wanted);
    let least_window = window_s.unwrap_or(LEAST_WINDOW_S);
    let chosen = roomy.or_else(|| {
        shapes
            .into_iter()
            .find(|s| s.0 <= cap.min(3) && window_in(*s) >= least_window)
    });
    match chosen {
        Some(s) => {
            let window = window_s.unwrap_or_else(|| window_in(s).min(MOST_WINDOW_S));
            Ok(Shape {
                arms: s.0,
                race_blocks: s.1,
                blocks: s.2,
                timing: timing(window),
            })
        }
        None => {
            let poorest = shapes[shapes.len() - 1];
            Err(TooShort {
                least_s: (trials(poorest) * (overhead.seconds() + 2.0 * least_window) / USABLE)
                    .ceil(),
            })
        }
    }
}

/// Share of a budget that is kept for the search of the highest rate, at the end.
const SEARCH_SHARE: f64 = 0.2;
/// Least and most that is kept, seconds: two searches of a few full windows each; more would narrow little.
const SEARCH_S: (f64, f64) = (100.0, 900.0);

/// Seconds of a budget that the searches at the end of `tune` take together, at most.
pub fn kept_for_search(budget_s: f64) -> f64 {
    (SEARCH_SHARE * budget_s).clamp(SEARCH_S.0, SEARCH_S.1)
}

/// Fits `tune` and the search at its end into what is left of a budget; without the search where only that fits.
pub fn fit_with_search(
    budget_s: f64,
    spent_s: f64,
    with_search: bool,
    overhead: Overhead,
    wishes: Wishes,
) -> Result<Shape, TooShort> {
    let left_s = budget_s - spent_s;
    let kept_s = kept_for_search(budget_s);
    let kept = with_search.then(|| fit(left_s - kept_s, overhead, wishes));
    kept.and_then(Result::ok)
        .map_or_else(|| fit(left_s, overhead, wishes), Ok)
}

/// Fits so many trials into `budget_s`: the window, or the least budget that would do.
pub fn fit_trials(
    budget_s: f64,
    overhead: Overhead,
    trials: u32,
    window_s: Option<f64>,
) -> Result<Timing, TooShort> {
    let trials = f64::from(trials.max(1));
    let least = window_s.unwrap_or(LEAST_WINDOW_S);
    let window = (USABLE * budget_s / trials - overhead.seconds()) / 2.0;
    if window < least {
        return Err(TooShort {
            least_s: (trials * (overhead.seconds() + 2.0 * least) / USABLE).ceil(),
        });
    }
    Ok(timing(window_s.unwrap_or(window.min(MOST_WINDOW_S))))
}

/// The parts of a trial around a window of this length.
pub fn timing(window_s: f64) -> Timing {
    Timing {
        warmup_max_s: (2.0 * window_s).clamp(4.0, 30.0),
        saturation_s: window_s,
        objective_s: window_s,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes(most_arms: Option<usize>, blocks: Option<u32>, window_s: Option<f64>) -> Wishes {
        Wishes {
            most_arms,
            blocks,
            window_s,
            pilot_trials: PILOT_TRIALS,
        }
    }

    #[test]
    fn eight_minutes_hold_three_arms_and_six_blocks() {
        let shape = fit(480.0, Overhead::ASSUMED, wishes(Some(3), None, None)).unwrap();
        assert!(
            shape.arms == 3 && (6..=9).contains(&shape.blocks),
            "{shape:?}"
        );
        assert!(shape.timing.saturation_s >= LEAST_WINDOW_S, "{shape:?}");
    }

    #[test]
    fn the_search_is_kept_room_for_where_there_is_some() {
        let wishes = wishes(Some(3), None, None);
        let fitted = |budget_s, with_search| {
            fit_with_search(budget_s, 0.0, with_search, Overhead::ASSUMED, wishes).unwrap()
        };
        let seconds = |shape: Shape| {
            let trials = PILOT_TRIALS + shape.race_blocks * shape.arms as u32 + shape.blocks * 2;
            f64::from(trials) * (Overhead::ASSUMED.seconds() + 2.0 * shape.timing.saturation_s)
        };
        assert!(seconds(fitted(450.0, true)) <= 350.0);
        assert!(seconds(fitted(450.0, false)) > 350.0);
        let tight = fit(1.0, Overhead::ASSUMED, wishes).unwrap_err().least_s;
        assert_eq!(fitted(tight, true), fitted(tight, false));
    }

    #[test]
    fn more_time_buys_arms_first_and_windows_after() {
        let hour = fit(3600.0, Overhead::ASSUMED, wishes(None, None, None)).unwrap();
        let day = fit(86_400.0, Overhead::ASSUMED, wishes(None, None, None)).unwrap();
        assert_eq!((hour.arms, hour.blocks), (8, 9));
        assert_eq!(day.timing.saturation_s, MOST_WINDOW_S);
    }

    #[test]
    fn a_budget_too_short_for_six_blocks_says_what_would_do() {
        let short = fit(60.0, Overhead::ASSUMED, wishes(Some(3), None, None)).unwrap_err();
        assert!(short.least_s > 60.0);
        assert!(
            fit(
                short.least_s,
                Overhead::ASSUMED,
                wishes(Some(3), None, None)
            )
            .is_ok(),
            "{short:?}"
        );
    }

    #[test]
    fn a_window_that_was_asked_for_is_kept() {
        let shape = fit(
            7200.0,
            Overhead::ASSUMED,
            wishes(Some(6), Some(6), Some(3.0)),
        )
        .unwrap();
        assert_eq!(
            (shape.arms, shape.blocks, shape.timing.objective_s),
            (6, 6, 3.0)
        );
        assert!(fit(60.0, Overhead::ASSUMED, wishes(None, None, Some(3.0))).is_err());
    }
}
