//! The pages of runs that did not come to their end.

use crate::run_page::{PLAIN, holds, page, sample};
use run::State;

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
