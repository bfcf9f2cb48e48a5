//! The pages of `powerband memory` and of its comparison.

use crate::support::{flat, within, without_noise};
use report::{Readable, Style};
use run::memory::{Comparison, Course, Difference, Document};
use serde::de::DeserializeOwned;

fn sample<D: DeserializeOwned>(name: &str) -> D {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/memory");
    serde_json::from_str(&std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap())
        .unwrap()
}

fn page(readable: &Readable, width: u16) -> String {
    let style = Style {
        width,
        colour: false,
    };
    let page = readable.page(false, style);
    within(width, &page);
    without_noise(&page);
    flat(&page)
}

fn of(document: &Document) -> String {
    page(&Readable::Memory(Box::new(document.clone())), 100)
}

#[test]
fn every_part_is_there_at_every_width() {
    let document: Document = sample("cluster");
    let readable = Readable::Memory(Box::new(document));
    for width in [60, 80, 100, 160] {
        let page = page(&readable, width);
        for words in [
            "together grows",
            "the limit of the control group is reached in",
            "a thousand requests",
            "Memory of each process",
            "worker 0",
            "Ruby's heap",
            "malloc and the like",
            "Shared since a fork",
            "slots:",
            "Control group",
            "Not known",
            "another user",
        ] {
            assert!(page.contains(words), "{width}: {words}: {page}");
        }
    }
}

#[test]
fn each_verdict_has_its_sentence() {
    let mut document: Document = sample("cluster");
    let sentences = [
        (Course::Flat, "is flat"),
        (Course::WarmingUp, "more slowly than before"),
        (Course::Plateau, "has levelled off"),
        (Course::Growing, "grows"),
        (Course::Shrinking, "falls"),
        (Course::Undecided, "is not decided"),
        (Course::TooShort, "a verdict needs 20 readings of PSS"),
    ];
    for (course, sentence) in sentences {
        document.growth.course = course;
        assert!(of(&document).contains(sentence), "{sentence}");
    }
    document.growth.course = Course::Undecided;
    let pace = document.growth.per_hour.as_mut().unwrap();
    (pace.low_bytes, pace.high_bytes) = (1e6, 9e6);
    let page = of(&document);
    assert!(page.contains("grew while it was read"), "{page}");
    assert!(!page.contains("the readings allow changes"), "{page}");
    (document.growth.per_hour.as_mut().unwrap().low_bytes) = -1e6;
    assert!(of(&document).contains("the readings allow changes"));
}

#[test]
fn flat_memory_may_rise_a_little() {
    let mut document: Document = sample("cluster");
    document.growth.course = Course::Flat;
    for (low_bytes, rises) in [(-1e6, false), (1e6, true)] {
        document.growth.per_hour.as_mut().unwrap().low_bytes = low_bytes;
        let page = of(&document);
        assert!(page.contains("changes by less than 2 % in this time, at a pace of "));
        assert_eq!(page.contains("whether it goes on to rise"), rises, "{page}");
    }
    document.length_s = 60.0;
    let page = of(&document);
    assert!(page.contains("changes by less than 2 % in this time. Read for longer"));
}

#[test]
fn what_happened_to_the_control_group_since_it_was_made_is_said() {
    let mut document: Document = sample("cluster");
    let container = document.container.as_mut().unwrap();
    container.oom_events = None;
    (container.oom_kills, container.oom_kills_meanwhile) = (Some(3), Some(1));
    let page = of(&document);
    assert!(
        page.contains("Since the group was made: the kernel killed 3 processes for lack of memory, 1 of them during this reading."),
        "{page}"
    );
    let container = document.container.as_mut().unwrap();
    (container.oom_events, container.oom_kills_meanwhile) = (Some(2), Some(0));
    let page = of(&document);
    assert!(page.contains(
        "made: ran out of memory 2 times; the kernel killed 3 processes for lack of memory."
    ));
    let container = document.container.as_mut().unwrap();
    (container.oom_events, container.oom_kills) = (None, None);
    assert!(!of(&document).contains("Since the group was made"));
}

#[test]
fn a_short_time_says_that_its_hour_is_extrapolated() {
    let mut document: Document = sample("cluster");
    document.growth.course = Course::Growing;
    for (length_s, extrapolated) in [(6.0, true), (299.0, true), (300.0, false)] {
        document.length_s = length_s;
        let page = of(&document);
        assert_eq!(
            page.contains("This is extrapolated from"),
            extrapolated,
            "{page}"
        );
    }
}

#[test]
fn what_is_unknown_is_no_zero() {
    let mut document: Document = sample("cluster");
    document.container = None;
    for process in &mut document.processes {
        process.last = None;
        process.last_heap = None;
        process.growth.per_hour = None;
        process.samples.iter_mut().for_each(|sample| {
            sample.pss_bytes = None;
            sample.uss_bytes = None;
        });
    }
    let page = of(&document);
    assert!(
        !page.contains("What it consists of") && !page.contains("Control group"),
        "{page}"
    );
    assert!(!page.contains("Ruby's heap,"), "{page}");
    assert!(page.contains("– –"), "{page}");
}

#[test]
fn pages_that_grow_without_objects_are_fragmented() {
    let mut document: Document = sample("cluster");
    let said = |document: &Document| of(document).contains("Ruby's heap is fragmented");
    assert!(!said(&document));
    for heap in document
        .processes
        .iter_mut()
        .filter_map(|p| p.last_heap.as_mut())
    {
        heap.pages *= 2;
    }
    let first: Vec<_> = document
        .processes
        .iter()
        .map(|p| p.first_heap.clone())
        .collect();
    for (process, first) in document.processes.iter_mut().zip(first) {
        if let (Some(last), Some(first)) = (&mut process.last_heap, first) {
            last.live_slots = first.live_slots;
        }
    }
    assert!(said(&document));
}

#[test]
fn a_comparison_says_what_it_is_and_is_not() {
    let mut compared: Comparison = sample("comparison");
    let shown =
        |compared: &Comparison| page(&Readable::MemoryComparison(Box::new(compared.clone())), 80);
    assert!(shown(&compared).contains("not clearly different"));
    assert!(shown(&compared).contains("not two causes"));
    compared.difference = Difference::Less;
    compared.after.level_bytes = compared.before.level_bytes / 2.0;
    compared.factor = 0.5;
    assert!(shown(&compared).contains("(50.0 %) less memory (PSS) than before"));
}

#[test]
fn the_html_page_has_the_charts() {
    let html = Readable::Memory(Box::new(sample("cluster"))).html();
    for id in ["memory", "processes", "parts"] {
        assert!(html.contains(&format!("\"id\":\"{id}\"")), "{id}");
    }
    assert!(html.contains("\"name\":\"worker 0 (pid"));
    let html = Readable::MemoryComparison(Box::new(sample("comparison"))).html();
    assert!(html.contains("\"id\":\"parts\""));
}

#[test]
fn a_process_that_began_later_has_a_column() {
    let mut document: Document = sample("cluster");
    assert!(!of(&document).contains("began later"));
    let workers = document.processes.iter_mut().filter(|p| p.worker.is_some());
    let changed = workers.map(|p| p.began = true).count();
    let page = of(&document);
    assert!(page.contains("change began later"), "{page}");
    let stayed = document.processes.len() - changed;
    assert!(page.contains(&format!("of the {stayed} process")), "{page}");
}

#[test]
fn growth_by_requests_says_over_how_many_and_whether_it_may_be_none() {
    let mut document: Document = sample("cluster");
    for (requests, sample) in (0..).zip(&mut document.samples) {
        sample.requests = Some(1_000 * requests);
    }
    let served = (document.samples.len() as u64 - 1) * 1_000;
    let pace = document.growth.per_thousand_requests.as_mut().unwrap();
    (pace.low_bytes, pace.high_bytes) = (1.0, 2.0);
    let page = of(&document);
    assert!(!page.contains("no change is among"), "{page}");
    let words = format!("over {},000 requests", served / 1_000);
    assert!(page.contains(&words), "{page}");
    let pace = document.growth.per_thousand_requests.as_mut().unwrap();
    pace.low_bytes = -1.0;
    assert!(of(&document).contains("no change is among the possible values"));
}

#[test]
fn a_time_without_requests_is_said() {
    let mut document: Document = sample("cluster");
    let mut said = |requests: fn(u64) -> Option<u64>| {
        for (at, reading) in (0..).zip(&mut document.samples) {
            reading.requests = requests(at);
        }
        of(&document).contains("No request was served")
    };
    assert!(said(|_| Some(7)));
    assert!(!said(Some));
    assert!(!said(|_| None));
}
