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

/// Of two pages the second became slower.
fn with_pages() -> Document {
    let mut document = checked();
    let time = |page: &str, candidate_ms: f64, (low, high): (f64, f64)| run::PageTime {
        page: page.to_owned(),
        baseline: document.comparisons[0].baseline.clone(),
        candidate: document.comparisons[0].candidate.clone(),
        baseline_ms: Some(12.0),
        candidate_ms: Some(candidate_ms),
        ratio: candidate_ms / 12.0,
        low: Some(low),
        high: Some(high),
        blocks: 6,
    };
    document.pages = vec![
        time("GET /", 12.1, (0.98, 1.03)),
        time("GET /trails", 33.0, (2.6, 2.9)),
    ];
    document
}

#[test]
fn the_page_that_became_slower_is_named_with_the_answer_and_comes_first() {
    let document = with_pages();
    let text = page(&document, PLAIN);
    within(PLAIN.width, &text);
    without_noise(&text);
    let text = flat(&text);
    let sentence =
        "Pages that differ (p50): GET /trails +175 % (+160 to +190), from 12.0 ms to 33.0 ms.";
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    assert!(place(sentence) < place("What was tried"));
    let row = "GET /trails 12.0 ms 33.0 ms +175 % (+160 to +190)";
    assert!(place(row) < place("GET / 12.0 ms 12.1 ms +0.8 % (-2.0 to +3.0)"));
    assert!(!text.contains("medians over the blocks"), "{text}");
    let mut few = document.clone();
    (few.pages[1].low, few.pages[1].high) = (Some(0.0), Some(190.0));
    let few = flat(&page(&few, PLAIN));
    assert!(few.contains("33.0 ms +175 % (not known)"), "{few}");
    assert!(
        few.contains("from less than half to more than twice"),
        "{few}"
    );
    let mut noisy = document.clone();
    noisy.pages[1].ratio = 0.85;
    let noisy = flat(&page(&noisy, PLAIN));
    assert!(
        noisy.contains("the times are medians over the blocks, and need not give the same change")
    );
    let markdown = experiment_markdown(&document, "powerband check");
    assert!(markdown.contains(sentence), "{markdown}");
    assert!(
        markdown.contains("| GET /trails | 12.0 ms | 33.0 ms | +175 % (+160 to +190) |"),
        "{markdown}"
    );
}

#[test]
fn pages_that_do_not_differ_are_said_so_and_pages_that_were_not_compared_are_not_there() {
    let mut document = with_pages();
    document.pages.truncate(1);
    let none = "No difference of a single page beyond the margin of 3.0 % is shown.";
    let text = flat(&page(&document, PLAIN));
    assert!(text.contains(none), "{text}");
    document.pages[0].low = None;
    document.pages[0].high = None;
    let text = flat(&page(&document, PLAIN));
    assert!(text.contains("One block gives no interval") && !text.contains(none));
    document.pages.clear();
    let text = page(&document, PLAIN);
    assert!(!text.contains("each page") && !text.contains(none));
    let second = document.plan.workload[0].clone();
    document.plan.workload.push(second);
    let text = flat(&page(&document, PLAIN));
    assert!(
        text.contains("Pages are not compared: no block has"),
        "{text}"
    );
}

#[test]
fn a_page_that_fails_has_no_change_in_per_cent() {
    let mut document = with_pages();
    (document.pages[1].candidate_ms, document.pages[1].ratio) = (None, 3e5);
    let text = flat(&page(&document, PLAIN));
    assert!(
        text.contains("Pages that differ (p50): GET /trails fails, from 12.0 ms to ∞."),
        "{text}"
    );
    assert!(text.contains("GET /trails 12.0 ms ∞ fails"), "{text}");
}

/// Of several candidates each has its rows, and a long table ends.
#[test]
fn pages_of_several_configurations_are_by_configuration() {
    let mut document = with_pages();
    document.kind = Kind::Compare;
    let baseline = document.comparisons[0].baseline.clone();
    let mut again = document.pages.clone();
    for time in &mut again {
        time.candidate = baseline.clone();
    }
    document.pages.extend(again);
    let text = page(&document, PLAIN);
    within(PLAIN.width, &text);
    let pages: Vec<&str> = text.lines().filter(|l| l.starts_with("GET /")).collect();
    let of = |place: usize| pages[place].split_whitespace().nth(1).unwrap();
    let order = [of(0), of(1), of(2), of(3)];
    assert_eq!(order, ["/trails", "/", "/trails", "/"], "{text}");
    assert!(!flat(&text).contains("Pages that differ"), "{text}");
    let many: Vec<_> = (0..30).map(|_| document.pages[0].clone()).collect();
    document.pages.extend(many);
    assert!(flat(&page(&document, PLAIN)).contains("And 14 more: --json."));
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
