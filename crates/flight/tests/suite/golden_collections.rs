//! The log of collections in the golden sample that has one.

use crate::support::sample;
use flight::{Cause, Collection, CollectionKind, MajorBy, parse};
use serde_json::{Value, json};

/// As the sample's description has it.
pub fn described(one: &Collection) -> Value {
    let or_unknown = |count: Option<u64>| count.unwrap_or(u64::MAX);
    let pages_or_unknown = |count: Option<u32>| count.unwrap_or(u32::MAX);
    let began = one.live_before.is_some();
    json!({
        "sequence": one.index + 1,
        "start_mono_ns": one.start_mono_ns,
        "end_mono_ns": one.end_mono_ns,
        "pause_ns": one.pause_ns,
        "sweeping_ns": one.sweeping_ns,
        "longest_ns": one.longest_ns,
        "cpu_ns": one.cpu_ns,
        "number": one.number,
        "pauses": one.pauses,
        "thread_id": one.thread_id,
        "kind": match one.kind {
            Some(CollectionKind::Minor) => 1,
            Some(CollectionKind::Major) => 2,
            None => 0,
        },
        "major_by": match one.major_by {
            Some(MajorBy::NoFree) => 1,
            Some(MajorBy::OldGen) => 2,
            Some(MajorBy::Shady) => 3,
            Some(MajorBy::OldMalloc) => 4,
            Some(MajorBy::Force) => 5,
            None => 0,
        },
        "cause": match one.cause {
            Some(Cause::NewObject) => 1,
            Some(Cause::Malloc) => 2,
            Some(Cause::Method) => 3,
            Some(Cause::CApi) => 4,
            Some(Cause::Stress) => 5,
            None => 0,
        },
        "flags": u8::from(began) | u8::from(one.over) << 1 | u8::from(one.in_request) << 2
            | u8::from(one.swept_at_once) << 3,
        "live_before": or_unknown(one.live_before),
        "live_after": or_unknown(one.live_after),
        "old_before": or_unknown(one.old_before),
        "old_after": or_unknown(one.old_after),
        "freed": or_unknown(one.freed),
        "pages_before": pages_or_unknown(one.pages_before),
        "pages_after": pages_or_unknown(one.pages_after),
        "malloc_increase": or_unknown(one.malloc_increase),
        "oldmalloc_increase": or_unknown(one.oldmalloc_increase),
    })
}

#[test]
fn the_log_turns_and_says_what_is_promoted() {
    let log = parse(&sample("flight/collected.flight"))
        .unwrap()
        .log
        .unwrap();
    assert_eq!((log.written, log.capacity), (6, 4));
    let promoted = |at: usize| log.collections[at].promoted();
    // A major one; one whose beginning is in no file; a major one.
    assert_eq!([promoted(0), promoted(1), promoted(2)], [None; 3]);
    let minor = Collection {
        kind: Some(CollectionKind::Minor),
        ..log.collections[0]
    };
    assert_eq!(minor.promoted(), Some(103));
}
