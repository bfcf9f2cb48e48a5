//! The pages of runs that did not come to their end.

use crate::run_page::{PLAIN, holds, page, sample};
use crate::support::flat;
use run::{Feasibility, LatencyObjective, Stage, State};

#[test]
fn a_run_that_was_interrupted_after_its_answer_says_so_and_how_to_go_on() {
    let mut document = sample("tune");
    let goes_on = format!("powerband tune --resume {}", document.id);
    assert!(!page(&document).contains("interrupted"));
    document.state = State::Interrupted;
    let page = page(&document)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    for part in ["This run was interrupted after its answer", &goes_on] {
        assert!(page.contains(part), "{page}");
    }
}

#[test]
fn a_run_without_an_answer_says_how_to_go_on() {
    let mut document = sample("tune");
    document.verdict = None;
    document.state = State::Interrupted;
    let goes_on = format!("To go on: powerband tune --resume {}", document.id);
    holds(&page(&document), &["was interrupted", &goes_on]);
    document.state = State::Running;
    holds(&page(&document), &["its process was killed", &goes_on]);
    let running = report::page_while_running(&document, run::Worker { pid: Some(4711) }, PLAIN);
    assert!(
        running.starts_with("This run is running (PID 4711) and has no answer yet."),
        "{running}"
    );
    assert!(!running.contains("--resume"), "{running}");
    let unknown = report::page_while_running(&document, run::Worker { pid: None }, PLAIN);
    assert!(
        unknown.starts_with("This run is running and has no answer yet."),
        "{unknown}"
    );
    // Done, without a verdict: the run was not killed.
    document.state = State::Done;
    assert!(!page(&document).contains("killed"), "{}", page(&document));
    document.state = State::Failed;
    document.warnings = vec!["puma does not start\n  log line".to_owned()];
    holds(&page(&document), &[&goes_on]);
    document.arms.clear();
    document.comparisons.clear();
    document.trials.clear();
    let page = page(&document);
    holds(
        &page,
        &[
            "ended without an answer: puma does not start",
            "Nothing was measured: start a new run when the cause is gone, with powerband tune",
        ],
    );
    assert!(!page.contains("--resume"), "{page}");
    assert_eq!(page.matches("puma does not start").count(), 1, "{page}");
}

/// A run that ends before its answer has no rows, and its trials are not lost.
#[test]
fn a_run_without_an_answer_shows_what_was_tried_so_far() {
    let mut document = sample("tune");
    document.verdict = None;
    document.state = State::Interrupted;
    document.arms.clear();
    document.comparisons.clear();
    let mut tried: Vec<run::Trial> = document.trials.clone();
    tried.retain(|trial| trial.stage != Stage::Pilot && trial.counts());
    tried.truncate(3);
    for (trial, (arm, per_s)) in tried
        .iter_mut()
        .zip([("a", 100.0), ("b", 140.0), ("b", 160.0)])
    {
        trial.arm = arm.to_owned();
        trial.settings.threads = if arm == "a" { 3 } else { 5 };
        trial.saturation.as_mut().unwrap().good_per_s = per_s;
    }
    let mut failed = tried[0].clone();
    failed.status = run::TrialStatus::Failed;
    tried.push(failed);
    document.trials.retain(|trial| trial.stage == Stage::Pilot);
    assert!(!page(&document).contains("What was tried so far"));
    document.trials.extend(tried);
    let text = page(&document);
    let row = |name: &str| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("{name}: {text}"))
    };
    holds(&text, &["What was tried so far", "They decide nothing"]);
    let (a, b) = (row("single × 3 threads"), row("single × 5 threads"));
    assert!(a.contains(" 100 ") && a.ends_with("1/2"), "{a}");
    assert!(b.contains(" 150 ") && b.ends_with(" 2"), "{b}");
}

/// A rehearsal compares nothing, so that longer windows would not help it.
#[test]
fn a_rehearsal_judges_no_limit() {
    let mut document = sample("compare");
    document.plan.objective.latency = Some(LatencyObjective {
        percentile: 99.0,
        limit_ms: 250.0,
    });
    for arm in &mut document.arms {
        arm.feasible = Feasibility::Unclear;
        (arm.violation_interval, arm.violation_requests) = (Some((0.0, 0.2)), Some(23));
    }
    let compared = page(&document);
    for part in [
        "up to 20.00 % (23 requests measured)",
        "Longer windows (--window)",
    ] {
        assert!(flat(&compared).contains(part), "{part}: {compared}");
    }
    document.plan.blocks = 1;
    (document.comparisons, document.memory) = (Vec::new(), Vec::new());
    (document.latency, document.pages) = (Vec::new(), Vec::new());
    let verdict = document.verdict.as_mut().unwrap();
    verdict.answer = run::Answer::Table;
    verdict.sentence = "A rehearsal.".to_owned();
    let rehearsed = page(&document);
    for absent in ["proven", "onger windows", "limits"] {
        assert!(!rehearsed.contains(absent), "{absent}: {rehearsed}");
    }
}
