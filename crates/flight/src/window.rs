//! What happened between two readings of all files.

use std::collections::{BTreeMap, HashMap};

use crate::header::ProcessId;
use crate::histogram::Histogram;
use crate::lock::LockKind;
use crate::snapshot::Snapshot;
use crate::totals::Totals;

/// Sums over processes of what was counted between two readings.
///
/// The files of workers that died meanwhile are still there at the second reading, so that their
/// requests are in the sums; those of workers that started meanwhile count whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    pub totals: Totals,
    /// By name; endpoints without a request in the window are left out.
    pub endpoints: BTreeMap<String, EndpointWindow>,
    /// Locks that requests waited for, by site and kind.
    pub locks: BTreeMap<(String, LockKind), LockWindow>,
    /// Processes at the second reading, dead ones included.
    pub processes: usize,
    /// Those of them that the first reading did not have.
    pub started: usize,
    /// Processes of the first reading whose files the second did not have: what they did in the window
    /// is lost.
    pub vanished: usize,
    /// Errors that the agent swallowed.
    pub faults: u64,
    /// Requests whose queue time came out negative and was taken as 0.
    pub clock_skew: u64,
    /// Requests booked under "(other)" because an endpoint table was full.
    pub endpoints_lost: u64,
}

/// One endpoint in a [`Window`], over all processes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndpointWindow {
    pub totals: Totals,
    pub wall: Histogram,
    pub gvl_wait: Histogram,
    pub queue: Histogram,
}

/// One lock in a [`Window`], over all processes, each of which has its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LockWindow {
    pub wait_ns: u64,
    pub holds: u64,
    pub held_ns: u64,
    /// As [`crate::Lock::objects`]: the most of a process.
    pub objects: u32,
}

impl Window {
    /// What `after` has more than `before`, process by process.
    #[must_use]
    pub fn between(before: &[Snapshot], after: &[Snapshot]) -> Self {
        let mut earlier: HashMap<ProcessId, &Snapshot> =
            before.iter().map(|s| (s.header.process(), s)).collect();
        let mut window = Self {
            processes: after.len(),
            ..Self::default()
        };
        for snapshot in after {
            let previous = earlier.remove(&snapshot.header.process());
            window.started += usize::from(previous.is_none());
            window.add(snapshot, previous);
        }
        window.vanished = earlier.len();
        window.endpoints.retain(|_, e| e.totals.requests > 0);
        window
    }

    /// Times of all endpoints together.
    #[must_use]
    pub fn wall(&self) -> Histogram {
        let all = self.endpoints.values();
        all.fold(Histogram::default(), |sum, e| sum.plus(&e.wall))
    }

    /// GVL waits of all endpoints together.
    #[must_use]
    pub fn gvl_wait(&self) -> Histogram {
        let all = self.endpoints.values();
        all.fold(Histogram::default(), |sum, e| sum.plus(&e.gvl_wait))
    }

    fn add(&mut self, now: &Snapshot, previous: Option<&Snapshot>) {
        let grown = |of: fn(&Snapshot) -> u64| of(now).saturating_sub(previous.map_or(0, of));
        self.faults += grown(|s| s.header.faults);
        self.clock_skew += grown(|s| s.header.clock_skew);
        self.endpoints_lost += grown(|s| s.header.endpoints_lost);

        let zero = Totals::default();
        let totals = now.totals.since(previous.map_or(&zero, |p| &p.totals));
        self.totals = self.totals.plus(&totals);

        for lock in now.locks.iter().flatten() {
            let mut earlier = previous.iter().flat_map(|p| p.locks.iter().flatten());
            let grown = match earlier.find(|old| old.row == lock.row) {
                Some(old) => lock.since(old),
                None => lock.clone(),
            };
            let of = (grown.site, grown.kind);
            let sum = self.locks.entry(of).or_default();
            sum.wait_ns += grown.wait_ns;
            sum.holds += grown.holds;
            sum.held_ns += grown.held_ns;
            sum.objects = sum.objects.max(grown.objects);
        }

        for endpoint in &now.endpoints {
            let sum = self.endpoints.entry(endpoint.name.clone()).or_default();
            let old = previous.and_then(|p| p.endpoints.iter().find(|e| e.index == endpoint.index));
            let grown = old.map(|old| endpoint.since(old));
            let endpoint = grown.as_ref().unwrap_or(endpoint);
            sum.totals = sum.totals.plus(&endpoint.totals);
            sum.wall = sum.wall.plus(&endpoint.wall);
            sum.gvl_wait = sum.gvl_wait.plus(&endpoint.gvl_wait);
            sum.queue = sum.queue.plus(&endpoint.queue);
        }
    }
}
