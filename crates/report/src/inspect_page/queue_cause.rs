//! Why requests wait before the application although on average a thread was free: the cause for which the counters have evidence.

use super::ms;
use crate::figures::{grouped, percent};
use run::inspect::{Document, Process, ProcessState, Traffic};

/// From this share of the time that the GVL was held without a core, the wait for a core is named.
const STARVED: f64 = 0.2;
/// From this share of the time in the application that is GVL wait, it is named: the threads that accept connections wait as well.
const GVL_WAIT: f64 = 0.25;
/// One process takes this many times its even share of the requests.
const UNEVEN: f64 = 1.5;
/// Fewer requests show no distribution over processes.
const LEAST_REQUESTS: u64 = 200;
/// From this share of the queue on, a wait is of its size and may be its cause.
const OF_ITS_SIZE: f64 = 1.0 / 3.0;
/// A median that is at most this share of the mean: most requests hardly wait, and a few wait long.
const BURSTS: f64 = 0.2;
/// A median that is at least this share of the mean: each request waits.
const EACH: f64 = 0.5;

/// Requests of one process, where it took most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uneven {
    pid: u32,
    requests: u64,
    all: u64,
    processes: usize,
}

impl Uneven {
    /// Of the processes that run, where they ran over the same time.
    pub fn of(document: &Document) -> Option<Self> {
        let serves = |p: &&Process| p.state == ProcessState::Live && p.jobs < p.requests.max(1);
        let live: Vec<&Process> = document.processes.iter().filter(serves).collect();
        let served = |process: &Process| process.requests - process.jobs.min(process.requests);
        let busiest = *live.iter().max_by_key(|process| served(process))?;
        // Up to the minute, as workers of a cluster start one after another.
        let minute = |process: &Process| process.started_at.get(..16).map(str::to_owned);
        let together = live.iter().all(|process| match &document.scope.since {
            Some(since) => process.started_at <= *since,
            None => minute(process) == minute(busiest),
        });
        let found = Self {
            pid: busiest.pid,
            requests: served(busiest),
            all: live.iter().map(|process| served(process)).sum(),
            processes: live.len(),
        };
        let even = found.all as f64 / found.processes as f64;
        let uneven = found.requests as f64 >= UNEVEN * even && found.all >= LEAST_REQUESTS;
        (uneven && found.processes > 1 && together).then_some(found)
    }
}

/// The cause that the counters show.
pub fn likely(traffic: &Traffic, uneven: Option<Uneven>, processes: u32) -> Option<String> {
    starved(traffic, processes)
        .or_else(|| uneven.map(one_process))
        .or_else(|| gvl_wait(traffic))
}

/// How long the GVL is held for a request, the server's work around the application included, and how much of that without a
/// core, ms; `None` where that is too little to matter.
pub fn waits_for_core(traffic: &Traffic) -> Option<(f64, f64)> {
    let split = traffic.split.as_ref()?;
    let held_ms = split.held_ms + traffic.server.and_then(|s| s.held_ms).unwrap_or(0.0);
    let starved_ms = split.starved_ms.filter(|ms| *ms >= STARVED * held_ms)?;
    (held_ms > 0.0).then_some((held_ms, starved_ms))
}

/// Whether a wait is long enough to explain the queue.
fn is_of_its_size(wait_ms: f64, traffic: &Traffic) -> bool {
    let queue_ms = traffic.queue.map_or(0.0, |queue| queue.mean_ms);
    wait_ms >= OF_ITS_SIZE * queue_ms
}

/// Wait for a core.
fn starved(traffic: &Traffic, processes: u32) -> Option<String> {
    let (held_ms, starved_ms) =
        waits_for_core(traffic).filter(|(_, ms)| is_of_its_size(*ms, traffic))?;
    let remedy = match processes > 1 {
        true => "Fewer processes, or more cores, shorten it.",
        false => "More cores shorten it.",
    };
    let server = match traffic.server.and_then(|s| s.held_ms) {
        Some(_) => ", the server's work around the application included",
        None => "",
    };
    Some(format!(
        "The likely cause is the wait for a core: of the {} ms that a request holds the GVL{server}, its thread had no core for {} ms, \
         and the threads that accept connections wait for one as well. {remedy}",
        ms(held_ms),
        ms(starved_ms)
    ))
}

fn one_process(uneven: Uneven) -> String {
    let Uneven {
        pid,
        requests,
        all,
        processes,
    } = uneven;
    format!(
        "The likely cause is that one process accepts too many of the connections: process {pid} served {} of {} requests, although \
         {processes} processes run. Requests wait in it while threads of the others are free. Connections that the proxy keeps do \
         this; one connection for each request (nginx: no keepalive in the upstream) spreads them.",
        grouped(requests),
        grouped(all)
    )
}

/// The acceptor of Puma needs the GVL, too.
fn gvl_wait(traffic: &Traffic) -> Option<String> {
    let split = traffic
        .split
        .as_ref()
        .filter(|split| split.gvl_wait_share >= GVL_WAIT)
        .filter(|split| is_of_its_size(split.gvl_wait_ms, traffic))?;
    Some(format!(
        "The likely cause is the GVL: a request waits for it {} of its time in the application, and the server's thread that accepts \
         connections waits for it as well before it hands one to a free thread. {}",
        percent(split.gvl_wait_share),
        match waits_for_core(traffic) {
            // Processes that have no core are no remedy.
            Some((held_ms, starved_ms)) => format!(
                "It is held longer than Ruby runs, because its thread has no core for {} of {} ms: more cores, or fewer processes, come first.",
                ms(starved_ms),
                ms(held_ms)
            ),
            None => "Fewer threads and more processes shorten it.".to_owned(),
        }
    ))
}

/// Where nothing in the processes shows a cause: how the waits are distributed distinguishes bursts from a cost of each request.
/// `one` is what is served, `who` what more of would serve more.
pub fn by_distribution(traffic: &Traffic, one: &str, who: &str) -> String {
    let who = match waits_for_core(traffic) {
        Some(_) => "cores",
        None => who,
    };
    let queue = traffic.queue.as_ref();
    let median_ms = queue.and_then(|queue| queue.p50_ms);
    let mean_ms = queue.map_or(0.0, |queue| queue.mean_ms);
    match (median_ms, queue.and_then(|queue| queue.p99_ms)) {
        (Some(median), Some(p99)) if median <= BURSTS * mean_ms => format!(
            "Half of the {one}s waited at most {} ms, and one in a hundred {} ms or more: they arrive in bursts, for which more {who} are \
             needed, or a few waited in the kernel's backlog while a process started or restarted.",
            ms(median),
            ms(p99)
        ),
        (Some(median), _) if median >= EACH * mean_ms => format!(
            "Half of the {one}s waited {} ms or more, so that this is no burst: they wait before the server. Look at the proxy's own queue, \
             at connections that it keeps (a thread of Puma 5 or 6 waits up to 200 ms for the next request of its connection, and serves \
             no other meanwhile), and at the clock that sets X-Request-Start, if another machine does.",
            ms(median)
        ),
        _ => format!(
            "Either {one}s arrive in bursts, for which more {who} are needed, or they wait before the server: in a proxy's queue, behind \
             kept connections, or in the kernel's backlog while a process restarts."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Document {
        let path = "/../../contract/samples/inspect/wide.json";
        let path = format!("{}{path}", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// Nothing but a queue of 100 ms on average.
    fn queued(p50_ms: f64, p99_ms: f64) -> Traffic {
        let mut traffic = sample().requests.unwrap();
        let queue = traffic.queue.as_mut().unwrap();
        queue.mean_ms = 100.0;
        (queue.p50_ms, queue.p99_ms) = (Some(p50_ms), Some(p99_ms));
        let split = traffic.split.as_mut().unwrap();
        (split.starved_ms, split.gvl_wait_share) = (Some(0.0), 0.0);
        traffic
    }

    fn said(traffic: &Traffic) -> String {
        likely(traffic, None, 2)
            .unwrap_or_else(|| by_distribution(traffic, "request", "threads or processes"))
    }

    #[test]
    fn the_wait_for_a_core_is_named_first() {
        let mut traffic = queued(1.0, 900.0);
        let split = traffic.split.as_mut().unwrap();
        (split.held_ms, split.starved_ms, split.gvl_wait_share) = (60.0, Some(40.0), 0.9);
        traffic.server = None;
        let single = likely(&traffic, None, 1).unwrap();
        assert!(single.ends_with("well. More cores shorten it."), "{single}");
        let said = said(&traffic);
        assert!(said.contains("Fewer processes"), "{said}");
        assert!(
            said.contains("the wait for a core: of the 60.0 ms"),
            "{said}"
        );
        assert!(said.contains("no core for 40.0 ms"), "{said}");
        assert!(!said.contains("included"), "{said}");
    }

    #[test]
    fn the_gvl_is_named_where_requests_wait_for_it() {
        let mut traffic = queued(1.0, 900.0);
        let split = traffic.split.as_mut().unwrap();
        (split.gvl_wait_share, split.gvl_wait_ms) = (0.4, 40.0);
        let said = said(&traffic);
        assert!(
            said.contains("the GVL: a request waits for it 40.0 %"),
            "{said}"
        );
    }

    /// 2.17 ms without a core are no reason for a queue of 100 ms.
    #[test]
    fn a_wait_much_shorter_than_the_queue_is_not_its_cause() {
        let mut traffic = queued(1.0, 900.0);
        traffic.server = None;
        let split = traffic.split.as_mut().unwrap();
        (split.held_ms, split.starved_ms) = (10.0, Some(2.17));
        (split.gvl_wait_share, split.gvl_wait_ms) = (0.4, 5.8);
        let said = said(&traffic);
        assert!(!said.contains("likely cause"), "{said}");
        assert!(said.contains("for which more cores are needed"), "{said}");
    }

    #[test]
    fn the_distribution_tells_bursts_from_what_each_request_meets() {
        let bursts = said(&queued(1.0, 900.0));
        assert!(
            bursts.contains("at most 1.00 ms, and one in a hundred 900 ms"),
            "{bursts}"
        );
        assert!(bursts.contains("they arrive in bursts"), "{bursts}");
        let each = said(&queued(90.0, 180.0));
        assert!(
            each.contains("90.0 ms or more, so that this is no burst"),
            "{each}"
        );
        assert!(each.contains("up to 200 ms"), "{each}");
        assert!(said(&queued(30.0, 300.0)).starts_with("Either requests arrive"));
    }

    #[test]
    fn a_process_that_takes_most_requests_is_named() {
        let mut document = sample();
        document.scope.since = None;
        let mut process = document.processes[0].clone();
        (process.state, process.jobs) = (ProcessState::Live, 0);
        (process.pid, process.requests) = (101, 900);
        let mut other = process.clone();
        (other.pid, other.requests) = (102, 100);
        document.processes = vec![other, process];
        let uneven = Uneven::of(&document);
        let said = likely(&queued(1.0, 900.0), uneven, 2).unwrap();
        assert!(
            said.contains("process 101 served 900 of 1,000 requests"),
            "{said}"
        );
        assert!(said.contains("2 processes run"), "{said}");
        // One that began later has fewer for that reason.
        document.processes[0].started_at = "2099-01-01T00:00:00Z".to_owned();
        assert_eq!(Uneven::of(&document), None);
        document.scope.since = Some("2099-01-02T00:00:00Z".to_owned());
        assert_eq!(Uneven::of(&document), uneven);
        document.processes[0].requests = 800;
        assert_eq!(Uneven::of(&document), None);
    }
}
