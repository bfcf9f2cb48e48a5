//! Locks that requests waited for, by name, and what one lets pass.

use super::{ms, ms_or_none};
use crate::figures::{grouped, percent};
use crate::sheet::Sheet;
use crate::tables::{NONE, align_left, in_parts};
use run::inspect::{Document, Lock, LockKind};

/// Rows of the table.
const MOST: usize = 10;
/// From this part of a request's time on, the wait for a lock is worth a sentence.
const WORTH_A_SENTENCE: f64 = 0.05;

/// The table, and a sentence for each lock that takes much of a request's time.
pub fn write(sheet: &mut Sheet, document: &Document) {
    if document.locks.is_empty() {
        return;
    }
    sheet.heading("Locks that requests waited for");
    let head = [
        "line",
        "class",
        "waits",
        "total ms",
        "share",
        "longest ms",
        "holds",
        "held ms",
        "longest held ms",
        "locks",
    ];
    let rows: Vec<Vec<String>> = document.locks.iter().take(MOST).map(row).collect();
    let mut tables = in_parts(sheet.style(), &head, &rows);
    tables.iter_mut().for_each(|table| align_left(table, 0));
    sheet.tables(tables);
    let traffic = [&document.requests, &document.jobs];
    let traffic = traffic.into_iter().flatten();
    let (count, wall_ms) = traffic.fold((0, 0.0), |(count, sum), traffic| {
        let wall_ms = traffic.requests as f64 * traffic.wall.mean_ms;
        (count + traffic.requests, sum + wall_ms)
    });
    let much = |lock: &&Lock| lock.wait_ms >= WORTH_A_SENTENCE * wall_ms && count > 0;
    for lock in document.locks.iter().filter(much) {
        if let Some(sentence) = sentence(lock, lock.wait_ms / count as f64) {
            sheet.labelled("- ", &sentence);
        }
    }
}

fn row(lock: &Lock) -> Vec<String> {
    let or_none = |number: u64, there: bool| match there {
        true => grouped(number),
        false => NONE.to_owned(),
    };
    vec![
        lock.site.clone().unwrap_or_else(|| "(other)".to_owned()),
        lock.kind.map_or(NONE, class).to_owned(),
        grouped(lock.waits),
        ms(lock.wait_ms),
        lock.share_of_lock_wait.map_or(NONE.to_owned(), percent),
        ms(lock.longest_wait_ms),
        or_none(lock.holds, lock.objects > 0),
        ms_or_none(lock.held_ms),
        ms_or_none(lock.longest_held_ms),
        or_none(lock.objects.into(), lock.objects > 0),
    ]
}

fn class(kind: LockKind) -> &'static str {
    match kind {
        LockKind::Mutex => "Mutex",
        LockKind::Queue => "Queue",
        LockKind::SizedQueue => "SizedQueue",
        LockKind::ConditionVariable => "ConditionVariable",
        LockKind::Monitor => "Monitor",
    }
}

/// What to do about it; a queue or a pool has other remedies.
fn sentence(lock: &Lock, each_ms: f64) -> Option<String> {
    let (site, kind) = (lock.site.as_ref()?, class(lock.kind?));
    let waits = format!("A request waits {} ms on average at {site}", ms(each_ms));
    Some(match (lock.held_ms, lock.most_per_s) {
        (Some(held_ms), Some(per_s)) => format!(
            "{waits}. A thread that does I/O in this {kind} holds it for {} ms at a time, so each process can do that at most {} times a second, \
             with any number of threads. Hold it for a shorter time (no I/O inside), or run more processes: each has one.",
            ms(held_ms),
            grouped(per_s as u64)
        ),
        (Some(held_ms), None) => format!(
            "{waits}. Threads hold one of several locks of class {kind} for {} ms at a time. Hold them for a shorter time (no I/O inside).",
            ms(held_ms)
        ),
        (None, _) => format!(
            "{waits}. They wait in a {kind} for another thread, for example for a connection that it gives back."
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock() -> Lock {
        Lock {
            site: Some("lib/cache.rb:41".to_owned()),
            kind: Some(LockKind::Mutex),
            waits: 900,
            wait_ms: 6_000.0,
            share_of_lock_wait: Some(1.0),
            longest_wait_ms: 31.0,
            objects: 1,
            holds: 1_000,
            held_ms: Some(6.2),
            longest_held_ms: Some(9.0),
            most_per_s: Some(161.3),
        }
    }

    #[test]
    fn a_lock_is_named_with_what_it_lets_pass() {
        let one = sentence(&lock(), 6.0).unwrap();
        assert!(
            one.starts_with("A request waits 6.00 ms on average at lib/cache.rb:41. A thread that does I/O in this Mutex holds it for 6.20 ms at a time, so each process can do that at most 161 times a second, with any number of threads."),
            "{one}"
        );
        let several = Lock {
            objects: 4,
            most_per_s: None,
            ..lock()
        };
        let several = sentence(&several, 6.0).unwrap();
        assert!(
            several.contains("several locks") && !several.contains("a second"),
            "{several}"
        );
        let queue = Lock {
            kind: Some(LockKind::Queue),
            objects: 0,
            held_ms: None,
            most_per_s: None,
            ..lock()
        };
        let queue = sentence(&queue, 6.0).unwrap();
        assert!(
            queue.contains("wait in a Queue for another thread"),
            "{queue}"
        );
        let other = Lock {
            site: None,
            ..lock()
        };
        assert_eq!(sentence(&other, 6.0), None);
    }
}
