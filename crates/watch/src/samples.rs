//! Processes for the tests.

use crate::reading::{Process, Reading};
use flight::{Field, Header, Snapshot, Totals};
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
    ];
    header.fields = fields.map(Field::without_file).to_vec();
    let totals = endpoints.iter().map(|(_, totals)| *totals).sum();
    let mut process = Process::of(&Snapshot::of_counters(header, totals, Vec::new()));
    process.endpoints = endpoints
        .iter()
        .map(|(name, totals)| ((*name).to_owned(), *totals))
        .collect();
    process
}

pub fn reading(at_s: u64, processes: Vec<Process>) -> Reading {
    Reading {
        at: Duration::from_secs(at_s),
        wall_ns: 1_000_000_000 * (at_s + 1_000),
        processes,
    }
}
