//! Runs that are broken off and go on come to what they would have come to.

use super::{Script, compared, conducted, measured, resumed, scratch, threads, tuned, typed};
use crate::error::{Failure, Stopped};
use crate::request::Experiment;
use run::{Document, State, Trial, TrialStatus};

/// What the trials that count have measured, by stage, block and arm.
fn evidence(document: &Document) -> Vec<(String, u32, String, Option<f64>)> {
    let counted = |trial: &&Trial| trial.status != TrialStatus::Abandoned;
    let of = |trial: &Trial| {
        let capacity = trial.capacity_per_s();
        (
            trial.stage.word().to_owned(),
            trial.block,
            trial.arm.clone(),
            capacity,
        )
    };
    let mut evidence: Vec<_> = document.trials.iter().filter(counted).map(of).collect();
    evidence.sort_by(|a, b| a.partial_cmp(b).unwrap());
    evidence
}

/// Breaks a run off after these numbers of trials, and takes it to its end.
fn broken_off(experiment: &Experiment, after: &[u32]) -> Document {
    let runs = scratch();
    let mut before = 0;
    for (sitting, trials) in after.iter().enumerate() {
        let script = Script {
            stopped_after: Some(*trials),
            ..Script::of(4.0, 12.0)
        };
        let (document, result) = match sitting {
            0 => conducted(&script, experiment, runs.path()),
            _ => resumed(&script, experiment, runs.path()),
        };
        assert!(matches!(result, Err(Stopped::Interrupted)), "{result:?}");
        assert_eq!(document.state, State::Interrupted);
        assert!(document.verdict.is_none());
        before = document.trials.len();
    }
    let (document, result) = resumed(&Script::of(4.0, 12.0), experiment, runs.path());
    assert!(result.is_ok(), "{result:?}");
    let resumed_at_s = document.resumed_at_s.unwrap();
    let earlier = |t: &&Trial| t.started_s < resumed_at_s;
    assert_eq!(document.trials.iter().filter(earlier).count(), before);
    let mut ids: Vec<&str> = document.trials.iter().map(|t| t.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), document.trials.len(), "two trials have one name");
    document
}

fn assert_same(whole: &Document, broken: &Document, when: &str) {
    assert_eq!(evidence(whole), evidence(broken), "{when}");
    assert_eq!(whole.comparisons, broken.comparisons, "{when}");
    assert_eq!(whole.verdict, broken.verdict, "{when}");
    assert_eq!(whole.calibration, broken.calibration, "{when}");
    assert_eq!(whole.arms.len(), broken.arms.len(), "{when}");
    let rate = |document: &Document| (document.plan.rate_from_per_s, document.plan.rate_per_s);
    assert_eq!(rate(whole), rate(broken), "{when}");
}

/// Breaks the run off after none of its trials, and after each further `step` of them.
fn assert_comes_to_the_same(experiment: &Experiment, step: usize) {
    let script = Script::of(4.0, 12.0);
    let whole = measured(&script, experiment);
    for trials in (0..script.trials()).step_by(step) {
        let broken = broken_off(experiment, &[trials]);
        assert_same(
            &whole,
            &broken,
            &format!("broken off after {trials} trials"),
        );
    }
}

#[test]
fn a_comparison_that_was_broken_off_after_any_trial_comes_to_the_same() {
    let experiment = compared(5, &[threads(1), threads(2), threads(3)], |_| ());
    assert_comes_to_the_same(&experiment, 1);
    let whole = measured(&Script::of(4.0, 12.0), &experiment);
    assert_same(&whole, &broken_off(&experiment, &[3, 4, 2]), "three times");
}

#[test]
fn a_calibration_that_was_broken_off_comes_to_the_same() {
    let experiment = compared(5, &[threads(2), threads(3)], |request| {
        request.calibrate = typed("6");
    });
    assert_comes_to_the_same(&experiment, 3);
}

#[test]
fn a_tune_that_was_broken_off_comes_to_the_same_candidates_and_the_same_answer() {
    // The number of blocks is given, so the time that a broken-off trial costs changes nothing.
    let experiment = tuned(5, |request| {
        request.budget = typed("3h");
        request.window = typed("4s");
        request.blocks = typed("6");
    });
    assert_comes_to_the_same(&experiment, 5);
}

#[test]
fn a_run_that_has_ended_is_not_measured_again() {
    let experiment = compared(5, &[threads(1), threads(3)], |_| ());
    let runs = scratch();
    let (whole, _) = conducted(&Script::of(4.0, 12.0), &experiment, runs.path());
    let again = crate::session::resume(&mut experiment.clone(), &runs.path().join("run")).unwrap();
    assert_eq!(again.document.trials.len(), whole.trials.len());
    assert_eq!(again.document.verdict, whole.verdict);
}

/// A run that goes on without the database of its first sitting: every server dies, until it is there again.
#[test]
fn blocks_in_which_everything_failed_are_measured_again() {
    let experiment = tuned(1, |_| ());
    let whole = measured(&Script::of(4.0, 12.0), &experiment);
    let runs = scratch();
    let pilot = crate::budget::PILOT_TRIALS;
    let interrupted = Script {
        stopped_after: Some(pilot),
        ..Script::of(4.0, 12.0)
    };
    let (_, result) = conducted(&interrupted, &experiment, runs.path());
    assert!(matches!(result, Err(Stopped::Interrupted)), "{result:?}");
    let without = Script {
        fails: |_, _| Some(Failure::Trial("no database".to_owned())),
        ..Script::of(4.0, 12.0)
    };
    let (document, result) = resumed(&without, &experiment, runs.path());
    let Err(Stopped::NoAnswer(why)) = result else {
        panic!("{result:?}");
    };
    assert!(why.contains("no database"), "{why}");
    let failed = |document: &Document, block: u32| {
        let trials = document.trials.iter();
        let failed = trials.filter(|t| t.status == TrialStatus::Failed && t.block == block);
        failed.count()
    };
    assert!(failed(&document, 1) > 1, "a block of several arms");
    assert_eq!(failed(&document, 2), 0, "one such block is enough");
    let (document, result) = resumed(&Script::of(4.0, 12.0), &experiment, runs.path());
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(failed(&document, 1), 0);
    // The windows are a little longer in the time that is left.
    let trials = |document: &Document| -> Vec<_> {
        let evidence = evidence(document).into_iter();
        evidence
            .map(|(stage, block, arm, _)| (stage, block, arm))
            .collect()
    };
    assert_eq!(trials(&whole), trials(&document));
}

#[test]
fn the_budget_of_a_run_is_raised_by_a_resume_and_not_shortened() {
    let of = |budget| {
        tuned(5, |request| {
            request.budget = typed(budget);
            request.blocks = typed("6");
        })
    };
    let runs = scratch();
    let script = Script {
        stopped_after: Some(3),
        ..Script::of(4.0, 12.0)
    };
    let (_, result) = conducted(&script, &of("1h"), runs.path());
    assert!(matches!(result, Err(Stopped::Interrupted)), "{result:?}");
    let resumed = |budget| {
        let store = crate::session::resume(&mut of(budget), &runs.path().join("run")).unwrap();
        store.document.plan.budget_s.unwrap()
    };
    assert_eq!(resumed("10m"), 3600.0);
    assert_eq!(resumed("2h"), 7200.0);
}
