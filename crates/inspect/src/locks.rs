//! Locks that requests waited for, all processes together.

use flight::Lock as Row;
use run::inspect::{Lock, LockKind};
use small_sort::SmallSort;
use std::collections::BTreeMap;

/// Rows of the document: those that were waited for longest.
const MOST: usize = 20;

/// Sums by place and kind.
#[derive(Debug, Default)]
pub struct Locks(BTreeMap<(String, flight::LockKind), Seen>);

#[derive(Debug, Default)]
struct Seen {
    waits: u64,
    wait_ns: u64,
    longest_wait_ns: u64,
    objects: u32,
    holds: u64,
    held_ns: u64,
    longest_held_ns: u64,
}

impl Locks {
    pub fn add(&mut self, row: &Row) {
        let site = crate::instant::printable(&row.site);
        let seen = self.0.entry((site, row.kind)).or_default();
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut seen.waits, row.waits);
        add(&mut seen.wait_ns, row.wait_ns);
        add(&mut seen.holds, row.holds);
        add(&mut seen.held_ns, row.held_ns);
        seen.longest_wait_ns = seen.longest_wait_ns.max(row.longest_wait_ns);
        seen.longest_held_ns = seen.longest_held_ns.max(row.longest_held_ns);
        seen.objects = seen.objects.max(row.objects);
    }

    /// The one that was waited for longest first.
    pub fn into_document(self) -> Vec<Lock> {
        let all_ns = self
            .0
            .values()
            .fold(0, |sum: u64, seen| sum.saturating_add(seen.wait_ns));
        let seen = self.0.into_iter().filter(|(_, seen)| seen.waits > 0);
        let mut locks: Vec<Lock> = seen.map(|(of, seen)| document(of, &seen, all_ns)).collect();
        locks.small_sort_by(|a, b| b.wait_ms.total_cmp(&a.wait_ms));
        locks.truncate(MOST);
        locks
    }
}

fn document((site, kind): (String, flight::LockKind), seen: &Seen, all_ns: u64) -> Lock {
    let ms = |ns: u64| ns as f64 / 1e6;
    let held_ms = (seen.holds > 0).then(|| ms(seen.held_ns) / seen.holds as f64);
    let alone = held_ms.filter(|held_ms| seen.objects == 1 && *held_ms > 0.0);
    Lock {
        site: Some(site).filter(|site| !site.is_empty()),
        kind: match kind {
            flight::LockKind::Mutex => Some(LockKind::Mutex),
            flight::LockKind::Queue => Some(LockKind::Queue),
            flight::LockKind::SizedQueue => Some(LockKind::SizedQueue),
            flight::LockKind::ConditionVariable => Some(LockKind::ConditionVariable),
            flight::LockKind::Monitor => Some(LockKind::Monitor),
            flight::LockKind::Other => None,
        },
        waits: seen.waits,
        wait_ms: ms(seen.wait_ns),
        share_of_lock_wait: (all_ns > 0).then(|| seen.wait_ns as f64 / all_ns as f64),
        longest_wait_ms: ms(seen.longest_wait_ns),
        objects: seen.objects,
        holds: seen.holds,
        held_ms,
        longest_held_ms: held_ms.map(|_| ms(seen.longest_held_ns)),
        most_per_s: alone.map(|held_ms| 1e3 / held_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(site: &str, waits: u64, objects: u32) -> Row {
        Row {
            row: 1,
            kind: flight::LockKind::Mutex,
            site: site.to_owned(),
            first_mono_ns: 1,
            waits,
            wait_ns: waits * 6_000_000,
            longest_wait_ns: waits * 1_000_000,
            holds: 2 * waits,
            held_ns: waits * 10_000_000,
            longest_held_ns: 7_000_000,
            objects,
        }
    }

    #[test]
    fn processes_are_added_up_and_each_has_its_own_lock() {
        let mut locks = Locks::default();
        locks.add(&row("lib/keyed.rb:7", 10, 3));
        locks.add(&row("lib/cache.rb:41", 10, 1));
        locks.add(&row("lib/cache.rb:41", 20, 1));
        locks.add(&row("never.rb:1", 0, 1));
        let found = locks.into_document();
        let sites: Vec<_> = found.iter().map(|lock| lock.site.as_deref()).collect();
        assert_eq!(sites, [Some("lib/cache.rb:41"), Some("lib/keyed.rb:7")]);
        let cache = &found[0];
        assert_eq!((cache.waits, cache.wait_ms, cache.objects), (30, 180.0, 1));
        assert_eq!((cache.held_ms, cache.most_per_s), (Some(5.0), Some(200.0)));
        assert_eq!(cache.share_of_lock_wait, Some(0.75));
        assert_eq!(cache.longest_wait_ms, 20.0);
        // Of several objects each lets so many pass, and how many there are is not known.
        assert_eq!((found[1].held_ms, found[1].most_per_s), (Some(5.0), None));
    }
}
