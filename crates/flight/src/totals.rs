//! Cumulative counters: over a process or over one of its endpoints.

use crate::bytes::u64_at;

/// Counters since the file was made. Times are nanoseconds, summed over requests.
///
/// A process adds to them as it runs, so a snapshot may hold a request in one counter and not yet in
/// the next. What happened in between is the difference of two snapshots: [`Totals::since`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub requests: u64,
    /// Status 500 to 599, or the application raised.
    pub server_errors: u64,
    /// Queue time of those requests whose queue time is known.
    pub queue_ns: u64,
    pub queue_known: u64,
    /// held + gvl_wait + lock_wait + io
    pub wall_ns: u64,
    pub held_ns: u64,
    pub gvl_wait_ns: u64,
    /// See [`crate::Header::measures`]: not measured by agent 0.1, then a part of `io_ns`.
    pub lock_wait_ns: u64,
    pub io_ns: u64,
    /// CPU of the serving thread; a part of the times above.
    pub cpu_ns: u64,
    /// See [`crate::Header::measures`]: not measured by agent 0.1.
    pub gc_ns: u64,
    pub allocations: u64,
    pub yields: u64,
}

impl Totals {
    /// Bytes that the counters take at the head of a totals section or an endpoint entry.
    pub(crate) const SIZE: usize = 104;

    /// Reads the counters from the head of `bytes`; those that are not there are zero.
    pub(crate) fn from_le_bytes(bytes: &[u8]) -> Self {
        let at = |offset| u64_at(bytes, offset).unwrap_or(0);
        Self {
            requests: at(0),
            server_errors: at(8),
            queue_ns: at(16),
            queue_known: at(24),
            wall_ns: at(32),
            held_ns: at(40),
            gvl_wait_ns: at(48),
            lock_wait_ns: at(56),
            io_ns: at(64),
            cpu_ns: at(72),
            gc_ns: at(80),
            allocations: at(88),
            yields: at(96),
        }
    }

    /// What was added since `before` was read from the same file; never below zero.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.zip(before, u64::saturating_sub)
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.zip(other, u64::saturating_add)
    }

    /// Mean queue time of the requests whose queue time is known; `None` when there are none.
    #[must_use]
    pub fn mean_queue_ns(&self) -> Option<f64> {
        (self.queue_known > 0).then(|| self.queue_ns as f64 / self.queue_known as f64)
    }

    /// A sum divided by the requests, such as `totals.per_request(totals.held_ns)`; `None` without
    /// requests.
    #[must_use]
    pub fn per_request(&self, sum: u64) -> Option<f64> {
        (self.requests > 0).then(|| sum as f64 / self.requests as f64)
    }

    fn zip(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            requests: combine(self.requests, other.requests),
            server_errors: combine(self.server_errors, other.server_errors),
            queue_ns: combine(self.queue_ns, other.queue_ns),
            queue_known: combine(self.queue_known, other.queue_known),
            wall_ns: combine(self.wall_ns, other.wall_ns),
            held_ns: combine(self.held_ns, other.held_ns),
            gvl_wait_ns: combine(self.gvl_wait_ns, other.gvl_wait_ns),
            lock_wait_ns: combine(self.lock_wait_ns, other.lock_wait_ns),
            io_ns: combine(self.io_ns, other.io_ns),
            cpu_ns: combine(self.cpu_ns, other.cpu_ns),
            gc_ns: combine(self.gc_ns, other.gc_ns),
            allocations: combine(self.allocations, other.allocations),
            yields: combine(self.yields, other.yields),
        }
    }
}

impl std::iter::Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), |sum, totals| sum.plus(&totals))
    }
}
