//! The arms, blocks and windows of a new run, from what was asked, before anything is measured.

use crate::budget::{self, Overhead, Shape, Windows, Wishes};
use crate::config::Problem;
use crate::noise;
use crate::request::{Experiment, Goal};
use crate::{arms, command_runs, tune};
use run::Timing;

/// Blocks of `compare`, `sweep` and `check` by default: the fewest that can decide.
const COMPARE_BLOCKS: u32 = 6;
/// Window of a rehearsal, seconds.
const REHEARSAL_WINDOW_S: f64 = 0.5;

/// What a run is planned as.
#[derive(Debug)]
pub(super) struct Fitted {
    pub(super) shape: Shape,
    /// Seconds that it may take; `None` where it takes as long as its blocks.
    pub(super) budget_s: Option<f64>,
}

/// Fits a run into its budget.
pub(super) fn fitted(experiment: &Experiment) -> Result<Fitted, Problem> {
    let budget_s = experiment.budget.map(|b| b.as_secs_f64());
    match &experiment.goal {
        // What a run of a command takes is known after the first.
        Goal::Tune if experiment.workload_command.is_some() => Ok(Fitted {
            shape: command_runs::most(experiment),
            budget_s: Some(budget_s.unwrap_or(budget::DEFAULT_S)),
        }),
        Goal::Tune => of_tune(experiment, budget_s.unwrap_or(budget::DEFAULT_S)),
        Goal::Arms { arms, .. } => {
            // A command takes as long as it takes, a rehearsal as little as it can.
            let is_command = experiment.workload_command.is_some();
            let budget_s = budget_s.filter(|_| !is_command && !experiment.rehearse);
            let blocks = match (experiment.rehearse, is_command) {
                (true, _) => 1,
                (false, true) => experiment.blocks.unwrap_or(command_runs::BLOCKS),
                (false, false) => experiment.blocks.unwrap_or(COMPARE_BLOCKS),
            };
            // One pilot trial settles the common rate.
            let trials =
                1 + experiment.calibrating_trials() + arms::planned(experiment, arms, blocks);
            let shape = Shape {
                arms: arms.len(),
                race_blocks: 0,
                blocks,
                finalists: 0,
                timing: windows(experiment, budget_s, trials)?,
            };
            Ok(Fitted { shape, budget_s })
        }
    }
}

fn of_tune(experiment: &Experiment, budget_s: f64) -> Result<Fitted, Problem> {
    let wishes = before_pilot(experiment);
    let with_search = experiment.objective.latency.is_some();
    let known = experiment.known.as_ref();
    let by_earlier = (
        Overhead::by_earlier(known.and_then(|known| known.around_windows_s)),
        Windows::by_earlier(noise::of_earlier(known)),
    );
    let fit_with = |budget_s, (overhead, windows)| {
        budget::fit_with_search(budget_s, 0.0, with_search, overhead, windows, wishes)
    };
    // Earlier runs refuse no budget: the pilot of this one shows what its trials take.
    if let Ok(shape) = fit_with(budget_s, by_earlier) {
        return Ok(Fitted {
            shape,
            budget_s: Some(budget_s),
        });
    }
    let fit = |budget_s| fit_with(budget_s, (Overhead::ASSUMED, Windows::ASSUMED));
    let (shape, budget_s) = match fit(budget_s) {
        Err(short) if experiment.quick => (fit(short.least_s), short.least_s),
        fitted => (fitted, budget_s),
    };
    Ok(Fitted {
        shape: shape.map_err(|short| too_short(experiment, short))?,
        budget_s: Some(budget_s),
    })
}

/// The parts of a trial of a comparison.
fn windows(experiment: &Experiment, budget_s: Option<f64>, trials: u32) -> Result<Timing, Problem> {
    let window_s = experiment.window.map(|w| w.as_secs_f64());
    match budget_s {
        _ if experiment.workload_command.is_some() => Ok(command_runs::NO_WINDOWS),
        Some(budget_s) => {
            let longest_s = experiment.longest_window_s();
            budget::fit_trials(budget_s, Overhead::ASSUMED, trials, window_s, longest_s)
                .map_err(|short| too_short(experiment, short))
        }
        None if experiment.rehearse => Ok(budget::timing(window_s.unwrap_or(REHEARSAL_WINDOW_S))),
        None => Ok(budget::timing(window_s.unwrap_or(budget::COMPARE_WINDOW_S))),
    }
}

/// What the user fixed of the trials of `tune`, with the pilot still to come.
pub(super) fn before_pilot(experiment: &Experiment) -> Wishes {
    let wishes = tune::wishes(experiment);
    Wishes {
        pilot_trials: budget::PILOT_TRIALS + wishes.pilot_trials,
        ..wishes
    }
}

fn too_short(experiment: &Experiment, short: budget::TooShort) -> Problem {
    let (blocks, fewer) = budget::blocks_asked(experiment.calibrate);
    Problem::with(
        format!(
            "{}: too short for {blocks}, and fewer can never show a difference at the 5 % level",
            budget::named(experiment.budget_asked.as_deref()),
        ),
        format!(
            "give --budget {} or more, fewer configurations{fewer}, or a shorter --window",
            budget::written(short.least_s)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Asked, Request, parse_duration};
    use crate::scripted::{compared, threads, tuned, typed};
    use crate::session::resolve_new;

    const SHORT: budget::TooShort = budget::TooShort {
        least_s: 177.0,
        trials: 12.0,
        ageing_room_s: 0.0,
    };

    fn asked(budget: Option<Asked>, calibrate: Option<u32>) -> Experiment {
        let experiment = tuned(5, |request| request.budget = budget);
        Experiment {
            calibrate,
            ..experiment
        }
    }

    #[test]
    fn a_budget_that_is_too_short_names_one_that_can_be_typed() {
        let said = |calibrate| too_short(&asked(typed("1m"), calibrate), SHORT).to_string();
        assert!(
            said(None).contains("give --budget 2m57s or more"),
            "{}",
            said(None)
        );
        let read = parse_duration(&Asked::new("2m57s", "--budget")).unwrap();
        assert_eq!(read.as_secs_f64(), SHORT.least_s);
        assert!(said(Some(10)).contains("--calibrate=10"));
        assert!(!said(None).contains("--calibrate"));
    }

    #[test]
    fn a_budget_that_is_too_short_names_the_place_that_it_came_from() {
        let said = |budget| too_short(&asked(budget, None), SHORT).to_string();
        let of_file = said(Some(Asked::new("3m", "tune.budget in powerband.toml")));
        assert!(
            of_file.starts_with("tune.budget in powerband.toml = \"3m\": too short"),
            "{of_file}"
        );
        let of_none = said(None);
        assert!(
            of_none.starts_with("--budget = \"20m\" (the default): too short"),
            "{of_none}"
        );
    }

    #[test]
    fn a_budget_that_is_too_short_is_named_with_the_other_problems() {
        let request = || Request {
            base_dir: env!("CARGO_MANIFEST_DIR").into(),
            budget: typed("30s"),
            blocks: typed("3"),
            ..Request::default()
        };
        let problems = resolve_new(request(), Goal::Tune, 1).unwrap_err();
        let named = |words: &str| problems.iter().any(|p| p.what.contains(words));
        assert!(
            named("\"3\"") && named("too short for six blocks"),
            "{problems:?}"
        );
        // A run that goes on keeps its own.
        let resumed = Request {
            blocks: None,
            ..request()
        };
        assert!(config::resolve(resumed, Goal::Tune, 1).is_ok());
    }

    /// A file's budget is meant for `tune`: for a comparison it is a limit.
    #[test]
    fn a_budget_of_the_file_lengthens_no_windows_of_a_comparison() {
        let window_s = |budget: Option<Asked>| {
            let arms = [threads(1), threads(2)];
            let experiment = compared(1, &arms, |request| request.budget = budget);
            fitted(&experiment).unwrap().shape.timing.saturation_s
        };
        let of_file = |text| Some(Asked::new(text, "tune.budget in powerband.toml"));
        let flag = |text| Some(Asked::new(text, "--budget"));
        assert_eq!(window_s(of_file("20m")), window_s(None));
        assert!(window_s(flag("20m")) > window_s(None));
        assert!(window_s(of_file("3m")) < window_s(None));
        assert_eq!(window_s(of_file("3m")), window_s(flag("3m")));
    }
}
