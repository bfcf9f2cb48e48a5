//! A group's sums and times as the document has them.

use crate::band::{bands, share_of_work};
use crate::group::Group;
use crate::instant::printable;
use crate::quantile::{bounded, exact};
use crate::sums::{Sum, Sums};
use flight::{CallKind, Histogram};
use run::inspect::{self, Calls, Gc, Server, Split, Times, Traffic};

impl Group {
    /// Adds another's, its times included.
    pub fn merge(&mut self, other: &Group) {
        self.sums.merge(&other.sums);
        self.wall = self.wall.plus(&other.wall);
        self.gvl_wait = self.gvl_wait.plus(&other.gvl_wait);
        self.queue = self.queue.plus(&other.queue);
        self.samples.extend_from_slice(&other.samples);
        self.records_lost |= other.records_lost;
    }

    /// `from_rings`: nothing but records was counted. `span_s` is absent where a rate would be wrong.
    pub fn into_traffic(
        mut self,
        name: &str,
        all_wall: u64,
        span_s: Option<f64>,
        from_rings: bool,
    ) -> Traffic {
        let sums = self.sums;
        let exact_times = from_rings || !self.records_lost;
        let times = |of: fn(&crate::band::Sample) -> u64, histogram: &Histogram, sum: &Sum| {
            let mean_ms = sum.mean_ms()?;
            let mut values: Vec<u64> = if exact_times {
                let all = self.samples.iter().map(of);
                all.filter(|ns| *ns != u64::MAX).collect()
            } else {
                Vec::new()
            };
            let found = exact(&mut values, mean_ms);
            Some(found.unwrap_or_else(|| bounded(histogram, sum.over(), mean_ms)))
        };
        let wall = times(|s| s.wall, &self.wall, &sums.wall);
        let queue = times(|s| s.queue, &self.queue, &sums.queue);
        let whole_split = sums.held.over() == sums.requests;
        let gvl_wait = if whole_split {
            times(|s| s.gvl_wait, &self.gvl_wait, &sums.gvl_wait)
        } else {
            None
        };
        let all = |sum: &Sum| sum.over() == sums.requests;
        Traffic {
            name: printable(name),
            requests: sums.requests,
            errors: sums.errors,
            rate_per_s: span_s
                .filter(|s| *s > 0.0)
                .map(|s| sums.requests as f64 / s),
            share_of_time: sums.wall.total() as f64 / all_wall.max(1) as f64,
            wall: wall.unwrap_or(NO_TIMES),
            queue,
            gvl_wait,
            split: split(&sums),
            gc: gc(&sums),
            calls: calls(&sums),
            server: server(&sums),
            allocations: sums.allocations.mean(),
            yields: sums.yields.mean(),
            busy_threads: sums.busy.mean(),
            bands: if whole_split {
                bands(&mut self.samples, all(&sums.lock_wait), all(&sums.gc))
            } else {
                Vec::new()
            },
        }
    }
}

const NO_TIMES: Times = Times {
    count: 0,
    mean_ms: 0.0,
    p50_ms: None,
    p90_ms: None,
    p99_ms: None,
    max_ms: None,
    exact: true,
};

fn split(sums: &Sums) -> Option<Split> {
    let wall = sums.split_wall.mean_ms()?;
    let share = |ms: f64| if wall > 0.0 { ms / wall } else { 0.0 };
    let (held, io) = (sums.held.mean_ms()?, sums.io.mean_ms()?);
    let gvl_wait = sums.gvl_wait.mean_ms()?;
    // Where a process cannot distinguish it from I/O, neither figure would be what its name says.
    let lock_wait = (sums.lock_wait.over() == sums.held.over())
        .then(|| sums.lock_wait.mean_ms())
        .flatten();
    let io_known = match lock_wait {
        Some(_) => io,
        None => io + sums.lock_wait.total() as f64 / sums.held.over().max(1) as f64 / 1e6,
    };
    Some(Split {
        held_ms: held,
        gvl_wait_ms: gvl_wait,
        lock_wait_ms: lock_wait,
        io_ms: io_known,
        held_share: share(held),
        gvl_wait_share: share(gvl_wait),
        lock_wait_share: lock_wait.map(share),
        io_share: share(io_known),
        io_share_of_work: share_of_work(held, io_known),
        useful_threads: useful_threads(held, io_known),
        cpu_ms: sums.cpu.mean_ms(),
        starved_ms: sums.starved.mean_ms(),
    })
}

/// T*, from times in any unit; `None` where the formula has no answer.
pub fn useful_threads(held: f64, io: f64) -> Option<f64> {
    let threads = capacity::useful_threads(held, io).ok()?;
    threads.is_finite().then_some(threads)
}

fn gc(sums: &Sums) -> Option<Gc> {
    let stopped = sums.gc.mean_ms()?;
    let wall = sums.gc_wall.mean_ms()?;
    let own = sums.gc_own.mean_ms();
    Some(Gc {
        stopped_ms: stopped,
        stopped_share: if wall > 0.0 { stopped / wall } else { 0.0 },
        own_ms: own,
        others_ms: own.map(|own| (stopped - own).max(0.0)),
        own_cpu_ms: sums.gc_cpu.mean_ms(),
        pauses: sums.gc_count.mean(),
    })
}

fn calls(sums: &Sums) -> Vec<Calls> {
    let kinds = [
        (CallKind::Sql, inspect::CallKind::Sql),
        (CallKind::Http, inspect::CallKind::Http),
        (CallKind::Cache, inspect::CallKind::Cache),
        (CallKind::Redis, inspect::CallKind::Redis),
        (CallKind::Pool, inspect::CallKind::Pool),
    ];
    let found = kinds.into_iter().filter_map(|(key, kind)| {
        let call = &sums.calls[key];
        let (seen, gvl_wait) = (call.seen.mean_ms()?, call.gvl_wait.mean_ms()?);
        let really = (seen - gvl_wait).max(0.0);
        let per_request = call.count.mean()?;
        let a_call = |ms: f64| (per_request > 0.0).then(|| ms / per_request);
        Some(Calls {
            kind,
            count: call.count.total(),
            per_request,
            seen_ms: seen,
            gvl_wait_ms: gvl_wait,
            really_ms: really,
            seen_ms_per_call: a_call(seen),
            really_ms_per_call: a_call(really),
        })
    });
    found.collect()
}

fn server(sums: &Sums) -> Option<Server> {
    let server = Server {
        parse_ms: sums.parse.mean_ms(),
        write_ms: sums.write.mean_ms(),
        spans_known: sums.parse.over(),
        held_ms: sums.server_held.mean_ms(),
        gvl_wait_ms: sums.server_gvl_wait.mean_ms(),
    };
    (server.parse_ms.is_some() || server.held_ms.is_some()).then_some(server)
}
