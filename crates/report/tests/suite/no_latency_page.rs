//! What the page says where a latency is missing (–), and of arms that fail their requests.

use crate::run_page::{holds, page, sample};
use run::{Answer, Document, Outcome};

const LATE: &str = "the generator started requests late: p99 of its delay is 4.1 ms (limit: 1 ms)";

/// A tuned application without a latency of the configuration that the answer is.
fn without_latency(document: &mut Document) {
    document.verdict.as_mut().unwrap().answer = Answer::Keep;
    let arm = &mut document.arms[0];
    (arm.latency_trials, arm.p50_ms, arm.p99_ms) = (Some(0), None, None);
    let name = arm.name.clone();
    for trial in document.trials.iter_mut().filter(|t| t.arm == name) {
        trial.objective = None;
        trial.reason = Some(format!("not flat; its latency does not count: {LATE}"));
    }
}

#[test]
fn a_latency_that_does_not_count_is_missing_with_its_reason() {
    let mut document = sample("tune");
    without_latency(&mut document);
    let text = page(&document);
    let why = format!("no trial has a valid latency: {LATE}");
    holds(
        &text,
        &[
            "Latency no trial has a valid latency: the generator started requests late (see below)",
            "Latency that is missing (–) or endless (∞)",
            &format!("single × 1 thread: {why}"),
        ],
    );
    let markdown = report::experiment_markdown(&document, "powerband tune");
    assert!(markdown.contains(&why), "{markdown}");
}

/// The reason has a remedy and figures of its own in each trial.
#[test]
fn a_reason_of_several_configurations_is_there_once() {
    let mut document = sample("tune");
    without_latency(&mut document);
    let arm = &mut document.arms[1];
    let trials = arm.trials;
    arm.latency_trials = Some(trials - 1);
    let name = arm.name.clone();
    let mut trials_of = document.trials.iter_mut();
    let refused = trials_of.find(|t| t.arm == name && t.counts()).unwrap();
    refused.reason = Some(format!(
        "its latency does not count: {}",
        LATE.replace("4.1", "7.3")
    ));
    let (one, other) = (&document.arms[0], &document.arms[1]);
    let whole = format!(
        "latency is valid in 0 of {} trials of {}, {} of {trials} trials of {}. Reason for the last trial without one: the \
         generator started requests late: p99 of its delay is 7.3 ms (limit: 1 ms)",
        one.trials,
        one.settings,
        trials - 1,
        other.settings
    );
    let text = page(&document);
    holds(&text, &[&whole]);
    assert_eq!(text.matches("p99 of its delay").count(), 1, "{text}");
    let markdown = report::experiment_markdown(&document, "powerband tune");
    assert_eq!(
        markdown.matches("p99 of its delay").count(),
        1,
        "{markdown}"
    );
}

#[test]
fn an_infinite_percentile_is_explained_by_what_failed() {
    let mut document = sample("compare");
    let arm = &mut document.arms[0];
    arm.p99_ms = None;
    let name = arm.name.clone();
    let mut windows = document
        .trials
        .iter_mut()
        .filter(|t| t.arm == name)
        .filter_map(|t| t.objective.as_mut());
    windows
        .by_ref()
        .for_each(|w| (w.requests, w.errors, w.timeouts) = (0, 0, 0));
    let mut trials = document.trials.iter_mut().rev();
    let last = trials.find(|t| t.arm == name && t.objective.is_some());
    let window = last.unwrap().objective.as_mut().unwrap();
    (window.requests, window.errors, window.timeouts) = (2_000, 90, 10);
    let told =
        "p99 is ∞: 100 of 2,000 requests failed (5.00 %), 10 of them without an answer in time";
    holds(&page(&document), &[told]);
}

/// With fewer than 100 requests a p99 would be the slowest of them.
#[test]
fn a_percentile_of_too_few_requests_is_left_out_with_the_reason() {
    let document = sample("compare");
    let text = page(&document);
    let why = "no p99, since it takes 100 requests, and its windows had 97; longer windows (--window, --budget) hold more";
    holds(
        &text,
        &[
            "Latency that is missing (–) or endless (∞)",
            &format!("single × 3 threads: {why}"),
        ],
    );
    assert!(!text.contains("38.0"), "{text}");
    let markdown = report::experiment_markdown(&document, "powerband compare");
    assert!(
        markdown.contains(why) && !markdown.contains("| 38.0 |"),
        "{markdown}"
    );
    let mut document = sample("tune");
    document.verdict.as_mut().unwrap().answer = Answer::Keep;
    for arm in &mut document.arms {
        arm.violation_requests = Some(62);
    }
    let text = page(&document);
    holds(
        &text,
        &["Latency no p99, since it takes 100 requests, and its windows had 62;"],
    );
    assert!(!text.contains("99 % within 101"), "{text}");
}

#[test]
fn nothing_is_said_where_every_latency_is_known() {
    for name in ["tune", "sweep"] {
        let text = page(&sample(name));
        assert!(!text.contains("missing (–)"), "{text}");
    }
}

#[test]
fn what_is_not_comparable_is_called_so() {
    let mut document = sample("compare");
    let comparison = document.comparisons.last_mut().unwrap();
    comparison.outcome = Outcome::Undecided;
    comparison.not_comparable = Some("12.0 % of the requests failed".to_owned());
    holds(&page(&document), &["not comparable"]);
    let markdown = report::experiment_markdown(&document, "powerband compare");
    assert!(markdown.contains("not comparable (p "), "{markdown}");
}
