//! The log of a process's collections, with the requests that ran them and waited for them.

use crate::collections::{cause, kind, major_by};
use crate::instant::{printable, rfc3339};
use crate::process::{mono_of, wall_of};
use flight::{Collection, Record, Snapshot};
use run::collections;
use small_sort::SmallSort;
use std::path::Path;

/// The process, with the length of its log; `None` where its agent has none.
#[must_use]
pub fn logged_process(path: &Path, snapshot: &Snapshot) -> Option<collections::Process> {
    let log = snapshot.log.as_ref()?;
    Some(collections::Process {
        pid: snapshot.header.pid,
        worker: snapshot.header.server.worker_index,
        file: printable(&path.display().to_string()),
        written: log.written,
        lost: log.lost(),
    })
}

/// Its collections that began at `since_ns` (nanoseconds since 1970) or later, oldest first, each with that instant; `None` where its
/// agent has no log.
#[must_use]
pub fn collection_log(
    snapshot: &Snapshot,
    since_ns: u64,
) -> Option<Vec<(u64, collections::Collection)>> {
    let log = snapshot.log.as_ref()?;
    let from = mono_of(&snapshot.header, since_ns);
    let since = |one: &&Collection| one.start_mono_ns >= from;
    let served = Served::of(snapshot);
    let all = log.collections.iter().filter(since);
    let began_ns = |one: &Collection| wall_of(&snapshot.header, one.start_mono_ns);
    Some(
        all.map(|one| (began_ns(one), logged(snapshot, &served, one)))
            .collect(),
    )
}

fn logged(snapshot: &Snapshot, served: &Served, one: &Collection) -> collections::Collection {
    let header = &snapshot.header;
    let page_bytes = header.heap.as_ref().map(|heap| u64::from(heap.page_bytes));
    let bytes = |pages: Option<u32>| Some(u64::from(pages?).saturating_mul(page_bytes?));
    let ms = |ns: u64| ns as f64 / 1e6;
    collections::Collection {
        at: rfc3339(wall_of(header, one.start_mono_ns)),
        pid: header.pid,
        worker: header.server.worker_index,
        number: one.number,
        kind: kind(one.kind),
        major_by: major_by(one.major_by),
        cause: cause(one.cause),
        over: one.over,
        pause_ms: ms(one.pause_ns),
        pauses: one.pauses,
        longest_pause_ms: ms(one.longest_ns),
        sweeping_ms: ms(one.sweeping_ns),
        lasted_ms: ms(one.end_mono_ns.saturating_sub(one.start_mono_ns)),
        cpu_ms: ms(one.cpu_ns),
        live_before: one.live_before,
        live_after: one.live_after,
        freed: one.freed,
        old_before: one.old_before,
        old_after: one.old_after,
        promoted: one.promoted(),
        heap_before_bytes: bytes(one.pages_before),
        heap_after_bytes: bytes(one.pages_after),
        malloc_bytes: one.malloc_increase,
        oldmalloc_bytes: one.oldmalloc_increase,
        request: served.that_ran(one).map(|record| name(snapshot, record)),
        waited: served.that_waited(one),
    }
}

fn name(snapshot: &Snapshot, record: &Record) -> String {
    let endpoint = snapshot.endpoint_of(record);
    endpoint.map_or_else(|| "(cut off)".to_owned(), |e| printable(&e.name))
}

/// The records of a process, in the order in which the requests began.
struct Served<'s> {
    records: Vec<&'s Record>,
    /// The longest, so that no request has to be looked at that ended long before.
    longest_ns: u64,
    reaches_back_to: u64,
    knows_stops: bool,
}

impl<'s> Served<'s> {
    fn of(snapshot: &'s Snapshot) -> Self {
        let mut records: Vec<&Record> = snapshot.records.iter().collect();
        records.small_sort_by_key(|record| record.start_mono_ns);
        let header = &snapshot.header;
        Self {
            longest_ns: records.iter().map(|r| r.wall_ns).max().unwrap_or(0),
            records,
            reaches_back_to: snapshot.reaches_back_to(),
            knows_stops: header.measures("gc_ns") && !header.fiber_scheduler,
        }
    }

    /// Those of which a part lies between two instants.
    fn between(&self, from: u64, to: u64) -> impl Iterator<Item = &'s Record> + '_ {
        let earliest = from.saturating_sub(self.longest_ns);
        let begin = self.records.partition_point(|r| r.start_mono_ns < earliest);
        let began = self.records[begin..].iter().copied();
        let began = began.take_while(move |record| record.start_mono_ns <= to);
        began.filter(move |record| record.end_mono_ns() >= from)
    }

    fn that_ran(&self, one: &Collection) -> Option<&'s Record> {
        let at = one.start_mono_ns;
        let mut its = self.between(at, at);
        one.in_request
            .then(|| its.find(|record| record.thread_id == one.thread_id))?
    }

    fn that_waited(&self, one: &Collection) -> Option<u64> {
        let known = self.knows_stops && one.start_mono_ns >= self.reaches_back_to;
        let its = || self.between(one.start_mono_ns, one.end_mono_ns);
        known.then(|| its().filter(|record| record.gc_ns > 0).count() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Snapshot {
        let path = "../../contract/samples/flight/collected.flight";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        flight::parse(&std::fs::read(path).unwrap()).unwrap()
    }

    #[test]
    fn each_collection_is_there_with_what_it_did() {
        let snapshot = sample();
        let all = collection_log(&snapshot, 0).unwrap();
        let numbers: Vec<u32> = all.iter().map(|(_, one)| one.number).collect();
        assert_eq!(numbers, [33, 34, 35]);
        assert!(all.is_sorted_by_key(|(began_ns, _)| *began_ns));
        let (began_ns, first) = &all[0];
        assert_eq!(rfc3339(*began_ns), first.at);
        assert_eq!(first.at, "2023-11-14T22:13:20.36Z");
        assert_eq!(
            (first.live_before, first.freed),
            (Some(20_003), Some(5_003))
        );
        assert_eq!(first.heap_after_bytes, Some(27 * 65_536));
        assert_eq!((first.lasted_ms, first.pause_ms), (40.0, 9.000_003));
        assert_eq!(all[1].1.live_before, None);
        assert_eq!(snapshot.log.as_ref().unwrap().lost(), 2);
        let since = snapshot.header.created_wall_ns + 500_000_000;
        assert_eq!(collection_log(&snapshot, since).unwrap().len(), 1);
        let older = Snapshot {
            log: None,
            locks: None,
            ..snapshot
        };
        assert_eq!(collection_log(&older, 0), None);
    }

    #[test]
    fn a_ring_that_has_turned_does_not_say_how_many_waited() {
        let mut snapshot = sample();
        let waited = |of: &Snapshot| collection_log(of, 0).unwrap()[0].1.waited;
        assert!(waited(&snapshot).is_some());
        snapshot.records.drain(..39);
        assert_eq!(waited(&snapshot), None);
    }

    proptest! {
        #[test]
        fn who_ran_it_and_who_waited_are_as_a_look_at_every_request_says(
            requests in proptest::collection::vec((0_u64..1_000, 0_u64..300, 1_u32..4, 0_u64..2), 1..40),
            (start, lasted, thread) in (0_u64..1_300, 0_u64..200, 1_u32..4),
        ) {
            let mut snapshot = sample();
            let made = snapshot.header.created_mono_ns;
            let one_record = snapshot.records[0];
            let of = |(at, wall_ns, thread_id, gc_ns): (u64, u64, u32, u64)| Record {
                index: 0, start_mono_ns: made + at, wall_ns, thread_id, gc_ns, ..one_record
            };
            snapshot.records = requests.into_iter().map(of).collect();
            let one = Collection {
                start_mono_ns: made + start,
                end_mono_ns: made + start + lasted,
                thread_id: thread,
                in_request: true,
                ..snapshot.log.as_ref().unwrap().collections[0]
            };
            let (from, to) = (one.start_mono_ns, one.end_mono_ns);
            let overlaps = |r: &&Record, from, to| r.start_mono_ns <= to && r.end_mono_ns() >= from;
            let waited = snapshot.records.iter().filter(|r| overlaps(r, from, to) && r.gc_ns > 0);
            let ran = snapshot.records.iter().any(|r| overlaps(&r, from, from) && r.thread_id == thread);
            let served = Served::of(&snapshot);
            prop_assert_eq!(served.that_waited(&one), Some(waited.count() as u64));
            prop_assert_eq!(served.that_ran(&one).is_some(), ran);
        }
    }
}
