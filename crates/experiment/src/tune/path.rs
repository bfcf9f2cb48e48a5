//! From the baseline to the winner, one variable at a time: measured where the trials are there, predicted and
//! marked so where they are not.

use super::foreseen;
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

/// Whether the budget has room for `extra` more arms in the confirmation.
pub fn affordable(procedure: &Procedure<'_>, extra: usize) -> bool {
    let plan = &procedure.store.document.plan;
    let (Some(budget_s), Some(overhead_s)) = (plan.budget_s, procedure.overhead_s()) else {
        return extra > 0 && plan.budget_s.is_none();
    };
    let trial_s = overhead_s + plan.timing.saturation_s + plan.timing.objective_s;
    let needed_s = f64::from(plan.blocks) * (2 + extra) as f64 * trial_s;
    let with_search = plan.objective.latency.is_some();
    extra > 0 && fits(budget_s, procedure.elapsed_s(), needed_s, with_search)
}

/// Whether what is needed leaves the searches at the end their time.
fn fits(budget_s: f64, elapsed_s: f64, needed_s: f64, with_search: bool) -> bool {
    let kept_s = if with_search {
        budget::kept_for_search(budget_s)
    } else {
        0.0
    };
    elapsed_s + needed_s <= budget_s - kept_s
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
        assert!(fits(1000.0, 500.0, 400.0, false));
        assert!(!fits(1000.0, 500.0, 400.0, true));
        assert!(fits(1000.0, 500.0, 300.0, true));
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
