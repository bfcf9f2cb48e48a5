//! Trials that fail: what the others come to.

use super::{Script, compared, conducted, measured, scratch, threads, tuned, typed};
use crate::error::{Failure, Stopped};
use crate::request::Experiment;
use run::{Answer, Document, Outcome, State, TrialStatus};

fn died() -> Option<Failure> {
    Some(Failure::Trial("the server died (exit status 7)".to_owned()))
}

fn failed(document: &Document, arm: &str) -> usize {
    let mine = document.trials.iter().filter(|t| t.arm == arm);
    mine.filter(|t| t.status == TrialStatus::Failed).count()
}

#[test]
fn an_arm_that_always_dies_is_given_up_and_the_others_are_compared() {
    let script = Script {
        fails: |arm, _| (arm.name == "w0t3").then(died).flatten(),
        ..Script::of(4.0, 12.0)
    };
    let arms = [threads(1), threads(3), threads(2)];
    let document = measured(&script, &compared(1, &arms, |_| ()));
    assert_eq!(failed(&document, "w0t3"), 2);
    let compared: Vec<&str> = document
        .comparisons
        .iter()
        .map(|c| c.candidate.as_str())
        .collect();
    assert_eq!(compared, ["w0t2"]);
    assert_eq!(document.comparisons[0].outcome, Outcome::Better);
    let notes = script.notes();
    assert!(
        notes
            .iter()
            .any(|n| n.contains("given up after two failures")),
        "{notes:?}"
    );
}

#[test]
fn a_trial_that_fails_once_costs_its_block_and_nothing_else() {
    let script = Script {
        fails: |arm, before| (arm.name == "w0t3" && before == 1).then(died).flatten(),
        ..Script::of(4.0, 12.0)
    };
    let document = measured(&script, &compared(1, &[threads(1), threads(3)], |_| ()));
    let comparison = &document.comparisons[0];
    assert_eq!(failed(&document, "w0t3"), 1);
    assert_eq!(comparison.blocks, document.plan.blocks - 1);
    let sentence = document.verdict.unwrap().sentence;
    assert_eq!(
        comparison.outcome,
        Outcome::Undecided,
        "five blocks never decide: {sentence}"
    );
}

#[test]
fn a_baseline_that_dies_ends_the_run_with_its_reason_and_nothing_else_is_measured() {
    let script = Script {
        fails: |arm, _| (arm.name == "w0t5").then(died).flatten(),
        ..Script::of(4.0, 12.0)
    };
    let runs = scratch();
    let (document, result) = conducted(&script, &tuned(1, |_| ()), runs.path());
    let Err(Stopped::NoAnswer(why)) = result else {
        panic!("{result:?}");
    };
    for part in ["single × 5 threads", "cannot be measured", "exit status 7"] {
        assert!(why.contains(part), "{why}");
    }
    assert_eq!((document.state, document.trials.len()), (State::Failed, 1));
    assert!(document.warnings.contains(&why), "{:?}", document.warnings);
    let mut again = Experiment {
        runs_dir: runs.path().to_owned(),
        ..tuned(1, |_| ())
    };
    let refused = crate::session::resume(&mut again, &runs.path().join("run"));
    assert!(
        matches!(&refused, Err(Stopped::Configuration(why)) if why.contains("failed before anything was measured")),
        "it has nothing to go on with"
    );
}

#[test]
fn today_s_configuration_stays_where_every_candidate_dies() {
    let script = Script {
        fails: |arm, _| (arm.name != "w0t5").then(died).flatten(),
        ..Script::of(4.0, 12.0)
    };
    let document = measured(&script, &tuned(1, |_| ()));
    let verdict = document.verdict.as_ref().unwrap();
    assert_eq!(verdict.settings, threads(5).settings);
    assert!(
        !matches!(verdict.answer, Answer::Change | Answer::Smaller),
        "{verdict:?}"
    );
    assert!(
        document.comparisons.is_empty(),
        "{:?}",
        document.comparisons
    );
}

#[test]
fn what_would_fail_for_every_arm_ends_the_run_and_keeps_what_was_measured() {
    let script = Script {
        fails: |arm, before| {
            let fatal = arm.name == "w0t3" && before == 2;
            fatal.then(|| Failure::Fatal("the disk is full".to_owned()))
        },
        ..Script::of(4.0, 12.0)
    };
    let runs = scratch();
    let experiment = compared(1, &[threads(1), threads(3)], |_| ());
    let (document, result) = conducted(&script, &experiment, runs.path());
    assert!(matches!(&result, Err(Stopped::Configuration(why)) if why == "the disk is full"));
    assert_eq!(document.state, State::Failed);
    let on_disk = run::Folder::open(&runs.path().join("run")).unwrap();
    let on_disk = on_disk.read_whole().unwrap();
    assert_eq!(on_disk.trials.len(), document.trials.len());
    assert!(on_disk.trials.len() >= 5, "a pilot and two blocks");
}

#[test]
fn an_answer_says_that_no_latency_shows_whether_the_limit_is_kept() {
    let script = Script {
        late: true,
        ..Script::of(4.0, 12.0)
    };
    let sentence = |slo: Option<&str>| {
        let experiment = tuned(1, |request| request.slo = slo.and_then(typed));
        measured(&script, &experiment).verdict.unwrap().sentence
    };
    let said = sentence(Some("p99=250ms"));
    let unknown = "keeps p99 ≤ 250 ms is not known, because no latency window of it counts.";
    assert!(said.contains(unknown), "{said}");
    let said = sentence(None);
    assert!(!said.contains("not known"), "{said}");
}
