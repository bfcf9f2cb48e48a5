//! The page of the golden sample of `verdict`, and of altered copies of it.

use crate::support::flat;
use report::Readable;
use run::production::{Document, Halted, Verdict};

fn text() -> String {
    let path = "/../../contract/samples/verdict/waiting.json";
    std::fs::read_to_string(format!("{}{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn sample() -> Document {
    serde_json::from_str(&text()).unwrap()
}

fn page(document: &Document) -> String {
    let style = report::Style {
        width: 160,
        colour: false,
    };
    report::verdict_page(document, style)
}

fn assert_said(document: &Document, all: &[&str]) {
    let said = flat(&page(document));
    for expected in all {
        assert!(said.contains(expected), "{expected}:\n{said}");
    }
}

#[test]
fn the_answer_comes_first_and_everything_else_is_there() {
    let document = sample();
    assert!(page(&document).starts_with("Slow is worse: mean response time +119 %"));
    assert_said(
        &document,
        &[
            "Experiment waiting (39ef9dbd), 2026-11-27T13:31:55Z to 2026-11-27T13:32:55Z",
            "Look 2 of 2, at 2026-11-27T13:32:55Z: level 0.04, intervals of 96.00 %",
            "slow 50 % 6 4,929 0.00 % 26.3 +119 % (+117 to +120) 31.7 32.6",
            "slow p99: BROKEN: +104 %",
            "shares: passed: draws seen: today 6 of 12",
            "requests a unit, slow: -0.2 % (-0.5 to +0.1)",
            "slices left out",
            "37 MiB 0 of 141",
        ],
    );
    assert!(!page(&document).contains("probability of 80 %"));
}

#[test]
fn what_an_undecided_experiment_can_find_and_which_arms_are_halted() {
    let mut document = sample();
    document.comparisons[0].verdict = Verdict::Undecided;
    document.comparisons[0].detectable = Some(0.061);
    document.halted = vec![Halted {
        arm: "slow".to_owned(),
        at: "2026-11-27T13:40:00Z".to_owned(),
        reason: "p99: +104 %\u{1b}[2J".to_owned(),
    }];
    document.look = None;
    assert_said(
        &document,
        &[
            "slow: with as many draws as now, the last look finds a change of 6.1 % with a probability of 80 %",
            "Arms, until now",
            "Not drawn any more - slow since 2026-11-27T13:40:00Z: p99: +104 % [2J",
        ],
    );
}

#[test]
fn levels_and_shares_are_short_and_what_is_not_known_has_no_figure() {
    let mut document = sample();
    let look = document.look.as_mut().unwrap();
    look.level = 0.04 / 3.0;
    look.at = "2026-11-27T13:32:55Z\u{1b}[2J".to_owned();
    document.arms[0].share = 1.0 - 0.125;
    document.arms[1].share = 0.125;
    document.arms[1].slices_left_out = 1_200;
    document.arms[1].queue_ms = None;
    assert_said(
        &document,
        &[
            "at 2026-11-27T13:32:55Z [2J: level 0.0133, intervals of 98.67 %",
            "today 87.5 % 6",
            "slow 12.5 % 6",
            "1,200 of 1,341",
        ],
    );
    assert!(!page(&document).contains("\u{1b}"));
}

#[test]
fn report_reads_the_document_again() {
    let read = Readable::parse(&text()).unwrap();
    let style = report::Style {
        width: 160,
        colour: false,
    };
    assert_eq!(read.page(false, style), page(&sample()));
    assert!(read.html().contains("Slow is worse"));
}
