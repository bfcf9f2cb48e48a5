//! Processes for the tests.

use crate::reading::{Process, Reading};
use flight::{EndpointTally, Field, Header, Method, PerCall, Record, Tally, Totals};
use std::time::Duration;

/// Requests that ran Ruby and waited for the GVL for so long each, and for 5 ms for I/O.
pub fn served(requests: u64, held_ms: u64, gvl_ms: u64) -> Totals {
    let ns = |ms: u64| requests * ms * 1_000_000;
    Totals {
        requests,
        wall_ns: ns(held_ms + gvl_ms + 5),
        held_ns: ns(held_ms),
        gvl_wait_ns: ns(gvl_ms),
        io_ns: ns(5),
        cpu_ns: ns(held_ms),
        ..Totals::default()
    }
}

/// A worker with five threads.
pub fn process(pid: u32, worker: u32, endpoints: &[(&str, Totals)]) -> Process {
    let mut header = Header::without_file(true, 8);
    header.pid = pid;
    header.start_ticks = 1;
    header.created_wall_ns = 1;
    header.server.worker_index = Some(worker);
    header.server.max_threads = Some(5);
    let fields = [
        "held_ns",
        "lock_wait_ns",
        "gc_ns",
        "cpu_ns",
        "server_held_us",
        "sql_us",
        "http_us",
    ];
    header.fields = fields.map(Field::without_file).to_vec();
    let counted = (0..)
        .zip(endpoints)
        .map(|(index, (name, totals))| EndpointTally {
            index,
            name: (*name).to_owned(),
            totals: *totals,
        });
    let endpoints: Vec<EndpointTally> = counted.collect();
    let mut process = Process::of(&Tally {
        header,
        totals: endpoints.iter().map(|one| one.totals).sum(),
        endpoints: Vec::new(),
    });
    process.endpoints = endpoints.into();
    process
}

pub fn reading(at_s: u64, processes: Vec<Process>) -> Reading {
    Reading {
        at: Duration::from_secs(at_s),
        wall_ns: 1_000_000_000 * (at_s + 1_000),
        processes,
    }
}

/// A request that ran Ruby for so long, and nothing else.
pub fn record(ms: u64) -> Record {
    Record {
        index: 0,
        arrival_wall_ns: 0,
        start_mono_ns: 0,
        queue_ns: None,
        wall_ns: ms * 1_000_000,
        held_ns: ms * 1_000_000,
        gvl_wait_ns: 0,
        lock_wait_ns: 0,
        io_ns: 0,
        cpu_ns: ms * 1_000_000,
        gc_ns: 0,
        allocations: 0,
        yields: 0,
        thread_id: 1,
        endpoint: 0,
        status: 200,
        busy_threads: 1,
        method: Method::Get,
        raised: false,
        job: false,
        events: false,
        gc_own_us: 0,
        gc_cpu_us: 0,
        gc_count: 0,
        calls: PerCall::from_fn(|_| flight::Call::default()),
        parse_us: None,
        write_us: None,
        server_held_us: 0,
        server_gvl_wait_us: 0,
        gc_major_us: 0,
    }
}
