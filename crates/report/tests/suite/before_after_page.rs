//! The page of the golden sample of `verdict --before --after`, and of altered copies of it.

use crate::support::flat;
use report::Readable;
use run::before_after::{Document, Outcome};

fn text() -> String {
    let path = "/../../contract/samples/before-after/week.json";
    std::fs::read_to_string(format!("{}{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

const STYLE: report::Style = report::Style {
    width: 160,
    colour: false,
};

fn said(document: &Document) -> String {
    flat(&report::before_after_page(document, STYLE))
}

#[test]
fn the_answer_and_its_limits_come_first() {
    let document: Document = serde_json::from_str(&text()).unwrap();
    let said = said(&document);
    assert!(
        said.starts_with("Shorter after the change: mean response time -10.1 %"),
        "{said}"
    );
    for expected in [
        "without an experiment. Weaker than an experiment: anything else that changed",
        "Read http://127.0.0.1:9090 at 2026-11-28T20:32:52Z, job=\"shop\"",
        "before 20.0 9,839,375 0.04 % 53.5 121 211 2.1 3.4 393 MiB 168",
        "After: 2026-11-16T00:00:00Z to 2026-11-23T00:00:00Z.",
        "- weekdays: alike: each hour is compared with one of the same weekday",
    ] {
        assert!(said.contains(expected), "{expected}:\n{said}");
    }
    assert!(!said.contains("probability of 80 %"));
    let read = Readable::parse(&text()).unwrap();
    assert_eq!(
        read.page(false, STYLE),
        report::before_after_page(&document, STYLE)
    );
    assert!(read.html().contains("Shorter after the change"));
}

#[test]
fn what_is_not_alike_and_what_could_be_found() {
    let mut document: Document = serde_json::from_str(&text()).unwrap();
    document.outcome = Outcome::NoDifference;
    document.alike[0].passed = Some(false);
    document.matchers.clear();
    document.after.memory_bytes = None;
    document.notes = vec!["3 hours left out\u{1b}[2J".to_owned()];
    let said = said(&document);
    for expected in [
        "at 2026-11-28T20:32:52Z, all instances",
        "show a change of 2.6 % with a probability of 80 %",
        "- requests: DIFFERENT: 9,839,375 before",
        "Left out, and unusual - 3 hours left out [2J",
    ] {
        assert!(said.contains(expected), "{expected}:\n{said}");
    }
    assert!(!said.contains('\u{1b}'));
}
