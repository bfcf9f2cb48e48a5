//! Locks that requests held while they waited for something else: the stations of the simulation.

use std::collections::BTreeMap;

use capacity::sim::{Station, Step, Work};
use flight::LockKind;
use small_sort::SmallSort;

use crate::ProcessTrace;

/// As many as a scenario may have.
const MOST: usize = 64;

/// A lock of each process.
#[derive(Debug, Clone, PartialEq)]
pub struct Lock {
    /// `lib/cache.rb:41`
    pub site: String,
    pub kind: LockKind,
    /// Waiting for it, mean of a request since the processes began.
    pub wait_ms: f64,
    /// In possession of it, without waiting for the GVL or a core, mean of a request of the trace.
    pub held_ms: f64,
}

/// Which locks are stations, and which row of each process is which.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stations {
    /// By the number of their station.
    locks: Vec<Lock>,
    rows: Vec<BTreeMap<u8, Station>>,
}

/// Sums over processes.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    wait_ns: u64,
    held_ns: u64,
    /// A process has several of them.
    several: bool,
}

impl Stations {
    /// A row of one object that was held without the GVL. Of a row of several objects, which one a request held is not known.
    pub fn of(processes: &[ProcessTrace]) -> Self {
        let mut seen: BTreeMap<(&str, LockKind), Seen> = BTreeMap::new();
        for lock in processes
            .iter()
            .flat_map(rows)
            .filter(|lock| lock.objects > 0)
        {
            let sums = seen.entry((&lock.site, lock.kind)).or_default();
            sums.wait_ns = sums.wait_ns.saturating_add(lock.wait_ns);
            sums.held_ns = sums.held_ns.saturating_add(lock.held_ns);
            sums.several |= lock.objects > 1;
        }
        let mut longest: Vec<_> = seen.into_iter().collect();
        longest.retain(|(_, sums)| !sums.several && sums.held_ns > 0);
        longest.small_sort_by_key(|(_, sums)| std::cmp::Reverse(sums.held_ns));
        longest.truncate(MOST);
        let requests: u64 = processes.iter().map(|p| p.flight.totals.requests).sum();
        let each_ms = |ns: u64| ns as f64 / 1e6 / requests.max(1) as f64;
        let lock = |((site, kind), sums): (_, Seen)| Lock {
            site: str::to_owned(site),
            kind,
            wait_ms: each_ms(sums.wait_ns),
            held_ms: each_ms(sums.held_ns),
        };
        let locks: Vec<Lock> = longest.into_iter().map(lock).collect();
        let station = |row: &flight::Lock| {
            let mut numbered = locks.iter().zip(0..);
            let found = numbered.find(|(lock, _)| lock.site == row.site && lock.kind == row.kind);
            found.map(|(_, number)| (row.row, Station(number)))
        };
        Self {
            rows: processes
                .iter()
                .map(|process| rows(process).filter_map(station).collect())
                .collect(),
            locks,
        }
    }

    pub fn count(&self) -> usize {
        self.locks.len()
    }

    /// By row of the nth process.
    pub fn of_process(&self, nth: usize) -> BTreeMap<u8, Station> {
        self.rows.get(nth).cloned().unwrap_or_default()
    }

    /// The locks that requests of `work` held.
    pub fn held(&self, work: &Work) -> Vec<Lock> {
        let sums_ns = held_ns(work, self.locks.len());
        let each_ms = |ns: u64| ns as f64 / 1e6 / work.len().max(1) as f64;
        let locks = self.locks.iter().zip(sums_ns);
        locks
            .filter(|(_, ns)| *ns > 0)
            .map(|(lock, ns)| Lock {
                held_ms: each_ms(ns),
                ..lock.clone()
            })
            .collect()
    }
}

/// Row 0 is of all that had no row.
fn rows(process: &ProcessTrace) -> impl Iterator<Item = &flight::Lock> {
    let rows = process.flight.locks.iter().flatten();
    rows.filter(|lock| lock.row > 0)
}

/// How long each station is held by all requests together, without stalls.
fn held_ns(work: &Work, stations: usize) -> Vec<u64> {
    let mut sums = vec![0; stations];
    for request in 0..work.len() {
        let mut holds: Option<usize> = None;
        for step in work.steps(request) {
            match step {
                Step::Acquire(station) => holds = Some(usize::from(station.0)),
                Step::Release(_) => holds = None,
                Step::Held(ns) | Step::Io(ns) | Step::Native(ns) => {
                    if let Some(sum) = holds.and_then(|at| sums.get_mut(at)) {
                        *sum += ns;
                    }
                }
                Step::Answer => {}
            }
        }
    }
    sums
}
