//! The page of `powerband predict --validate` at the widths of terminals, and as Markdown.

use crate::support::{flat, within, without_noise};
use report::{Style, validation_markdown, validation_page};
use run::validation::Document;

fn sample() -> Document {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contract/samples/validation/bursts.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

const PARTS: [&str; 9] = [
    "Errors of the predictions",
    "Capacity, answers per second of a closed loop",
    "Response times under Poisson arrivals, ms",
    "Where a request's time goes, predicted and measured, ms",
    "What it was predicted from",
    "Taken for granted: I/O takes as long",
    "of running and waiting",
    "Before you believe it",
    "From a trace of single × 3 threads, 4 other configurations",
];

#[test]
fn every_part_is_there_at_every_width() {
    for width in [60, 80, 100, 120, 160] {
        let style = Style {
            width,
            colour: false,
        };
        let page = validation_page(&sample(), style);
        within(width, &page);
        without_noise(&page);
        let page = flat(&page);
        for part in PARTS {
            assert!(
                page.contains(part),
                "{part:?} is missing at {width}:\n{page}"
            );
        }
    }
}

#[test]
fn the_markdown_says_when_where_and_how_to_do_it_again() {
    let page = validation_markdown(&sample());
    without_noise(&page);
    for part in PARTS {
        assert!(page.contains(part), "{part:?} is missing:\n{page}");
    }
    for part in [
        "2026-11-22, 2 cores",
        "Ruby 3.3.8",
        "puma 6.6.0",
        "```sh\npowerband predict --validate",
    ] {
        assert!(page.contains(part), "{part:?} is missing:\n{page}");
    }
    // Every row of a table has as many cells as its head.
    let mut cells = None;
    for line in page.lines() {
        let found = line.starts_with('|').then(|| line.matches('|').count());
        assert!(
            cells.is_none() || found.is_none() || cells == found,
            "{line}"
        );
        cells = found;
    }
}

#[test]
fn nothing_scored_is_said() {
    let mut document = sample();
    document.trials.clear();
    document.cells.clear();
    document.scores.iter_mut().for_each(|score| score.cells = 0);
    document.sentence = "No window counts, so that nothing was scored.".to_owned();
    let style = Style {
        width: 100,
        colour: false,
    };
    let page = validation_page(&document, style);
    assert!(page.starts_with("No window counts"));
    assert!(!page.contains("Errors of the predictions"));
}
