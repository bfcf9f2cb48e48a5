//! The response time of the arms of `compare`, next to throughput and memory.

use crate::run_page::{page, sample};
use run::{Document, Metric, Outcome};

fn compared() -> Document {
    let mut document = sample("compare");
    let mut latency = document.comparisons[0].clone();
    latency.metric = Metric::ResponseTime;
    latency.outcome = Outcome::Worse;
    (latency.ratio, latency.low, latency.high) = (1.25, Some(1.1), Some(1.4));
    document.latency = vec![latency];
    document
}

#[test]
fn a_response_time_has_a_verdict_and_decides_nothing() {
    let page = page(&compared());
    assert!(
        page.contains("The verdict is by throughput. What else the configurations differ in:"),
        "{page}"
    );
    let row = page
        .lines()
        .skip_while(|line| !line.contains("p95 response time"))
        .nth(1)
        .unwrap();
    assert!(row.contains("+25.0 %") && row.contains("worse"), "{row}");
    let without = sample("compare");
    assert!(without.latency.is_empty());
    assert!(!super::run_page::page(&without).contains("p95 response time"));
}

#[test]
fn the_markdown_has_its_change() {
    let text = report::experiment_markdown(&compared(), "powerband compare");
    let head = text
        .lines()
        .find(|line| line.starts_with("| configuration | answers"))
        .unwrap();
    assert!(head.contains("| p95 against the first |"), "{head}");
    assert!(
        text.contains("| +25.0 % (+10.0 to +40.0): worse |"),
        "{text}"
    );
}
