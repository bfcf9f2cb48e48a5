//! Cumulative counters: over a process or over one of its endpoints.

use crate::bytes::u64_at;
use crate::call::{CallKind, CallTotals, PerCall};
use crate::record::Record;

/// How many counters there are.
pub const COUNTERS: usize = 44;

/// Times of [`Totals::wall_up_to`], at which no bucket of the histogram ends.
pub const EDGES_NS: [u64; 2] = [75_000_000, 250_000_000];

/// Counters since the file was made. Times are nanoseconds, summed over requests.
///
/// A process adds to them as it runs, so a snapshot may hold a request in one counter and not yet in
/// the next. What happened in between is the difference of two snapshots: [`Totals::since`].
///
/// Whether a counter says anything is for [`crate::Header::measures`] and, from `gc_own_ns` on, for
/// [`crate::Header::counts_further`] to show it: where they deny it, its 0 means "not measured".
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
    /// Not measured by agents before 0.1, then a part of `io_ns`.
    pub lock_wait_ns: u64,
    pub io_ns: u64,
    /// CPU of the serving thread since its previous request, hence to be compared with held + server_held;
    /// by agents before 0.1 during the request alone.
    pub cpu_ns: u64,
    /// The GC stopped requests, by running in their own thread or in another; part of held and gvl_wait.
    pub gc_ns: u64,
    pub allocations: u64,
    pub yields: u64,
    /// The part of `gc_ns` that the requests' own threads ran; part of held.
    pub gc_own_ns: u64,
    /// Thread CPU of that part.
    pub gc_cpu_ns: u64,
    /// GC pauses that stopped requests; one that stopped several counts for each.
    pub gc_count: u64,
    pub calls: PerCall<CallTotals>,
    /// From the server thread taking the connection up to the application, of `spans_known` requests.
    pub parse_ns: u64,
    /// From the application's return until the response was written, of `spans_known` requests.
    pub write_ns: u64,
    /// GVL held by the serving threads outside the application.
    pub server_held_ns: u64,
    /// GVL wait likewise.
    pub server_gvl_wait_ns: u64,
    /// Requests in flight when one began, itself included, summed over requests.
    pub busy_sum: u64,
    /// Requests whose `parse_ns` and `write_ns` are known.
    pub spans_known: u64,
    /// By the class of the status, 1xx to 5xx; a request that raised is a 5xx. See
    /// [`crate::Header::counts_statuses`].
    pub statuses: [u64; 5],
    /// Whose wall time is at most each of [`EDGES_NS`]. See [`crate::Header::counts_edges`].
    pub wall_up_to: [u64; 2],
}

impl Totals {
    /// Bytes that the counters take at the head of a totals section or an endpoint entry.
    pub(crate) const SIZE: usize = 104;

    /// Bytes of the further ones, which stand apart.
    pub(crate) const FURTHER_SIZE: usize = 248;

    /// Reads the counters from the head of `bytes` and the further ones from that of `further`; those that
    /// are not there are zero.
    pub(crate) fn from_le_bytes(bytes: &[u8], further: &[u8]) -> Self {
        let at = |offset| u64_at(bytes, offset).unwrap_or(0);
        let then = |offset| u64_at(further, offset).unwrap_or(0);
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
            gc_own_ns: then(0),
            gc_cpu_ns: then(8),
            gc_count: then(136),
            calls: PerCall::from_fn(|kind| {
                let kind = kind as usize;
                CallTotals {
                    seen_ns: then(16 + 16 * kind),
                    gvl_ns: then(24 + 16 * kind),
                    count: then(96 + 8 * kind),
                }
            }),
            parse_ns: then(144),
            write_ns: then(152),
            server_held_ns: then(160),
            server_gvl_wait_ns: then(168),
            busy_sum: then(176),
            spans_known: then(184),
            statuses: std::array::from_fn(|class| then(192 + 8 * class)),
            wall_up_to: std::array::from_fn(|edge| then(232 + 8 * edge)),
        }
    }

    /// The counters with their names in the contract, in the file's order.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); COUNTERS] {
        let mut copy = *self;
        copy.named_mut().map(|(name, value)| (name, *value))
    }

    /// The same, to be set.
    pub fn named_mut(&mut self) -> [(&'static str, &mut u64); COUNTERS] {
        let [sql, http, cache, redis, pool] = self.calls.each_mut();
        let [s1, s2, s3, s4, s5] = self.statuses.each_mut();
        let [up_to_75ms, up_to_250ms] = self.wall_up_to.each_mut();
        [
            ("requests", &mut self.requests),
            ("server_errors", &mut self.server_errors),
            ("queue_ns", &mut self.queue_ns),
            ("queue_known", &mut self.queue_known),
            ("wall_ns", &mut self.wall_ns),
            ("held_ns", &mut self.held_ns),
            ("gvl_wait_ns", &mut self.gvl_wait_ns),
            ("lock_wait_ns", &mut self.lock_wait_ns),
            ("io_ns", &mut self.io_ns),
            ("cpu_ns", &mut self.cpu_ns),
            ("gc_ns", &mut self.gc_ns),
            ("allocations", &mut self.allocations),
            ("yields", &mut self.yields),
            ("gc_own_ns", &mut self.gc_own_ns),
            ("gc_cpu_ns", &mut self.gc_cpu_ns),
            ("sql_ns", &mut sql.seen_ns),
            ("sql_gvl_ns", &mut sql.gvl_ns),
            ("http_ns", &mut http.seen_ns),
            ("http_gvl_ns", &mut http.gvl_ns),
            ("cache_ns", &mut cache.seen_ns),
            ("cache_gvl_ns", &mut cache.gvl_ns),
            ("redis_ns", &mut redis.seen_ns),
            ("redis_gvl_ns", &mut redis.gvl_ns),
            ("pool_ns", &mut pool.seen_ns),
            ("pool_gvl_ns", &mut pool.gvl_ns),
            ("sql_count", &mut sql.count),
            ("http_count", &mut http.count),
            ("cache_count", &mut cache.count),
            ("redis_count", &mut redis.count),
            ("pool_count", &mut pool.count),
            ("gc_count", &mut self.gc_count),
            ("parse_ns", &mut self.parse_ns),
            ("write_ns", &mut self.write_ns),
            ("server_held_ns", &mut self.server_held_ns),
            ("server_gvl_wait_ns", &mut self.server_gvl_wait_ns),
            ("busy_sum", &mut self.busy_sum),
            ("spans_known", &mut self.spans_known),
            ("status_1xx", s1),
            ("status_2xx", s2),
            ("status_3xx", s3),
            ("status_4xx", s4),
            ("status_5xx", s5),
            ("wall_up_to_75ms", up_to_75ms),
            ("wall_up_to_250ms", up_to_250ms),
        ]
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

    /// Adds one request, as the agent does when it ends.
    pub fn book(&mut self, record: &Record) {
        let add = |sum: &mut u64, value: u64| *sum = sum.saturating_add(value);
        let add_us = |sum: &mut u64, us: u32| *sum = sum.saturating_add(u64::from(us) * 1_000);
        add(&mut self.requests, 1);
        add(&mut self.server_errors, record.server_error().into());
        add(&mut self.queue_ns, record.queue_ns.unwrap_or(0));
        add(&mut self.queue_known, record.queue_ns.is_some().into());
        add(&mut self.wall_ns, record.wall_ns);
        add(&mut self.held_ns, record.held_ns);
        add(&mut self.gvl_wait_ns, record.gvl_wait_ns);
        add(&mut self.lock_wait_ns, record.lock_wait_ns);
        add(&mut self.io_ns, record.io_ns);
        add(&mut self.cpu_ns, record.cpu_ns);
        add(&mut self.gc_ns, record.gc_ns);
        add(&mut self.allocations, record.allocations);
        add(&mut self.yields, record.yields.into());
        add_us(&mut self.gc_own_ns, record.gc_own_us);
        add_us(&mut self.gc_cpu_ns, record.gc_cpu_us);
        add(&mut self.gc_count, record.gc_count.into());
        for kind in CallKind::ALL {
            let (sum, call) = (&mut self.calls[kind], &record.calls[kind]);
            add_us(&mut sum.seen_ns, call.seen_us);
            add_us(&mut sum.gvl_ns, call.gvl_us);
            add(&mut sum.count, call.count.into());
        }
        add_us(&mut self.parse_ns, record.parse_us.unwrap_or(0));
        add_us(&mut self.write_ns, record.write_us.unwrap_or(0));
        add_us(&mut self.server_held_ns, record.server_held_us);
        add_us(&mut self.server_gvl_wait_ns, record.server_gvl_wait_us);
        add(&mut self.busy_sum, record.busy_threads.into());
        add(&mut self.spans_known, record.parse_us.is_some().into());
        let class = match record.raised {
            true => self.statuses.len(),
            false => usize::from(record.status / 100),
        };
        if let Some(count) = self.statuses.get_mut(class.wrapping_sub(1)) {
            add(count, 1);
        }
        for (count, edge_ns) in self.wall_up_to.iter_mut().zip(EDGES_NS) {
            add(count, (record.wall_ns <= edge_ns).into());
        }
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

    fn zip(&self, other: &Self, combine: impl Fn(u64, u64) -> u64 + Copy) -> Self {
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
            gc_own_ns: combine(self.gc_own_ns, other.gc_own_ns),
            gc_cpu_ns: combine(self.gc_cpu_ns, other.gc_cpu_ns),
            gc_count: combine(self.gc_count, other.gc_count),
            calls: PerCall::from_fn(|kind| self.calls[kind].zip(&other.calls[kind], combine)),
            parse_ns: combine(self.parse_ns, other.parse_ns),
            write_ns: combine(self.write_ns, other.write_ns),
            server_held_ns: combine(self.server_held_ns, other.server_held_ns),
            server_gvl_wait_ns: combine(self.server_gvl_wait_ns, other.server_gvl_wait_ns),
            busy_sum: combine(self.busy_sum, other.busy_sum),
            spans_known: combine(self.spans_known, other.spans_known),
            statuses: std::array::from_fn(|class| {
                combine(self.statuses[class], other.statuses[class])
            }),
            wall_up_to: std::array::from_fn(|edge| {
                combine(self.wall_up_to[edge], other.wall_up_to[edge])
            }),
        }
    }
}

impl std::iter::Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), |sum, totals| sum.plus(&totals))
    }
}
