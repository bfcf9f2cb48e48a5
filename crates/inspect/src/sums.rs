//! Sums over processes that do not all measure the same: each sum knows how many requests it is over.

use flight::{CallKind, Header, PerCall, Totals};

/// A sum, and the requests of the processes that measure it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    total: u64,
    over: u64,
}

impl Sum {
    fn add(&mut self, total: u64, over: u64) {
        self.total = self.total.saturating_add(total);
        self.over = self.over.saturating_add(over);
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn over(&self) -> u64 {
        self.over
    }

    /// `None` when no process measures it.
    pub fn mean(&self) -> Option<f64> {
        (self.over > 0).then(|| self.total as f64 / self.over as f64)
    }

    pub fn mean_ms(&self) -> Option<f64> {
        self.mean().map(|ns| ns / 1e6)
    }
}

/// What a process measures.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// The GVL hook is active and no fibers share a thread.
    pub split: bool,
    pub lock: bool,
    pub gc: bool,
    gc_own: bool,
    allocations: bool,
    calls: PerCall<bool>,
    server: bool,
    busy: bool,
    /// Not where several Ruby threads share a kernel thread, whose clock it is.
    cpu: bool,
    /// CPU time is recorded with held time only, as agents before 0.1 have it.
    cpu_of_request: bool,
}

impl Measured {
    pub fn by(header: &Header) -> Self {
        let split = header.measures("held_ns") && !header.fiber_scheduler;
        let further = header.counts_further();
        Self {
            split,
            lock: split && header.measures("lock_wait_ns"),
            gc: split && header.measures("gc_ns"),
            gc_own: split && further && header.measures("gc_own_us"),
            allocations: split && header.measures("allocations"),
            // Under fibers they are not observed; without the split their time would include the GVL wait.
            calls: PerCall::from_fn(|kind| split && further && header.measures(kind.field())),
            server: split && further && header.measures("server_held_us"),
            busy: header.measures("busy_threads"),
            cpu: split && header.measures("cpu_ns"),
            cpu_of_request: !further,
        }
    }
}

/// All sums of one endpoint, or of several.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sums {
    pub requests: u64,
    pub errors: u64,
    pub wall: Sum,
    /// Over those whose queue time is known.
    pub queue: Sum,
    /// Wall time of the requests whose split is known.
    pub split_wall: Sum,
    pub held: Sum,
    pub gvl_wait: Sum,
    pub lock_wait: Sum,
    pub io: Sum,
    pub cpu: Sum,
    pub starved: Sum,
    pub gc: Sum,
    pub gc_wall: Sum,
    pub gc_own: Sum,
    pub gc_cpu: Sum,
    pub gc_count: Sum,
    pub allocations: Sum,
    pub yields: Sum,
    pub calls: PerCall<CallSums>,
    /// Over those whose spans are known.
    pub parse: Sum,
    pub write: Sum,
    pub server_held: Sum,
    pub server_gvl_wait: Sum,
    pub busy: Sum,
}

/// Calls of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallSums {
    pub seen: Sum,
    pub gvl_wait: Sum,
    pub count: Sum,
}

impl Sums {
    /// Adds what one process counted. `busy_counted`: whether `totals.busy_sum` is in the file.
    pub fn add(&mut self, totals: &Totals, measured: &Measured, busy_counted: bool) {
        let requests = totals.requests;
        self.requests = self.requests.saturating_add(requests);
        self.errors = self.errors.saturating_add(totals.server_errors);
        self.wall.add(totals.wall_ns, requests);
        self.queue.add(totals.queue_ns, totals.queue_known);
        if measured.split {
            self.split_wall.add(totals.wall_ns, requests);
            self.held.add(totals.held_ns, requests);
            self.gvl_wait.add(totals.gvl_wait_ns, requests);
            self.io.add(totals.io_ns, requests);
        }
        if measured.cpu {
            self.cpu.add(totals.cpu_ns, requests);
        }
        if measured.lock {
            self.lock_wait.add(totals.lock_wait_ns, requests);
        }
        if measured.cpu && (measured.cpu_of_request || measured.server) {
            let held = totals.held_ns.saturating_add(totals.server_held_ns);
            self.starved
                .add(held.saturating_sub(totals.cpu_ns), requests);
        }
        if measured.gc {
            self.gc.add(totals.gc_ns, requests);
            self.gc_wall.add(totals.wall_ns, requests);
        }
        if measured.gc_own {
            self.gc_own.add(totals.gc_own_ns, requests);
            self.gc_cpu.add(totals.gc_cpu_ns, requests);
            self.gc_count.add(totals.gc_count, requests);
        }
        if measured.allocations {
            self.allocations.add(totals.allocations, requests);
            self.yields.add(totals.yields, requests);
        }
        for kind in CallKind::ALL {
            if measured.calls[kind] {
                let (sums, call) = (&mut self.calls[kind], &totals.calls[kind]);
                sums.seen.add(call.seen_ns, requests);
                sums.gvl_wait.add(call.gvl_ns, requests);
                sums.count.add(call.count, requests);
            }
        }
        self.parse.add(totals.parse_ns, totals.spans_known);
        self.write.add(totals.write_ns, totals.spans_known);
        if measured.server {
            self.server_held.add(totals.server_held_ns, requests);
            self.server_gvl_wait
                .add(totals.server_gvl_wait_ns, requests);
        }
        if measured.busy && busy_counted {
            self.busy.add(totals.busy_sum, requests);
        }
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Self) {
        let join = |mine: &mut Sum, theirs: &Sum| mine.add(theirs.total, theirs.over);
        self.requests = self.requests.saturating_add(other.requests);
        self.errors = self.errors.saturating_add(other.errors);
        join(&mut self.wall, &other.wall);
        join(&mut self.queue, &other.queue);
        join(&mut self.split_wall, &other.split_wall);
        join(&mut self.held, &other.held);
        join(&mut self.gvl_wait, &other.gvl_wait);
        join(&mut self.lock_wait, &other.lock_wait);
        join(&mut self.io, &other.io);
        join(&mut self.cpu, &other.cpu);
        join(&mut self.starved, &other.starved);
        join(&mut self.gc, &other.gc);
        join(&mut self.gc_wall, &other.gc_wall);
        join(&mut self.gc_own, &other.gc_own);
        join(&mut self.gc_cpu, &other.gc_cpu);
        join(&mut self.gc_count, &other.gc_count);
        join(&mut self.allocations, &other.allocations);
        join(&mut self.yields, &other.yields);
        for kind in CallKind::ALL {
            let (mine, theirs) = (&mut self.calls[kind], &other.calls[kind]);
            join(&mut mine.seen, &theirs.seen);
            join(&mut mine.gvl_wait, &theirs.gvl_wait);
            join(&mut mine.count, &theirs.count);
        }
        join(&mut self.parse, &other.parse);
        join(&mut self.write, &other.write);
        join(&mut self.server_held, &other.server_held);
        join(&mut self.server_gvl_wait, &other.server_gvl_wait);
        join(&mut self.busy, &other.busy);
    }
}
