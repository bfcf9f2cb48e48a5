//! The configuration that was traced, and how busy it was.

use crate::recorded::Request;
use crate::{Assumption, PredictError, ProcessTrace, Server};

/// Health checks go past the proxy that says when requests came.
const MOST: f64 = 0.9;

/// The configuration that was traced, and how busy it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Traced {
    pub server: Server,
    pub ruby: String,
    pub processes: u16,
    pub threads: u16,
    /// Puma's cluster, of one worker too.
    pub cluster: bool,
    pub requests: usize,
    pub span_s: f64,
    pub rate_per_s: f64,
    /// Part of the time that a process's GVL was held, and that its threads had a request.
    pub utilisation_gvl: f64,
    pub utilisation_threads: f64,
    /// Cores' worth of CPU time that requests took.
    pub busy_cores: f64,
    /// Requests in threads, on average.
    pub in_service: f64,
    /// Means of a request.
    pub held_ms: f64,
    pub io_ms: f64,
    pub lock_wait_ms: f64,
    pub gvl_wait_ms: f64,
    pub cpu_ms: Option<f64>,
    /// `None`: no proxy said when requests came.
    pub queue_ms: Option<f64>,
    /// Files of processes that ran at another time.
    pub left_out: usize,
}

/// How many processes and threads there were.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Size {
    processes: u16,
    threads: u16,
    cluster: bool,
    pub assumption: Option<Assumption>,
}

impl Size {
    pub fn of(server: &Server, processes: &[ProcessTrace]) -> Result<Self, PredictError> {
        let first = processes.first().map(|process| &process.flight.header);
        let said = first.map(|header| &header.server);
        let narrow = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
        let threads = match said.and_then(|said| said.max_threads) {
            _ if !server.has_threads() => 1,
            Some(threads) if threads > 0 => threads,
            _ => return Err(PredictError::UnknownSize { what: "threads" }),
        };
        let least = said.and_then(|said| said.min_threads);
        let varies = least.filter(|&least| server.has_threads() && least < threads);
        let mut assumption = varies.map(|least| Assumption::ThreadsVary {
            least,
            most: threads,
        });
        let workers = said.and_then(|said| said.workers);
        let counted = match workers {
            Some(workers) => narrow(workers.max(1)),
            None => {
                let found = narrow(processes.len() as u32);
                assumption = Some(Assumption::ProcessesCounted { found });
                found
            }
        };
        Ok(Self {
            processes: counted,
            threads: narrow(threads),
            cluster: workers.is_some_and(|workers| workers > 0),
            assumption,
        })
    }
}

pub(crate) fn traced(server: Server, ruby: String, size: &Size, all: &[Request]) -> Traced {
    let count = all.len().max(1) as f64;
    let first = all.first().map_or(0, |request| request.arrival_ns);
    let last = all.last().map_or(0, |request| request.arrival_ns);
    let span_s = (last - first).max(1) as f64 / 1e9;
    let sum_s = |of: &dyn Fn(&Request) -> u64| all.iter().map(of).sum::<u64>() as f64 / 1e9;
    let mean_ms = |of: &dyn Fn(&Request) -> u64| sum_s(of) * 1e3 / count;
    let cpu_known = all.iter().all(|request| request.thread_ns.is_some());
    let cpu = |r: &Request| r.thread_ns.unwrap_or_else(|| r.held_ns());
    let queues_ns: Vec<u64> = all.iter().filter_map(|request| request.queue_ns).collect();
    let queue_known = queues_ns.len() as f64 >= MOST * count;
    let processes = f64::from(size.processes);
    let in_service = sum_s(&Request::served_ns) / span_s;
    Traced {
        server,
        ruby,
        processes: size.processes,
        threads: size.threads,
        cluster: size.cluster,
        requests: all.len(),
        span_s,
        rate_per_s: all.len().saturating_sub(1) as f64 / span_s,
        utilisation_gvl: sum_s(&Request::held_ns) / span_s / processes,
        utilisation_threads: in_service / processes / f64::from(size.threads),
        busy_cores: sum_s(&cpu) / span_s,
        in_service,
        held_ms: mean_ms(&|r| r.sums.held_ns),
        io_ms: mean_ms(&|r| r.sums.away_ns),
        lock_wait_ms: mean_ms(&|r| r.sums.lock_ns),
        gvl_wait_ms: mean_ms(&|r| r.gvl_wait_ns),
        cpu_ms: cpu_known.then(|| mean_ms(&cpu)),
        queue_ms: queue_known
            .then(|| queues_ns.iter().sum::<u64>() as f64 / 1e6 / queues_ns.len() as f64),
        left_out: 0,
    }
}
