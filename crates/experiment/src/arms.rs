//! `compare`, `sweep`, `check` and `advise --prove`: arms in blocks, each against the first.

use crate::asserted;
use crate::budget;
use crate::calibrate::calibrate;
use crate::compared::{conclude, conclude_alone, conclude_rehearsal, without_comparison};
use crate::error::Stopped;
use crate::judge::{self, Judging};
use crate::procedure::{Procedure, drop_hopeless, hopeless};
use crate::progress::Event;
use crate::prove;
use crate::request::{Arm, Experiment};
use crate::tune;
use run::{Outcome, Stage};
use stats::Look;

/// Measures the arms; the document of the procedure's store holds the table afterwards.
pub fn compare(procedure: &mut Procedure<'_>, arms: &[Arm]) -> Result<(), Stopped> {
    let blocks = procedure.store.document.plan.blocks;
    let calibrating = procedure.experiment.calibrating_trials();
    let planned = planned(procedure.experiment, arms, blocks);
    procedure.expect(1 + calibrating + planned);
    tune::pilot(procedure, &arms[0], 1)?;
    let most = arms.iter().map(|a| a.settings.concurrency()).max();
    procedure.offer(most.unwrap_or(1));
    if procedure.experiment.proof.is_some() {
        prove::settle_age(procedure, calibrating + planned);
    }
    refit(procedure, calibrating + planned)?;
    calibrate(procedure, &arms[0])?;
    if arms.len() == 1 {
        return conclude_alone(procedure, &arms[0]);
    }
    let plan = procedure.store.document.plan.clone();
    procedure.watcher.on(Event::Planned {
        document: &procedure.store.document,
        because: "the first configuration is known",
    });
    if procedure.experiment.rehearse {
        procedure.block(Stage::Compare, 1, 1, arms)?;
        return conclude_rehearsal(procedure, arms);
    }
    let later = planned - trials(arms, blocks);
    let mut live = arms.to_vec();
    let mut done = 0;
    for look in stats::looks(blocks, plan.alpha, procedure.store.document.seed).unwrap_or_default()
    {
        while done < look.blocks && live.len() > 1 {
            done += 1;
            procedure.block(Stage::Compare, done, blocks, &live)?;
            let trials = &procedure.store.document.trials;
            let why = |arm: &str| hopeless(trials, Stage::Compare, arm);
            if let Err(stopped) = drop_hopeless(procedure, &mut live, why) {
                return match stopped {
                    Stopped::NoAnswer(why) => without_comparison(procedure, arms, why),
                    other => Err(other),
                };
            }
            procedure.expect((blocks - done) * live.len() as u32 + later);
        }
        judge_open(procedure, arms, look);
        if is_decided(procedure) {
            break;
        }
    }
    match &procedure.experiment.proof {
        Some(proof) => prove::conclude(procedure, arms, proof),
        None => conclude(procedure, arms),
    }
}

/// Whether more blocks can change nothing that was asked.
fn is_decided(procedure: &Procedure<'_>) -> bool {
    let document = &procedure.store.document;
    match procedure.experiment.assertions.as_slice() {
        // A suggestion is also judged by memory and response time, which further blocks narrow.
        [] if procedure.experiment.proof.is_some() => false,
        [] => {
            let mut comparisons = document.comparisons.iter();
            comparisons.all(|c| c.outcome != Outcome::Undecided)
        }
        limits => !asserted::is_open(&asserted::asserted(document, limits)),
    }
}

/// Trials of the comparison itself: one arm alone is only calibrated.
pub fn trials(arms: &[Arm], blocks: u32) -> u32 {
    match arms.len() as u32 {
        0 | 1 => 0,
        arms => arms * blocks,
    }
}

/// All trials after the pilot and the calibration, at most.
pub fn planned(experiment: &Experiment, arms: &[Arm], blocks: u32) -> u32 {
    let together = experiment.proof.as_ref().filter(|_| !experiment.rehearse);
    trials(arms, blocks) + together.map_or(0, |_| prove::trials(arms, blocks))
}

/// Fits the windows into the budget again, now that a trial's cost is known.
fn refit(procedure: &mut Procedure<'_>, trials: u32) -> Result<(), Stopped> {
    let budget_s = procedure.store.document.plan.budget_s;
    let resumed = procedure.store.resuming();
    if let (Some(budget_s), Some(overhead), false) = (budget_s, procedure.overhead(), resumed) {
        let window_s = procedure.experiment.window.map(|w| w.as_secs_f64());
        let longest_s = procedure.experiment.longest_window_s();
        let left_s = budget_s - procedure.elapsed_s();
        let fitted = budget::fit_trials(left_s, overhead, trials, window_s, longest_s);
        let timing =
            fitted.map_err(|short| tune::too_short_after_pilot(procedure, overhead, short))?;
        procedure.store.document.plan.timing = timing;
    }
    tune::limit_ageing(procedure);
    Ok(())
}

/// Judges what no earlier look has decided: a decision stands, or looking again would be another chance to err.
fn judge_open(procedure: &mut Procedure<'_>, arms: &[Arm], look: Look) {
    let document = &mut procedure.store.document;
    let judging = Judging::at(document, look);
    let judge = |arm: &Arm| {
        let before = document
            .comparisons
            .iter()
            .find(|c| c.candidate == arm.name);
        if let Some(decided) = before.filter(|c| c.outcome != Outcome::Undecided) {
            return Some(decided.clone());
        }
        judge::compare(
            &document.trials,
            Stage::Compare,
            &arms[0].name,
            &arm.name,
            judging,
        )
    };
    let judged: Vec<_> = arms[1..].iter().filter_map(judge).collect();
    document.comparisons = judged;
}
