//! What was counted between saved counters and a later reading.

use flight::Histogram;
use inspect::{Asked, Baseline, Reading, Selection, document};
use run::counters::{self, Document};
use run::inspect::{Document as Inspected, NotRead, ProcessChange, ProcessState};
use std::collections::BTreeMap;

const SAVED: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// Each request takes so many ms: 40 % held, 10 % GVL wait, the rest I/O.
fn served(requests: u64, ms: u64) -> (BTreeMap<String, u64>, BTreeMap<u16, u64>) {
    let wall = requests * ms * MS;
    let counters = [
        ("requests", requests),
        ("wall_ns", wall),
        ("held_ns", wall / 10 * 4),
        ("gvl_wait_ns", wall / 10),
        ("io_ns", wall / 10 * 5),
    ];
    let bucket = Histogram::bucket_of(ms * MS) as u16;
    (
        counters.map(|(name, n)| (name.to_owned(), n)).into(),
        BTreeMap::from([(bucket, requests)]),
    )
}

fn process(pid: u32, made_ns: u64, state: ProcessState, counted: (u64, u64)) -> counters::Process {
    let (counters, wall) = served(counted.0, counted.1);
    let measured = ["wall_ns", "held_ns", "gvl_wait_ns", "io_ns"];
    counters::Process {
        file: format!("{pid}-7-0badcafe.flight"),
        pid,
        start_ticks: 7,
        pid_namespace: None,
        boot_id: None,
        created_wall_ns: made_ns,
        created_mono_ns: 1,
        last_ended_ns: Some(made_ns),
        state,
        worker: Some(pid % 10),
        workers: Some(2),
        threads: Some(3),
        server: "puma 6.6.0".to_owned(),
        ruby: "3.4.1".to_owned(),
        framework: String::new(),
        agent: "0.2.0".to_owned(),
        app_root: "/srv/shop".to_owned(),
        fibers: false,
        measured: measured.map(str::to_owned).into(),
        counts_further: false,
        ring: 64,
        in_flight: 0,
        written: counted.0,
        faults: 0,
        clock_skew: 0,
        endpoints_lost: 0,
        collector: None,
        totals: counters.clone(),
        endpoints: vec![counters::Endpoint {
            name: "a#b".to_owned(),
            counters,
            wall,
            gvl_wait: BTreeMap::new(),
            queue: BTreeMap::new(),
        }],
    }
}

fn counters_at(read_at_ns: u64, processes: Vec<counters::Process>) -> Document {
    Document {
        schema: counters::SCHEMA.to_owned(),
        powerband_version: "0.0.0".to_owned(),
        read_at: String::new(),
        read_at_ns,
        sources: Vec::new(),
        processes,
        not_read: Vec::new(),
    }
}

fn between(before: &Document, after: &Document) -> Inspected {
    let mut reading = Reading::since(Selection::default(), Baseline::of(before));
    reading.add_saved(after);
    let asked = Asked {
        version: "0.0.0".to_owned(),
        sources: Vec::new(),
        now_ns: after.read_at_ns,
    };
    document(reading.finished(), &asked)
}

/// Worker 1 goes on, worker 2 is restarted, as pid 12, and its last requests count; 30 had ended before.
fn restarted() -> (Document, Document) {
    use ProcessState::{Closed, Died, Live};
    let made = SAVED - SECOND;
    let before = vec![
        process(11, made, Live, (100, 10)),
        process(22, made, Live, (50, 10)),
        process(30, made, Closed, (9, 10)),
    ];
    let after = vec![
        process(11, made, Live, (160, 10)),
        process(22, made, Died, (70, 10)),
        process(12, SAVED + SECOND, Live, (20, 10)),
        process(30, made, Closed, (9, 10)),
    ];
    (
        counters_at(SAVED, before),
        counters_at(SAVED + 10 * SECOND, after),
    )
}

#[test]
fn the_difference_counts_every_process_and_every_request_between() {
    let (before, after) = restarted();
    let made = between(&before, &after);
    let all = made.requests.unwrap();
    assert_eq!((all.requests, all.rate_per_s), (100, Some(10.0)));
    assert_eq!(made.endpoints[0].requests, 100);
    let split = all.split.unwrap();
    assert!((split.held_ms - 4.0).abs() < 1e-9 && (split.io_ms - 5.0).abs() < 1e-9);
    assert!(!all.wall.exact && (10.0..=12.5).contains(&all.wall.p99_ms.unwrap()));
    let interval = made.interval.unwrap();
    assert_eq!(
        (
            interval.continued,
            interval.started,
            interval.ended,
            interval.gone
        ),
        (1, 1, 1, 0)
    );
    let each: Vec<(u32, ProcessChange, u64)> = interval
        .processes
        .iter()
        .map(|p| (p.pid, p.change, p.traffic.requests))
        .collect();
    assert_eq!(
        each,
        [
            (11, ProcessChange::Continued, 60),
            (22, ProcessChange::Continued, 20),
            (12, ProcessChange::Started, 20),
        ]
    );
    assert!(made.not_read.is_empty() && made.scope.span_s == 10.0);
}

#[test]
fn the_percentiles_are_those_of_the_interval() {
    let made = SAVED - SECOND;
    let before = counters_at(
        SAVED,
        vec![process(11, made, ProcessState::Live, (1000, 900))],
    );
    let mut later = process(11, made, ProcessState::Live, (1000, 900));
    let (more, wall) = served(10, 20);
    later.endpoints[0].wall.extend(wall);
    for (name, n) in more {
        *later.totals.entry(name.clone()).or_default() += n;
        *later.endpoints[0].counters.entry(name).or_default() += n;
    }
    let made = between(&before, &counters_at(SAVED + SECOND, vec![later]));
    let wall = made.requests.unwrap().wall;
    assert_eq!(wall.count, 10);
    assert!((20.0..=25.0).contains(&wall.p99_ms.unwrap()), "{wall:?}");
}

#[test]
fn counters_are_never_negative() {
    let (before, after) = restarted();
    let mut reading = Reading::since(Selection::default(), Baseline::of(&after));
    reading.add_saved(&before);
    let reading = reading.finished();
    assert!(reading.is_empty() && reading.why_empty().contains("since 2023-11-14T22:13:30Z"));
}

#[test]
fn a_share_that_is_not_known_is_named() {
    let made = SAVED - SECOND;
    let live = |pid| process(pid, made, ProcessState::Live, (10, 10));
    let before = counters_at(SAVED, vec![live(11), live(12)]);
    let mut later = live(11);
    later.totals.insert("requests".to_owned(), 15);
    later.endpoints[0]
        .counters
        .insert("requests".to_owned(), 15);
    // 12 has left no file, 13 was there and not in the saved counters.
    let after = counters_at(SAVED + SECOND, vec![later, live(13)]);
    let made = between(&before, &after);
    assert_eq!(made.requests.unwrap().requests, 5);
    assert_eq!(made.interval.unwrap().gone, 1);
    let named: Vec<&str> = made.not_read.iter().map(|f| &f.file[..2]).collect();
    assert_eq!(named, ["13", "12"]);
}

#[test]
fn a_file_that_was_being_made_counts_whole() {
    let made = SAVED - SECOND;
    let mut before = counters_at(SAVED, Vec::new());
    let young = process(11, made, ProcessState::Live, (10, 10));
    before.not_read.push(NotRead {
        file: format!("/run/{}", young.file),
        partly: false,
        reason: String::new(),
    });
    let after = counters_at(SAVED + SECOND, vec![young]);
    assert_eq!(between(&before, &after).requests.unwrap().requests, 10);
}

#[test]
fn a_process_that_is_given_twice_counts_once_by_its_later_reading() {
    let made = SAVED - SECOND;
    let at = |seconds: u64, requests| {
        let process = process(11, made, ProcessState::Live, (requests, 10));
        counters_at(SAVED + seconds * SECOND, vec![process])
    };
    let mut reading = Reading::since(Selection::default(), Baseline::of(&at(0, 100)));
    reading.add_saved(&at(10, 160));
    reading.add_saved(&at(5, 130));
    let asked = Asked {
        version: "0.0.0".to_owned(),
        sources: Vec::new(),
        now_ns: SAVED + 10 * SECOND,
    };
    let found = document(reading.finished(), &asked);
    assert_eq!(found.requests.unwrap().requests, 60);
    assert_eq!(found.not_read.len(), 1);
    assert!(found.not_read[0].reason.contains("more than once"));
}
