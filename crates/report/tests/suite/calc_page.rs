//! The pages of `powerband calc` at the widths of terminals.

use crate::support::{flat, within, without_noise};
use report::{Style, calc_page};
use run::calc::Document;

const NAMES: [&str; 5] = ["amdahl", "threads", "queue", "usl", "pool"];

fn sample(name: &str) -> Document {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/calc");
    serde_json::from_str(&std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap())
        .unwrap()
}

fn page(document: &Document, width: u16) -> String {
    let style = Style {
        width,
        colour: false,
    };
    let page = calc_page(document, style);
    without_noise(&page);
    page
}

#[test]
fn pages_keep_the_width_and_say_first_what_it_means() {
    for name in NAMES {
        let mut document = sample(name);
        // Lines for a file are not broken.
        if let Some(pool) = &mut document.pool {
            pool.files.clear();
        }
        for width in [60, 80, 100, 120, 160] {
            let page = page(&document, width);
            within(width, &page);
            assert!(flat(&page).starts_with(&document.sentence), "{page}");
            for assumption in &document.assumptions {
                assert!(flat(&page).contains(assumption), "{assumption}\n{page}");
            }
        }
    }
}

/// The symbols of formulas are for docs/calc.md.
#[test]
fn threads_are_advised_without_symbols() {
    let page = page(&sample("threads"), 100);
    let marked = page.lines().filter(|line| line.ends_with("enough"));
    assert_eq!(marked.count(), 1, "{page}");
    for name in NAMES {
        let page = self::page(&sample(name), 100);
        assert!(!page.contains("T*"), "{page}");
    }
}

#[test]
fn what_is_infinite_or_was_not_given_is_no_figure() {
    let mut amdahl = sample("amdahl");
    amdahl.amdahl.as_mut().unwrap().limit = None;
    assert!(!page(&amdahl, 100).contains('∞'));
    let mut usl = sample("usl");
    usl.usl.as_mut().unwrap().coherency.high = None;
    assert!(page(&usl, 100).contains('∞'));
    let mut queue = sample("queue");
    let found = queue.queue.as_mut().unwrap();
    (found.rate_per_s, found.offered, found.utilisation) = (None, None, None);
    found.answers.clear();
    let page = page(&queue, 100);
    assert!(
        !page.contains("Little  ") && page.contains("just meets the objective"),
        "{page}"
    );
}

#[test]
fn lines_for_files_stand_as_they_are() {
    let document = sample("pool");
    let page = page(&document, 80);
    for file in &document.pool.as_ref().unwrap().files {
        assert!(
            page.contains(&format!("{}\n{}", file.name, file.lines.join("\n"))),
            "{page}"
        );
    }
}

#[test]
fn what_a_deploy_takes_is_said_by_its_overlap_and_what_is_short_by_its_number() {
    let mut document = sample("pool");
    let pool = document.pool.as_mut().unwrap();
    pool.deploy_overlap = 0.25;
    let limit = pool.limit.as_mut().unwrap();
    (limit.free_running, limit.free_deploying) = (24, -46);
    let page = page(&document, 100);
    for words in [
        "extra during a deploy (25.0 % overlap)",
        "usable, 24 free",
        "46 too few during a deploy",
    ] {
        assert!(page.contains(words), "{words}:\n{page}");
    }
}
