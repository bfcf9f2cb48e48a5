//! How a time budget becomes arms, blocks and windows. Pure.

mod ageing;
mod confirmation;
mod windows;

pub use ageing::Ageing;
pub use confirmation::{Confirmation, proving_window_s};
use run::Timing;
use std::time::Duration;
pub use windows::{Seen, Windows, least_s as least_window_s};

/// The default budget of `tune`, seconds.
pub const DEFAULT_S: f64 = 1200.0;
/// The budget of `tune --quick`.
pub const QUICK: &str = "3m";

/// What a trial costs in addition to its windows, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overhead {
    /// Start, settling, stop and hooks.
    pub fixed_s: f64,
    /// Warm-up.
    pub warmup_s: f64,
    /// Requests after the windows.
    pub ageing: Ageing,
}

impl Overhead {
    /// Before anything was measured: a small Rails application.
    pub const ASSUMED: Overhead = Overhead {
        fixed_s: 4.0,
        warmup_s: 4.0,
        ageing: Ageing::NONE,
    };

    /// By earlier runs, whose trials took so many seconds in addition to their windows; as assumed where there were none.
    pub fn by_earlier(around_windows_s: Option<f64>) -> Overhead {
        around_windows_s.map_or(Overhead::ASSUMED, |seconds| {
            Overhead::measured(seconds, Ageing::NONE)
        })
    }

    /// As measured: `seconds` for start, warm-up and end together.
    pub fn measured(seconds: f64, ageing: Ageing) -> Overhead {
        Overhead {
            fixed_s: seconds,
            warmup_s: 0.0,
            ageing,
        }
    }

    /// Start, warm-up and end.
    pub fn seconds(&self) -> f64 {
        self.fixed_s + self.warmup_s
    }

    /// A whole trial with such windows.
    pub fn trial_s(&self, window_s: f64) -> f64 {
        self.seconds() + self.ageing.with_windows_s(window_s)
    }

    /// The longest windows of a trial that takes so long; below 0 where it cannot.
    pub fn window_in(&self, trial_s: f64) -> f64 {
        self.ageing.window_in(trial_s - self.seconds())
    }

    /// What there is to say where trials of so many seconds with such windows are too short.
    fn too_short(&self, trials: f64, window_s: f64, budget_s: f64) -> TooShort {
        let given_s = USABLE * budget_s / trials - self.seconds();
        TooShort {
            least_s: (trials * self.trial_s(window_s) / USABLE).ceil(),
            trials,
            ageing_room_s: match given_s < 2.0 * window_s {
                true => 0.0,
                false => self.ageing.room_s(given_s, window_s),
            },
        }
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
    /// Arms of the confirmation in addition to the baseline.
    pub finalists: u32,
    /// Lengths of the parts of a trial.
    pub timing: Timing,
}

/// Share of the baseline's saturated throughput at which latency is measured, unless a rate was given.
pub const OBJECTIVE_LOAD: f64 = 0.7;

/// Trials of the pilot: the baseline against itself.
pub const PILOT_TRIALS: u32 = 2;

/// Shortest window that still holds enough requests of an ordinary application, seconds.
const LEAST_WINDOW_S: f64 = 2.0;
/// Longest window; beyond it, more blocks say more.
pub const MOST_WINDOW_S: f64 = 30.0;
/// Window of `compare`, `sweep` and `check` where neither `--budget` nor a length is given, seconds.
pub const COMPARE_WINDOW_S: f64 = 5.0;

/// Budgets that are advised are whole minutes.
const MINUTE_S: f64 = 60.0;

/// Share of a budget that is planned with: trials vary in length, and a run that was promised for its budget
/// should not outlast it.
const USABLE: f64 = 0.95;

/// Most arms that a race takes.
pub const MOST_ARMS: usize = 8;

/// Arms that hold, in addition to the baseline, the model's best, T*, one with fewer threads, and the two between the best
/// and about twice its threads.
const COVERING_ARMS: usize = 6;
/// With so few arms any window is long enough.
pub const FEW_ARMS: usize = 3;

/// So many arms, the baseline included, need no race: the one candidate goes into the deciding comparison at once.
const WITHOUT_RACE: usize = 2;

/// Arms, race blocks, confirming blocks, finalists.
type Counts = (usize, u32, u32, u32);

/// Shapes from the richest to the poorest. None has more of anything than the one before it, so that more time never gives less.
const SHAPES: [Counts; 12] = [
    (MOST_ARMS, 3, 9, 2),
    (MOST_ARMS, 3, 8, 2),
    (MOST_ARMS, 3, 7, 2),
    (MOST_ARMS, 3, 6, 2),
    (MOST_ARMS, 2, 6, 2),
    (7, 2, 6, 2),
    (COVERING_ARMS, 2, 6, 2),
    (COVERING_ARMS, 2, 6, 1),
    (5, 2, 6, 1),
    (4, 2, 6, 1),
    (FEW_ARMS, 2, 6, 1),
    (WITHOUT_RACE, 0, 6, 1),
];

/// A budget in which six confirming blocks do not fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TooShort {
    /// The least that would do, seconds.
    pub least_s: f64,
    /// The fewest trials that would do.
    pub trials: f64,
    /// Seconds of load that there is room for in a trial: fewer requests to age a server with would do.
    pub ageing_room_s: f64,
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

impl Wishes {
    /// No more arms than allowed, and as many confirming blocks as were asked for.
    fn asked(&self, (arms, race, confirm, finalists): Counts) -> Counts {
        let arms = arms.min(self.most_arms.unwrap_or(usize::MAX));
        // Of two arms one is the baseline.
        let finalists = finalists.min((arms as u32).saturating_sub(1)).max(1);
        let race = if arms <= WITHOUT_RACE { 0 } else { race };
        (arms, race, self.blocks.unwrap_or(confirm), finalists)
    }

    /// The shape of the fewest trials that decide.
    fn poorest(&self) -> Counts {
        self.asked(SHAPES[SHAPES.len() - 1])
    }

    /// Trials of a shape, with those of the pilot that are still to come.
    fn trials(&self, (arms, race, confirm, finalists): Counts) -> f64 {
        f64::from(self.pilot_trials + race * arms as u32 + confirm * (1 + finalists))
    }
}

/// Seconds of a budget that are left to trials, the searches at the end taken off where there are any.
pub fn left_for_trials(budget_s: f64, spent_s: f64, with_search: bool) -> f64 {
    USABLE * (budget_s - kept_for_search(budget_s, with_search) - spent_s)
}

/// What is left of a budget, in words: "only 12 s of the budget were left".
pub fn left(left_s: f64) -> String {
    match left_s.max(0.0).round() {
        0.0 => "the budget was used up".to_owned(),
        left_s => format!("only {left_s:.0} s of the budget were left"),
    }
}

/// Fits `tune` into `budget_s`: the richest shape whose windows are long enough.
pub fn fit(
    budget_s: f64,
    overhead: Overhead,
    windows: Windows,
    wishes: Wishes,
) -> Result<Shape, TooShort> {
    let window_in = |shape| overhead.window_in(USABLE * budget_s / wishes.trials(shape));
    let needed_s = |arms: usize| {
        wishes.window_s.unwrap_or(if arms <= FEW_ARMS {
            LEAST_WINDOW_S
        } else if arms <= COVERING_ARMS {
            windows.short_s
        } else {
            windows.good_s
        })
    };
    let fits = |shape: &Counts| window_in(wishes.asked(*shape)) >= needed_s(shape.0);
    let found = SHAPES.into_iter().find(fits);
    match found.map(|shape| wishes.asked(shape)) {
        Some(s) => {
            let window = wishes
                .window_s
                .unwrap_or_else(|| window_in(s).min(MOST_WINDOW_S));
            Ok(Shape {
                arms: s.0,
                race_blocks: s.1,
                blocks: s.2,
                finalists: s.3,
                timing: timing(window),
            })
        }
        None => {
            let poorest = wishes.poorest();
            Err(overhead.too_short(wishes.trials(poorest), needed_s(poorest.0), budget_s))
        }
    }
}

/// Share of a budget that is kept for the search of the highest rate, at the end.
const SEARCH_SHARE: f64 = 0.2;
/// Least and most that is kept, seconds: two searches of a few full windows each; more would narrow little.
const SEARCH_S: (f64, f64) = (100.0, 900.0);

/// Seconds of a budget that the searches at the end of `tune` take together, at most; 0 where there are none.
pub fn kept_for_search(budget_s: f64, with_search: bool) -> f64 {
    match with_search {
        true => (SEARCH_SHARE * budget_s).clamp(SEARCH_S.0, SEARCH_S.1),
        false => 0.0,
    }
}

/// Seconds that all of them together have a use for.
pub fn most_for_search() -> f64 {
    SEARCH_S.1
}

/// Fits `tune` and the search at its end into what is left of a budget. A race of several candidates comes before the search.
pub fn fit_with_search(
    budget_s: f64,
    spent_s: f64,
    with_search: bool,
    overhead: Overhead,
    windows: Windows,
    wishes: Wishes,
) -> Result<Shape, TooShort> {
    let left_s = budget_s - spent_s;
    let kept_s = kept_for_search(budget_s, with_search);
    let with_search = fit(left_s - kept_s, overhead, windows, wishes);
    let without = || fit(left_s, overhead, windows, wishes);
    match with_search {
        Ok(shape) if shape.race_blocks > 0 => Ok(shape),
        Ok(shape) => Ok(without()
            .ok()
            .filter(|shape| shape.race_blocks > 0)
            .unwrap_or(shape)),
        Err(_) => without(),
    }
}

/// Seconds that the trials of a shape leave of so much time; the search at the end takes its part of them.
pub fn spare_s(left_s: f64, shape: &Shape, overhead: Overhead, wishes: Wishes) -> f64 {
    let counts = (shape.arms, shape.race_blocks, shape.blocks, shape.finalists);
    USABLE * left_s - wishes.trials(counts) * overhead.trial_s(shape.timing.saturation_s)
}

/// The least budget, seconds, whose shape is like this; `None` where none that a person would give has one.
pub fn least_with(
    has: impl Fn(&Shape) -> bool,
    spent_s: f64,
    with_search: bool,
    overhead: Overhead,
    windows: Windows,
    wishes: Wishes,
) -> Option<f64> {
    let minutes = (1..=24 * 60).map(|minutes| f64::from(minutes) * MINUTE_S);
    let mut holding = minutes.filter(|budget_s| {
        let shape = fit_with_search(*budget_s, spent_s, with_search, overhead, windows, wishes);
        shape.is_ok_and(|shape| has(&shape))
    });
    holding.next()
}

/// The shortest budget, in seconds and of whole minutes, that has room for so much work: a share of each budget is never planned
/// with, and a part is kept for the search for the highest rate.
pub fn holding(work_s: f64, with_search: bool) -> f64 {
    let mut budget_s = MINUTE_S;
    while left_for_trials(budget_s, 0.0, with_search) < work_s {
        budget_s += MINUTE_S;
    }
    budget_s
}

/// Fits so many trials into `budget_s`: the window, at most `longest_s` where its length is not given, or the least budget that
/// would do.
pub fn fit_trials(
    budget_s: f64,
    overhead: Overhead,
    trials: u32,
    window_s: Option<f64>,
    longest_s: f64,
) -> Result<Timing, TooShort> {
    let trials = f64::from(trials.max(1));
    let least = window_s.unwrap_or(LEAST_WINDOW_S);
    let window = overhead.window_in(USABLE * budget_s / trials);
    if window < least {
        return Err(overhead.too_short(trials, least, budget_s));
    }
    Ok(timing(window_s.unwrap_or(window.min(longest_s))))
}

/// Seconds that each of so many trials has for an age that nobody asked for: its windows keep half of the length that they would have
/// without it, so that they answer fewer requests than such an age has. 0 where not even these windows fit.
pub fn unasked_ageing_s(
    budget_s: f64,
    overhead: Overhead,
    trials: u32,
    window_s: Option<f64>,
    longest_s: f64,
) -> f64 {
    let given_s = USABLE * budget_s / f64::from(trials.max(1)) - overhead.seconds();
    let half_s = (given_s / 2.0).min(longest_s) / 2.0;
    let window_s = window_s.unwrap_or(half_s.max(LEAST_WINDOW_S));
    match given_s < 2.0 * window_s {
        true => 0.0,
        false => overhead.ageing.room_s(given_s, window_s),
    }
}

/// Seconds that the ageing of one trial can have at most: with more, the fewest trials that decide would not fit into the budget.
pub fn most_ageing_s(budget_s: f64, wishes: Wishes) -> f64 {
    USABLE * budget_s / wishes.trials(wishes.poorest())
}

/// The parts of a trial around a window of this length.
pub fn timing(window_s: f64) -> Timing {
    Timing {
        warmup_max_s: (2.0 * window_s).clamp(4.0, 30.0),
        saturation_s: window_s,
        objective_s: window_s,
    }
}

/// What has to fit into a budget, and what could be left out of it.
pub fn blocks_asked(calibrate: Option<u32>) -> (String, String) {
    match calibrate {
        None => ("six blocks".to_owned(), String::new()),
        Some(wanted) => (
            format!("six blocks in addition to the {wanted} of --calibrate={wanted}"),
            match wanted {
                0..=6 => ", no --calibrate".to_owned(),
                _ => ", --calibrate=6 or none".to_owned(),
            },
        ),
    }
}

/// The budget for a message: as it was asked, with the place that it came from, else the default of `tune`.
pub fn named(asked: Option<&str>) -> String {
    asked.map_or_else(
        || format!("--budget = {:?} (the default)", written(DEFAULT_S)),
        str::to_owned,
    )
}

/// As the value of a flag, without spaces: `2m57s`.
pub fn written(budget_s: f64) -> String {
    let spaced = humantime::format_duration(Duration::from_secs_f64(budget_s.round())).to_string();
    spaced.replace(' ', "")
}

#[cfg(test)]
mod tests;
