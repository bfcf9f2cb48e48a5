//! From the baseline to the winner, one variable at a time: measured where the trials are there, predicted and
//! marked so where they are not.

use super::{contradiction, foreseen};
use crate::budget;
use crate::judge::{self, Judging};
use crate::procedure::Procedure;
use crate::request::Arm;
use run::{Document, Settings, Stage, Step};

/// The single changes that lead from one to the other: processes, then threads, then preloading.
pub fn between(from: Settings, to: Settings) -> Vec<(String, Settings, Settings)> {
    let mut steps = Vec::new();
    let mut at = from;
    let mut step = |knob: &str, next: Settings| {
        if next != at {
            steps.push((knob.to_owned(), at, next));
            at = next;
        }
        at
    };
    // Leaving a cluster takes preloading along: single mode has none.
    let preload = from.preload && to.workers > 0;
    let workers = step(
        "workers",
        Settings {
            workers: to.workers,
            threads: from.threads,
            preload,
        },
    );
    let threads = step(
        "threads",
        Settings {
            threads: to.threads,
            ..workers
        },
    );
    step(
        "preload",
        Settings {
            preload: to.preload,
            ..threads
        },
    );
    steps
}

/// Whether the budget has room for so many more trials.
pub fn has_room(procedure: &Procedure<'_>, trials: u32) -> bool {
    let Some(left_s) = left_s(procedure) else {
        return true;
    };
    let trial_s = procedure.planned_trial_s();
    trial_s.is_some_and(|trial_s| f64::from(trials) * trial_s <= left_s)
}

/// Seconds of the budget that are left to trials; `None` without a budget.
pub fn left_s(procedure: &Procedure<'_>) -> Option<f64> {
    let plan = &procedure.store.document.plan;
    let with_search = plan.objective.latency.is_some();
    Some(left(plan.budget_s?, procedure.elapsed_s(), with_search))
}

/// Without what the searches at the end are to have.
fn left(budget_s: f64, elapsed_s: f64, with_search: bool) -> f64 {
    budget_s - budget::kept_for_search(budget_s, with_search) - elapsed_s
}

/// The steps with what is known of each.
pub fn steps(document: &Document, steps: &[(String, Settings, Settings)]) -> Vec<Step> {
    steps
        .iter()
        .filter_map(|(knob, from, to)| step(document, knob, *from, *to))
        .collect()
}

fn step(document: &Document, knob: &str, from: Settings, to: Settings) -> Option<Step> {
    let (before, after) = (Arm::of(from).name, Arm::of(to).name);
    let measured = [Stage::Confirm, Stage::Race].into_iter().find_map(|stage| {
        let judging = Judging::reached(document, stage);
        judge::compare(&document.trials, stage, &before, &after, judging)
    });
    let (ratio, low, high, measured) = match measured {
        Some(c) => (c.ratio, c.low, c.high, true),
        None => (
            foreseen(document, to)?.capacity_per_s / foreseen(document, from)?.capacity_per_s,
            None,
            None,
            false,
        ),
    };
    Some(Step {
        knob: knob.to_owned(),
        from,
        to,
        values: None,
        ratio,
        low,
        high,
        measured,
        refuted: !measured && contradiction::refuted(document),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(workers: u16, threads: u16, preload: bool) -> Settings {
        Settings {
            workers,
            threads,
            preload,
        }
    }

    /// Of 1000 s the searches at the end keep 200.
    #[test]
    fn the_path_leaves_the_search_its_time() {
        assert_eq!(left(1000.0, 500.0, false), 500.0);
        assert_eq!(left(1000.0, 500.0, true), 300.0);
    }

    #[test]
    fn each_step_changes_one_knob_and_the_last_arrives() {
        let all = [
            settings(0, 3, false),
            settings(0, 5, false),
            settings(2, 3, true),
            settings(2, 5, false),
            settings(4, 1, true),
        ];
        for from in all {
            for to in all {
                let steps = between(from, to);
                let mut at = from;
                for (knob, before, after) in &steps {
                    assert_eq!(*before, at);
                    let threads = before.threads != after.threads;
                    let workers = before.workers != after.workers;
                    assert!(
                        usize::from(threads) + usize::from(workers) <= 1,
                        "{knob}: {before} to {after}"
                    );
                    at = *after;
                }
                assert_eq!(at, to);
                assert_eq!(steps.is_empty(), from == to);
            }
        }
    }
}
