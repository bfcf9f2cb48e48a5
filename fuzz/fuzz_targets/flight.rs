//! The reader of flight files: any bytes whatever give an error or a snapshot whose parts account for one another, and
//! nothing that is computed from it panics or takes memory that the bytes do not explain.

#![no_main]

use flight::{CallKind, Histogram, Snapshot, Totals, Window, parse, parse_counters};
use inspect::{Asked, Reading, Selection, document};
use libfuzzer_sys::fuzz_target;
use metrics::{ENDPOINTS, Gauges, Shown, Sums, families, text};
use std::path::Path;

/// Each record and each pool sample that the header speaks of is there once, or counted as missing.
fn accounts(snapshot: &Snapshot, bytes: usize) {
    let skipped = snapshot.skipped;
    let asked = snapshot.header.written.min(u64::from(snapshot.header.ring_capacity()));
    let found = snapshot.records.len() as u64;
    assert_eq!(found + skipped.torn + skipped.unwritten + skipped.missing, asked);
    assert!(snapshot.records.windows(2).all(|pair| pair[0].index < pair[1].index));
    // No section is read twice over, so that what is read is bounded by what there was.
    assert!(snapshot.records.len() <= bytes / 112);
    assert!(snapshot.endpoints.len() <= bytes / 1_280);
    assert!(snapshot.pool_samples.len() <= bytes / 32);
    if let Some(log) = &snapshot.log {
        assert!(log.collections.len() <= bytes / 160);
        assert!(log.collections.len() as u64 <= log.written.min(log.capacity.into()));
    }
}

fn times(histogram: &Histogram) {
    let quantiles = [0.0, 0.5, 0.99, 1.0].map(|q| histogram.quantile_ns(q));
    assert!(quantiles.windows(2).all(|pair| pair[0] <= pair[1]));
    assert_eq!(quantiles[0].is_none(), histogram.count() == 0);
    assert_eq!(histogram.since(histogram).count(), 0);
}

fn totals(totals: &Totals) {
    assert_eq!(totals.since(totals), Totals::default());
    assert_eq!(totals.plus(&Totals::default()), *totals);
    let _ = totals.mean_queue_ns();
    let _ = totals.per_request(totals.wall_ns);
    for kind in CallKind::ALL {
        let _ = totals.calls[kind].really_ns();
    }
}

fn windows(snapshot: &Snapshot) {
    let all = Window::between(&[], std::slice::from_ref(snapshot));
    assert_eq!((all.processes, all.started, all.vanished), (1, 1, 0));
    let none = Window::between(std::slice::from_ref(snapshot), std::slice::from_ref(snapshot));
    assert_eq!(none.totals, Totals::default());
    let twice = [snapshot.clone(), snapshot.clone()];
    let _ = Window::between(&twice, &twice);
    times(&all.wall());
    times(&all.gvl_wait());
}

/// A document in which every request and job is counted once, and no figure is none.
fn inspected(snapshot: &Snapshot) {
    for since_ns in [None, Some(snapshot.header.created_wall_ns)] {
        let mut reading = Reading::of(Selection { since_ns, ..Selection::default() });
        reading.add(Path::new("a.flight"), snapshot.clone(), NOW_NS);
        if reading.is_empty() {
            assert!(!reading.why_empty().is_empty());
            continue;
        }
        let asked = Asked { version: String::new(), sources: Vec::new(), since: Vec::new(), now_ns: NOW_NS };
        let made = document(reading, &asked);
        let counted = |all: &[run::inspect::Traffic]| all.iter().fold(0_u64, |sum, t| sum.saturating_add(t.requests));
        let both = counted(&made.endpoints).saturating_add(counted(&made.job_classes));
        assert_eq!(both, made.processes[0].requests);
        for times in made.endpoints.iter().chain(&made.job_classes).map(|t| t.wall) {
            assert!(times.p50_ms <= times.p99_ms && times.p99_ms <= times.max_ms);
            assert!(times.mean_ms.is_finite());
        }
        for share in made.requests.iter().chain(&made.jobs).filter_map(|t| t.split?.io_share_of_work) {
            assert!((0.0..=1.0).contains(&share));
        }
        assert!(serde_json::to_string(&made).is_ok());
    }
}

fn exposed(snapshot: &Snapshot) {
    let mut sums = Sums::default();
    sums.add(snapshot);
    let written = text(&families(&sums, &Gauges::default(), Shown { endpoints: ENDPOINTS, opentelemetry: true }));
    let known = ["# ", "powerband_", "http_server_request_duration_seconds_"];
    assert!(written.lines().all(|line| known.iter().any(|begin| line.starts_with(begin))));
}

/// 2023: within what the golden files say of themselves.
const NOW_NS: u64 = 1_700_000_100_000_000_000;

fuzz_target!(|data: &[u8]| {
    let counters = parse_counters(data);
    let snapshot = match parse(data) {
        Ok(snapshot) => snapshot,
        Err(error) => {
            assert_eq!(counters.unwrap_err().to_string(), error.to_string());
            return;
        }
    };
    let counters = counters.expect("the ring is not needed for the counters");
    assert_eq!((counters.totals, &counters.endpoints), (snapshot.totals, &snapshot.endpoints));
    assert!(counters.records.is_empty());
    accounts(&snapshot, data.len());
    totals(&snapshot.totals);
    windows(&snapshot);
    for endpoint in &snapshot.endpoints {
        totals(&endpoint.totals);
        times(&endpoint.wall);
        times(&endpoint.gvl_wait);
        times(&endpoint.queue);
    }
    inspected(&snapshot);
    exposed(&snapshot);
    let back = snapshot.reaches_back_to();
    assert!(snapshot.records_in(back, u64::MAX).count() <= snapshot.records.len());
    for record in &snapshot.records {
        let _ = (record.end_mono_ns(), record.server_error());
        let _ = snapshot.endpoint_of(record);
    }
});
