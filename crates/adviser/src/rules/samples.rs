//! A server that nothing is to be said of, for the tests of the checks.

use crate::looked::{Change, Checked, Looked};
use crate::seen::{Process, Seen};
use flight::{Collection, CollectionKind, Heap, MajorBy, Server, SizePool};
use run::inspect::{Stopped, StoppedBy};
use std::collections::BTreeMap;

pub(crate) fn seen() -> Seen {
    Seen {
        ruby: Some(knobs::Version(3, 3)),
        server: Server {
            name: "Puma".to_owned(),
            workers: Some(0),
            min_threads: Some(5),
            max_threads: Some(5),
            preload: None,
            worker_index: None,
        },
        allocator: "glibc".to_owned(),
        installed: Vec::new(),
        jit: "off".to_owned(),
        processes: vec![Process {
            pid: 7,
            collections: Vec::new(),
            is_whole: true,
            heap: None,
            requests: 1_000,
        }],
        watched_s: 60.0,
        collected_share: Some(0.05),
        stopped: None,
        environment: Some(BTreeMap::new()),
        setup: None,
    }
}

/// A major one of which little is known.
pub(crate) fn collection() -> Collection {
    Collection {
        index: 0,
        start_mono_ns: 1,
        end_mono_ns: 2,
        pause_ns: 1,
        sweeping_ns: 0,
        longest_ns: 1,
        cpu_ns: 1,
        number: 1,
        pauses: 1,
        thread_id: 0,
        kind: Some(CollectionKind::Major),
        major_by: Some(MajorBy::OldGen),
        cause: None,
        over: true,
        in_request: true,
        swept_at_once: false,
        live_before: None,
        live_after: None,
        old_before: None,
        old_after: None,
        freed: None,
        pages_before: None,
        pages_after: None,
        malloc_increase: None,
        oldmalloc_increase: None,
    }
}

/// 400 pages with pools of these slots: `(bytes of a slot, slots)`.
pub(crate) fn heap(pools: &[(u32, u64)]) -> Heap {
    let pool = |&(slot_bytes, slots): &(u32, u64)| SizePool {
        slot_bytes,
        slots,
        live_slots: None,
    };
    Heap {
        mono_ns: 1,
        pages: 400,
        page_bytes: 65_536,
        live_slots: 1,
        free_slots: 1,
        old_objects: 1,
        pools: pools.iter().map(pool).collect(),
    }
}

pub(crate) fn stopped(by_major: f64, by_minor: f64) -> Stopped {
    let by = |share| StoppedBy {
        requests: 1,
        share,
        mean_ms: 1.0,
    };
    Stopped {
        name: "all requests".to_owned(),
        requests: 2_000,
        p99_ms: 1.0,
        p99_without_ms: 1.0,
        untouched: 1_000,
        p99_untouched_ms: None,
        slowest: 20,
        by_major: by(by_major),
        by_minor: by(by_minor),
    }
}

pub(crate) fn suggested(looked: Checked) -> Change {
    match looked {
        Ok(Looked::Suggest(change)) => change,
        other => panic!("no suggestion: {other:?}"),
    }
}
