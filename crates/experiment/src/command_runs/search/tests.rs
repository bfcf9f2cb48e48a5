use super::*;
use crate::config::Asked;
use crate::scripted::{Script, normal, scratch, tuned, typed};
use crate::session;
use run::{Answer, CommandArm, Document, MemorySample};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a run with these values takes, seconds, and how many MiB its processes have; `None` where it fails.
type Takes = fn(&BTreeMap<String, String>) -> Option<(f64, u64)>;

/// The document of a search for jobs of which the truth is known, each run 1 % from it, and its memory 2 %.
fn searched(knobs: &[&str], budget: &str, takes: Takes) -> Result<Document, Stopped> {
    let experiment = tuned(7, |request| {
        request.workload_command = Some(Asked::new("drain {threads_of_it} {batch}", "a test"));
        let knobs = knobs.iter().map(|text| Asked::new(*text, "--knobs"));
        request.knobs = knobs.collect();
        request.budget = typed(budget);
    });
    let runs_dir = scratch();
    let experiment = Experiment {
        runs_dir: runs_dir.path().to_owned(),
        ..experiment
    };
    let script = Script::of(1.0, 1.0);
    let store = session::begin(&experiment, "2026-11-20T21:45:12Z", "run").unwrap();
    let mut procedure = Procedure::new(&experiment, &script, store, &script);
    let once = |asked: &super::super::once::Asked<'_>, _: &std::path::Path| {
        let truth = takes(&asked.arm.overlay.placeholders());
        let (wall_s, mib) = truth.unwrap_or((1.0, 1));
        let wall_s = wall_s * (0.01 * normal(&asked.id)).exp();
        script.pass(wall_s);
        let memory = (0.02 * normal(&format!("memory of {}", asked.id))).exp();
        let pss_bytes = ((mib << 20) as f64 * memory) as u64;
        Ok(CommandRun {
            id: asked.id.clone(),
            stage: asked.stage,
            block: asked.block,
            place: asked.place,
            arm: asked.arm.name.clone(),
            failed: truth.is_none().then(|| "it failed".to_owned()),
            started_s: asked.started_s,
            wall_s,
            cpu_s: wall_s,
            exit: Some(0),
            samples: vec![MemorySample {
                at_s: 1.0,
                rss_bytes: pss_bytes + (9 << 20),
                pss_bytes: Some(pss_bytes),
            }],
        })
    };
    let command = experiment.workload_command.as_ref().unwrap();
    let once = &once;
    tune(&mut procedure, &Runner { command, once })?;
    Ok(procedure.store.document)
}

fn threads(values: &BTreeMap<String, String>) -> u64 {
    values["threads_of_it"].parse().unwrap()
}

fn row<'d>(document: &'d Document, called: &str) -> &'d CommandArm {
    let rows = &document.command.as_ref().unwrap().arms;
    rows.iter().find(|row| row.called == called).unwrap()
}

fn runs_of(document: &Document, stage: Stage) -> usize {
    let runs = &document.command.as_ref().unwrap().runs;
    runs.iter().filter(|run| run.stage == stage).count()
}

const THREADS: &str = "value.threads_of_it=5,10,25,50,100";

/// Ten threads keep it busy, more take memory and time in the end.
fn saturated(values: &BTreeMap<String, String>) -> Option<(f64, u64)> {
    let threads = threads(values);
    let wall_s = match threads {
        ..10 => 12.0,
        10..100 => 10.0,
        _ => 11.5,
    };
    Some((wall_s, 60 + threads))
}

#[test]
fn of_the_values_that_are_as_good_the_one_with_the_least_memory_is_found() {
    let document = searched(&[THREADS], "20m", saturated).unwrap();
    let verdict = document.verdict.as_ref().unwrap();
    assert_eq!(verdict.answer, Answer::Change, "{}", verdict.sentence);
    let best = row(&document, "value.threads_of_it=10");
    assert_eq!(verdict.arm.as_ref(), Some(&best.name));
    let said = &verdict.sentence;
    assert!(
        said.starts_with(
            "Run with value.threads_of_it=10: the command takes less time than with value.threads_of_it=5"
        ),
        "{said}"
    );
    // In whatever order: what is as good, and not what is slower.
    let (_, alike) = said
        .split_once("As good in the elimination rounds, within 3 %: ")
        .unwrap();
    assert!(alike.contains("=25") && alike.contains("=50"), "{said}");
    assert!(!alike.contains("=100"), "{said}");
    let slow = row(&document, "value.threads_of_it=100");
    assert!(slow.fate.as_ref().unwrap().contains("behind"), "{slow:?}");
    let comparisons = &document.command.as_ref().unwrap().comparisons;
    assert_eq!(comparisons.len(), 3);
    assert!(
        comparisons
            .iter()
            .all(|c| c.stage == Stage::Confirm && c.blocks == 9)
    );
    assert_eq!(
        (
            runs_of(&document, Stage::Pilot),
            runs_of(&document, Stage::Confirm)
        ),
        (1, 18)
    );
}

#[test]
fn what_runs_today_stays_where_nothing_is_ahead_of_it() {
    let takes: Takes = |values| Some((10.0 + threads(values) as f64, 60));
    let document = searched(&[THREADS], "20m", takes).unwrap();
    let verdict = document.verdict.as_ref().unwrap();
    assert_eq!((verdict.answer, verdict.exit_code), (Answer::Keep, 0));
    assert!(
        verdict
            .sentence
            .starts_with("Keep value.threads_of_it=5: no other configuration was faster"),
        "{}",
        verdict.sentence
    );
    assert_eq!(runs_of(&document, Stage::Confirm), 0);
}

#[test]
fn of_equal_values_none_is_said_to_be_faster() {
    let document = searched(&["value.batch=1,2,3"], "20m", |_| Some((10.0, 60))).unwrap();
    let verdict = document.verdict.as_ref().unwrap();
    assert_eq!(verdict.answer, Answer::Keep, "{}", verdict.sentence);
}

/// Redis goes away after the pilot.
#[test]
fn an_outage_is_no_answer() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let takes: Takes = |_| (RUNS.fetch_add(1, Ordering::Relaxed) == 0).then_some((10.0, 60));
    let stopped = searched(&[THREADS], "20m", takes).unwrap_err();
    assert_eq!(
        stopped.to_string(),
        "value.threads_of_it=5 failed in every elimination round: it failed"
    );
}

#[test]
fn where_all_others_fail_the_answer_says_so() {
    let takes: Takes = |values| (threads(values) == 5).then_some((10.0, 60));
    let document = searched(&[THREADS], "20m", takes).unwrap();
    assert_eq!(
        document.verdict.unwrap().sentence,
        "Keep value.threads_of_it=5: all runs of the other configurations failed, the last: it failed"
    );
}

#[test]
fn two_knobs_are_combined() {
    let takes: Takes = |values| {
        let batch = if values["batch"] == "64" { 0.8 } else { 1.0 };
        let (wall_s, mib) = saturated(values)?;
        Some((wall_s * batch, mib))
    };
    let document = searched(&[THREADS, "value.batch=1,64"], "1h", takes).unwrap();
    let verdict = document.verdict.as_ref().unwrap();
    assert_eq!(verdict.answer, Answer::Change);
    // From ten threads on all are as good.
    let (best, _) = verdict
        .sentence
        .split_once(": the command takes less time")
        .unwrap();
    let (batch, threads) = best.split_once(", value.threads_of_it=").unwrap();
    assert_eq!(batch, "Run with value.batch=64");
    assert!(["10", "25", "50"].contains(&threads), "{best}");
    assert!(!verdict.sentence.ends_with("=5."), "{}", verdict.sentence);
}

#[test]
fn a_value_that_fails_is_left_and_one_of_today_that_fails_ends_the_search() {
    let takes: Takes = |values| saturated(values).filter(|_| threads(values) != 10);
    let document = searched(&[THREADS], "20m", takes).unwrap();
    let sentence = &document.verdict.as_ref().unwrap().sentence;
    assert!(
        sentence.starts_with("Run with value.threads_of_it=25:"),
        "{sentence}"
    );
    let failed = row(&document, "value.threads_of_it=10");
    assert!(
        failed.fate.as_ref().unwrap().contains("failed twice"),
        "{failed:?}"
    );
    assert!(
        document
            .warnings
            .iter()
            .any(|w| w.contains("=10 was given up: it failed"))
    );
    let takes: Takes = |values| saturated(values).filter(|_| threads(values) != 5);
    let stopped = searched(&[THREADS], "20m", takes).unwrap_err();
    assert_eq!(
        stopped.to_string(),
        "value.threads_of_it=5 cannot be measured: it failed"
    );
}

#[test]
fn a_budget_that_is_too_short_names_one_that_is_not() {
    let said = searched(&[THREADS], "2m", saturated)
        .unwrap_err()
        .to_string();
    let (_, named) = said.split_once("give --budget ").unwrap();
    let named = named.split_whitespace().next().unwrap();
    let document = searched(&[THREADS], named, saturated).unwrap();
    // The fewest blocks, and no room for all values.
    assert_eq!(runs_of(&document, Stage::Confirm), 12);
    let untried = document
        .warnings
        .iter()
        .find(|w| w.starts_with("not tried"));
    assert!(
        untried.unwrap().contains("value.threads_of_it=100"),
        "{untried:?}"
    );
}
