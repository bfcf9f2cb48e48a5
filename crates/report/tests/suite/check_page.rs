//! What the pages of `check` say of its assertions.

use crate::support::{flat, within, without_noise};
use report::{Style, experiment_markdown, page};
use run::load::{Assertion, AssertionOutcome};
use run::{Answer, Document, Kind, Least, Outcome, Verdict};

const PLAIN: Style = Style {
    width: 100,
    colour: false,
};

fn checked() -> Document {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contract/samples/run/compare.json"
    );
    let mut document: Document = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let assertion = |text: &str, outcome, sentence: &str| Assertion {
        assertion: text.to_owned(),
        endpoint: None,
        limit: 0.1,
        measured: Some(0.2),
        outcome,
        sentence: sentence.to_owned(),
    };
    document.kind = Kind::Check;
    document.assertions = vec![
        assertion(
            "throughput >= -3%",
            AssertionOutcome::Holds,
            "throughput >= -3% holds: throughput +0.4 % (-0.9 to +1.7), 6 blocks",
        ),
        assertion(
            "memory <= +10%",
            AssertionOutcome::Fails,
            "memory <= +10% fails: memory +20.0 % (+18.0 to +22.0), 6 blocks",
        ),
    ];
    let settings = document.plan.baseline;
    let sentence = "HEAD against main: memory <= +10% fails; throughput >= -3% holds.";
    document.verdict = Some(Verdict::of(Answer::Table, sentence.to_owned(), settings, 1));
    document
}

#[test]
fn the_page_begins_with_the_answer_and_the_assertions() {
    let text = page(&checked(), PLAIN);
    within(PLAIN.width, &text);
    without_noise(&text);
    let text = flat(&text);
    assert!(
        text.starts_with(
            "HEAD against main: memory <= +10% fails; throughput >= -3% holds. \
             Asserted throughput >= -3% holds: throughput +0.4 % (-0.9 to +1.7), 6 blocks \
             NOT HELD memory <= +10% fails: memory +20.0 % (+18.0 to +22.0), 6 blocks"
        ),
        "{text}"
    );
}

/// The effect that is foreseen is one of throughput between the two, no limit's.
#[test]
fn what_holds_does_not_stand_beside_what_a_run_can_miss() {
    let mut document = checked();
    document.comparisons[0].outcome = Outcome::Undecided;
    let said = |document: &Document| {
        let full = report::page_in_full(document, PLAIN);
        [
            flat(&full),
            experiment_markdown(document, "powerband check"),
        ]
        .map(|text| text.contains("can miss"))
    };
    assert_eq!(said(&document), [false, false]);
    document.assertions.clear();
    document.kind = Kind::Compare;
    assert_eq!(said(&document), [true, true]);
    document.plan.objective.least = Some(Least::Memory);
    assert_eq!(said(&document), [false, false]);
}

#[test]
fn a_comment_has_what_fails_in_bold() {
    let text = experiment_markdown(&checked(), "powerband check --against main");
    assert!(
        text.starts_with(
            "HEAD against main: memory <= +10% fails; throughput >= -3% holds.\n\n\
             - throughput >= -3% holds: throughput +0.4 % (-0.9 to +1.7), 6 blocks\n\
             - **memory <= +10% fails: memory +20.0 % (+18.0 to +22.0), 6 blocks**\n\n2026-"
        ),
        "{text}"
    );
}
