//! The page of a run in which memory grows with the requests.

use crate::run_page::{holds, page, sample};
use crate::support::flat;
use run::Document;

/// The sample of `tune`, of which one configuration was chosen.
fn tuned() -> Document {
    let mut document = sample("tune");
    document.arms[1].pss_bytes = Some(26 << 20);
    // Its reason names longer windows as well.
    document.model = None;
    document
}

/// What was seen of an application that keeps 20 kB of every request.
fn leaks() -> run::Growth {
    run::Growth {
        bytes_per_thousand: 21_495_808.0,
        interval: (21_181_235.0, 21_810_380.0),
        trials: 9,
        resident_bytes: (214 << 20, 1_322 << 20),
        requests: 63_000,
    }
}

#[test]
fn memory_that_grows_is_said_first_and_no_headroom_follows_from_it() {
    let mut document = tuned();
    document.plan.objective.max_memory_bytes = None;
    for arm in &mut document.arms[..2] {
        arm.growth = Some(leaks());
    }
    document.arms.swap(0, 1);
    let headroom = document.verdict.as_mut().unwrap().headroom.as_mut();
    headroom.unwrap().deploy_overlap_bytes = None;
    let page = page(&document);
    assert!(
        page.starts_with("The memory of the server still grew"),
        "{page}"
    );
    holds(
        &page,
        &[
            "when the trials ended: - single × 1 thread (today): 20.5 MiB a thousand requests (20.2 MiB to 20.8 MiB, 9 trials), \
             from 214 MiB to 1322 MiB within a trial - single × 4 threads: 20.5 MiB a thousand",
            "Memory 26 MiB after 63,000 requests, and growing",
            "how much memory two deploys need while they overlap cannot be said, since it grows",
        ],
    );
    for word in ["overlap it needs", "memory left", "longer windows ("] {
        assert!(!page.contains(word), "{word}:\n{page}");
    }
}

#[test]
fn a_limit_of_memory_that_grows_is_not_said_to_be_kept() {
    let mut document = tuned();
    document.plan.objective.latency = None;
    document.arms[1].feasible = run::Feasibility::Meets;
    document.arms[1].growth = Some(leaks());
    let page = page(&document);
    holds(
        &page,
        &["Memory 26 MiB of 2048 MiB allowed after 63,000 requests, and growing"],
    );
    let row = |page: &str| {
        let mut lines = page.lines();
        lines
            .find(|line| line.starts_with("single × 4 threads  "))
            .unwrap()
            .to_owned()
    };
    assert!(row(&page).contains("not"), "{page}");
    document.arms[1].growth = None;
    // The sentence has a queue that grows.
    document.verdict.as_mut().unwrap().sentence.clear();
    let page = self::page(&document);
    assert!(row(&page).contains("kept"), "{page}");
    assert!(!page.contains("grows"), "{page}");
}

#[test]
fn the_tables_that_are_kept_say_it_before_the_answer_too() {
    let mut document = tuned();
    document.arms[0].growth = Some(leaks());
    let page = report::experiment_markdown(&document, "powerband compare");
    let (said, answer) = (
        page.find("**The memory of the server still grew"),
        page.find("Run single"),
    );
    assert!(said.is_some() && said < answer, "{page}");
    assert!(
        page.contains("- single × 1 thread (today): 20.5 MiB a thousand requests"),
        "{page}"
    );
}

#[test]
fn the_table_continues_below_where_it_would_break_words() {
    let mut document = tuned();
    for arm in &mut document.arms {
        (arm.capacity_per_s, arm.p50_ms, arm.p99_ms) =
            (Some(1_234_567.8), Some(1_234_567.8), Some(23_456.7));
        (arm.violation_rate, arm.pss_bytes) = (Some(0.6997), Some(20_480 << 20));
        arm.growth = Some(leaks());
    }
    let style = report::Style {
        width: 80,
        colour: false,
    };
    let page = report::page(&document, style);
    let heads = page.lines().filter(|line| line.starts_with("settings"));
    assert!(heads.count() > 1, "{page}");
    assert!(
        page.lines()
            .any(|line| line.starts_with("single × 4 threads ")),
        "{page}"
    );
}

/// A limit that is kept in the trials is not kept for long where memory grows.
#[test]
fn memory_within_its_limit_that_perhaps_grows_is_called_so() {
    let mut document = sample("tune");
    let mib = f64::from(1 << 20);
    for (grown, still) in [(8.0 * mib, true), (1.0 * mib, false), (-8.0 * mib, false)] {
        document.arms[1].growth_bytes_per_thousand = Some(grown);
        let said = flat(&page(&document)).contains(
            "kept in the trials; it grew during them, and whether it goes on is not known (see Before you believe it)",
        );
        let deploys = flat(&page(&document)).contains("and more if its memory goes on growing");
        assert_eq!(deploys, still, "{grown}");
        assert_eq!(said, still, "{grown}");
    }
}
