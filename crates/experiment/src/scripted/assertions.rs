//! Limits on the change between two configurations, of which the truth is known.

use super::{Script, compared, measured, threads, typed};
use crate::asserted::is_open;
use crate::error::Failure;
use crate::judge::blocks;
use crate::request::{Experiment, RatioLimit};
use run::load::AssertionOutcome;
use run::{Document, Metric, Stage};

/// As many threads give as much here, and differ by noise alone.
fn alike() -> Script {
    Script {
        alike: true,
        noise: 0.02,
        ..Script::of(4.0, 12.0)
    }
}

fn asserting(seed: u64, blocks: &str, limits: &[(Metric, f64)]) -> Experiment {
    let limit = |(metric, change): &(Metric, f64)| RatioLimit {
        text: format!("{} {change:+}", metric.words()),
        metric: *metric,
        change: *change,
    };
    Experiment {
        assertions: limits.iter().map(limit).collect(),
        ..compared(seed, &[threads(2), threads(3)], |request| {
            request.blocks = typed(blocks);
        })
    }
}

fn exit_code(document: &Document) -> u8 {
    document.verdict.as_ref().unwrap().exit_code
}

#[test]
fn the_verdict_is_that_of_the_assertions() {
    let wide = (Metric::Capacity, -0.5);
    let reached = |limits: &[(Metric, f64)]| {
        let document = measured(&alike(), &asserting(1, "6", limits));
        (document.assertions.len(), exit_code(&document))
    };
    assert_eq!(reached(&[wide]), (1, 0));
    assert_eq!(reached(&[wide, (Metric::Capacity, 0.5)]), (2, 1));
    // Where it is exactly at the limit, no run of six blocks is sure to know.
    let undecided = (1..20).find_map(|seed| {
        let at_it = asserting(seed, "6", &[wide, (Metric::Capacity, 0.0)]);
        let document = measured(&alike(), &at_it);
        (exit_code(&document) == 3).then_some(document)
    });
    let undecided = undecided.expect("one in twenty is decided, not all of them");
    let sentence = &undecided.verdict.unwrap().sentence;
    assert!(
        sentence.contains(": throughput +0 is undecided; throughput -0.5 holds."),
        "{sentence}"
    );
}

#[test]
fn a_run_ends_at_the_look_that_decides_every_assertion() {
    let measured_blocks = |limits: &[(Metric, f64)]| {
        let document = measured(&alike(), &asserting(1, "24", limits));
        blocks(&document.trials, Stage::Compare).len()
    };
    assert_eq!(measured_blocks(&[(Metric::Capacity, -0.5)]), 10);
    assert_eq!(
        measured_blocks(&[(Metric::Capacity, -0.5), (Metric::Processes, 0.0)]),
        24,
        "one that is as it was neither keeps nor exceeds a limit of no change beyond doubt"
    );
}

#[test]
fn what_is_at_its_limit_is_decided_wrongly_in_one_run_of_twenty_at_most() {
    const RUNS: u32 = 50;
    let decided = (0..u64::from(RUNS)).filter(|seed| {
        let at_it = asserting(*seed, "6", &[(Metric::Capacity, 0.0)]);
        !is_open(&measured(&alike(), &at_it).assertions)
    });
    let decided = decided.count();
    let most = super::promise::wrong_at_most(RUNS);
    assert!(decided as f64 <= most, "{decided} of {RUNS}");
}

/// Too few trials decide nothing: the assertion is undecided, and does not hold.
#[test]
fn an_arm_that_cannot_be_measured_decides_nothing() {
    let script = Script {
        fails: |arm, _| (arm.name == "w0t3").then(|| Failure::Trial("it dies".to_owned())),
        ..alike()
    };
    let document = measured(&script, &asserting(1, "6", &[(Metric::Capacity, -0.5)]));
    assert_eq!(exit_code(&document), 3);
    assert_eq!(document.assertions[0].outcome, AssertionOutcome::Unknown);
    let sentence = &document.assertions[0].sentence;
    assert!(
        sentence.contains("no block measured the throughput of both"),
        "{sentence}"
    );
}
