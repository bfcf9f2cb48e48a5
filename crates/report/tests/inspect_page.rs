//! The page of `powerband inspect` at the widths of terminals.

mod support;

use report::{Style, inspect_page};
use run::inspect::{Document, NotRead};
use support::{flat, within, without_noise};

fn sample() -> Document {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contract/samples/inspect/wide.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn page(document: &Document, width: u16) -> String {
    let style = Style {
        width,
        colour: false,
    };
    let page = inspect_page(document, 20, style);
    within(width, &page);
    without_noise(&page);
    page
}

#[test]
fn every_part_is_there_at_every_width() {
    for width in [80, 100, 120, 160, 200] {
        let page = flat(&page(&sample(), width));
        let parts = [
            "Where a request's time goes",
            "GVL held",
            "lock wait",
            "stopped by the garbage collector",
            "Requests by endpoint",
            "products#index",
            "Calls, corrected for GVL wait",
            "Requests by how long they took",
            "Database connection pools",
            "Threads a process",
            "Rule of thumb",
            "Where a job's time goes",
            "job HardWorker",
            "≤",
        ];
        for part in parts {
            assert!(
                page.contains(part),
                "{part:?} is missing at {width}:\n{page}"
            );
        }
    }
}

#[test]
fn what_was_not_measured_has_no_line() {
    let mut document = sample();
    let requests = document.requests.as_mut().unwrap();
    requests.gc = None;
    requests.split.as_mut().unwrap().lock_wait_ms = None;
    requests.calls.clear();
    document.jobs = None;
    document.job_classes.clear();
    document.pools.clear();
    let page = flat(&page(&document, 100));
    for part in [
        "lock wait ",
        "garbage collector ·",
        "Calls,",
        "pools",
        "a job",
    ] {
        assert!(!page.contains(part), "{part:?}:\n{page}");
    }
    assert!(page.contains("which were not told apart"), "{page}");
}

#[test]
fn more_endpoints_than_asked_for_and_files_not_read_are_said() {
    let mut document = sample();
    document.not_read.push(NotRead {
        file: "a.flight".to_owned(),
        partly: true,
        reason: "3 records that were never finished".to_owned(),
    });
    let style = Style {
        width: 80,
        colour: false,
    };
    let page = inspect_page(&document, 1, style);
    assert!(page.contains("more: --limit N"), "{page}");
    assert!(page.contains("- a.flight: in part: 3 records"), "{page}");
}

#[test]
fn the_largest_part_is_said_in_plain_words() {
    let cases = [
        (
            [0.6, 0.2, 0.1, 0.1],
            "Most of its time, 60.0 %, it runs Ruby",
        ),
        (
            [0.2, 0.4, 0.1, 0.3],
            "The largest part of its time, 40.0 %, it waits while other threads",
        ),
        ([0.1, 0.1, 0.7, 0.1], "it waits for locks"),
        ([0.1, 0.1, 0.1, 0.7], "it waits for databases"),
    ];
    for ([held, wait, lock, io], words) in cases {
        let mut document = sample();
        document.jobs = None;
        let split = document.requests.as_mut().unwrap().split.as_mut().unwrap();
        (split.held_share, split.gvl_wait_share) = (held, wait);
        (split.lock_wait_share, split.io_share) = (Some(lock), io);
        let page = flat(&page(&document, 80));
        assert!(page.contains(words), "{words}:\n{page}");
    }
}
