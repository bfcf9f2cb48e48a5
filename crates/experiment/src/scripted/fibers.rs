//! `tune` of a server with fibers: trials alone say what another number of processes would answer.

use super::{Script, conducted, measured, scratch, tuned, typed};
use crate::error::Stopped;
use crate::request::Experiment;
use run::{Answer, Document, Stage};
use std::collections::BTreeSet;

/// Two processes keep both cores busy, and more do not answer more.
fn script() -> Script {
    Script {
        fibers: true,
        ..Script::of(10.0, 0.1)
    }
}

fn falcon(workers: Option<&'static str>) -> Experiment {
    tuned(1, |request| {
        request.kind = typed("falcon");
        request.baseline = typed("workers=1");
        request.workers = workers.and_then(typed);
        request.budget = typed("10m");
    })
}

fn raced(document: &Document) -> BTreeSet<u16> {
    let trials = document.trials.iter().filter(|t| t.stage == Stage::Race);
    trials.map(|trial| trial.settings.workers).collect()
}

#[test]
fn numbers_of_processes_around_the_cores_are_measured_without_a_model() {
    let document = measured(&script(), &falcon(None));
    let verdict = document.verdict.as_ref().unwrap();
    assert_eq!(verdict.answer, Answer::Change, "{}", verdict.sentence);
    assert_eq!(verdict.settings.workers, 2);
    assert_eq!(raced(&document), BTreeSet::from([1, 2, 4]));
    assert!(document.model.is_none() && document.profile.is_none());
    assert_eq!(document.plan.connections, 4 * 32);
}

#[test]
fn the_numbers_that_were_asked_for_are_measured() {
    let document = measured(&script(), &falcon(Some("1,2,3")));
    assert_eq!(raced(&document), BTreeSet::from([1, 2, 3]));
}

#[test]
fn with_no_other_number_there_is_nothing_to_measure() {
    let runs = scratch();
    let (_, result) = conducted(&script(), &falcon(Some("1")), runs.path());
    let Err(Stopped::Configuration(why)) = result else {
        panic!("{result:?}");
    };
    assert!(why.contains("no other configuration"), "{why}");
}

#[test]
fn one_candidate_alone_is_said_to_be_no_prediction() {
    let quick = tuned(1, |request| {
        request.kind = typed("falcon");
        request.baseline = typed("workers=2");
        request.quick = typed("true");
    });
    let slow = Script {
        around_trial_s: 6.0,
        ..script()
    };
    let document = measured(&slow, &quick);
    let warnings = document.warnings.join("\n");
    assert!(
        warnings.contains("4 workers × 1 thread is the only candidate"),
        "{warnings}"
    );
    assert!(
        warnings.contains("server of fibers): others may be better"),
        "{warnings}"
    );
}

/// Another server without a profile was not measured by the agent as it should be.
#[test]
fn a_server_with_threads_is_not_searched_without_a_profile() {
    let runs = scratch();
    let puma = tuned(1, |request| {
        request.baseline = typed("threads=1,workers=0");
        request.budget = typed("10m");
    });
    let (_, result) = conducted(&script(), &puma, runs.path());
    assert!(matches!(result, Err(Stopped::NoAnswer(_))), "{result:?}");
}
