//! What a process holds, once a minute.

use crate::column::{Column, Table, Value, int, integer, text};
use crate::process::{OfProcess, OfService, Process, some};
use flight::{Header, Heap};
use std::sync::Arc;

/// A live process at one moment.
#[derive(Debug, Clone)]
pub struct Held {
    pub process: Arc<Process>,
    /// Unix time in microseconds.
    pub at_us: i64,
    /// `None` where the process has no number here.
    pub resident_bytes: Option<u64>,
    pub heap: Option<Heap>,
    pub in_flight: u64,
    /// What it runs with.
    pub runs_with: Arc<RunsWith>,
}

/// What a process runs with.
#[derive(Debug)]
pub struct RunsWith {
    pub server: String,
    pub ruby: String,
    pub jit: String,
    pub allocator: String,
    pub threads: Option<u32>,
    pub workers: Option<u32>,
}

impl RunsWith {
    pub fn of(header: &Header) -> RunsWith {
        RunsWith {
            server: header.server.name.clone(),
            ruby: header.ruby_version.clone(),
            jit: header.about.jit.clone(),
            allocator: header.about.allocator.clone(),
            threads: header.server.max_threads,
            workers: header.server.workers,
        }
    }
}

impl OfProcess for Held {
    fn process(&self) -> &Process {
        &self.process
    }
}

impl Held {
    fn heap(&self, of: fn(&Heap) -> u64) -> Option<i64> {
        self.heap.as_ref().map(|heap| integer(of(heap)))
    }
}

pub const MEMORY: Table<Held> = Table {
    name: "memory",
    about: "A live process, once a minute.",
    at_us: |held| held.at_us,
    shared: [Held::SERVICE, Held::PROCESS],
    columns: &[
        Column {
            name: "taken",
            about: "when it was read",
            value: Value::Instant(|held| Some(held.at_us)),
        },
        int(
            "resident_bytes",
            "resident memory; `NULL` where the exporter does not see the process in `/proc`",
            |held| held.resident_bytes.map(integer),
        ),
        int(
            "heap_bytes",
            "pages of Ruby's heap, as the process last wrote them down",
            |held| held.heap(|heap| heap.pages.saturating_mul(heap.page_bytes.into())),
        ),
        int("live_slots", "slots of the heap with an object", |held| {
            held.heap(|heap| heap.live_slots)
        }),
        int("free_slots", "slots without one", |held| {
            held.heap(|heap| heap.free_slots)
        }),
        int("old_objects", "objects of the old generation", |held| {
            held.heap(|heap| heap.old_objects)
        }),
        int("in_flight", "requests that it serves", |held| {
            Some(integer(held.in_flight))
        }),
        int("threads", "the most threads that it serves with", |held| {
            held.runs_with.threads.map(i64::from)
        }),
        int(
            "workers",
            "worker processes of its server; 0 is Puma's single mode",
            |held| held.runs_with.workers.map(i64::from),
        ),
        text("server", "its server, such as `puma 6.6.0`", |held| {
            some(&held.runs_with.server)
        }),
        text("ruby", "its Ruby, such as `3.3.8`", |held| {
            some(&held.runs_with.ruby)
        }),
        text("jit", "`yjit`, `zjit`, `rjit` or `off`", |held| {
            some(&held.runs_with.jit)
        }),
        text(
            "allocator",
            "`jemalloc`, `tcmalloc`, `mimalloc`, `glibc` or `musl`",
            |held| some(&held.runs_with.allocator),
        ),
    ],
};
