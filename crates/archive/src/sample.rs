//! A small fleet, two days long, with facts that queries have to find. For tests only.

use crate::batch::Batch;
use crate::collections::Collected;
use crate::counters::Counted;
use crate::memory::{Held, RunsWith};
use crate::process::{Measured, Process, Service, Writer};
use crate::requests::Request;
use crate::store::{Store, write_named};
use flight::{
    Call, CallKind, Cause, Collection, CollectionKind, Heap, MajorBy, Method, PerCall, Record,
    Totals,
};
use jiff::Timestamp;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64;
use std::path::Path;
use std::sync::Arc;

const MINUTE_NS: u64 = 60_000_000_000;
const DAY_NS: u64 = 24 * 60 * MINUTE_NS;
/// Name, share of the requests, median of the response time in milliseconds, SQL queries.
const ENDPOINTS: [(&str, f64, f64, u16); 4] = [
    ("products#index", 0.6, 20.0, 4),
    ("orders#create", 0.25, 60.0, 12),
    ("home#show", 0.1, 5.0, 1),
    ("job Mailer", 0.05, 200.0, 3),
];

pub fn beginning_ns() -> u64 {
    let begins: Timestamp = "2026-11-26T00:00:00Z".parse().expect("an instant");
    u64::try_from(begins.as_nanosecond()).expect("after 1970")
}

/// A fleet: files of two pods with two workers each, and of the runs of the contract's samples.
pub fn write(folder: &Path) {
    for (instance, arm, version) in [("app1", "control", "41"), ("app2", "yjit", "42")] {
        let (mut store, positions) = Store::open(folder, "shop", instance).expect("a store");
        let mut batch = of_instance(instance, arm, version);
        let parts = batch.parts().expect("rows");
        store
            .commit(&parts, &positions, Timestamp::UNIX_EPOCH)
            .expect("files");
    }
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/run");
    for name in ["tune.json", "sweep.json", "compare.json"] {
        let text = std::fs::read_to_string(runs.join(name)).expect("a sample");
        let document: run::Document = serde_json::from_str(&text).expect("a document");
        for part in crate::parts_of(&document).expect("rows") {
            write_named(folder, "shop", &document.id, &part).expect("a file");
        }
    }
}

fn of_instance(instance: &str, arm: &str, version: &str) -> Batch {
    let mut random = Pcg64::seed_from_u64(instance.len() as u64 + u64::from(arm == "yjit"));
    let mut batch = Batch::default();
    let mut planted = Planted::default();
    for worker in 0..2 {
        let process = Arc::new(process(instance, arm, version, worker));
        for minute in 0..2 * 24 * 60 {
            of_minute(&mut batch, &process, minute, &mut random, &mut planted);
        }
    }
    batch
}

pub fn process(instance: &str, arm: &str, version: &str, worker: u32) -> Process {
    Process {
        service: Service {
            writer: Arc::new(Writer {
                instance: instance.to_owned(),
                version: version.to_owned(),
            }),
            application: "/srv/shop".to_owned(),
            arm: arm.to_owned(),
        },
        pid: 100 + worker,
        worker: Some(worker),
        measured: Measured::all(),
        boot_ns: beginning_ns(),
    }
}

fn of_minute(
    batch: &mut Batch,
    process: &Arc<Process>,
    minute: u64,
    random: &mut Pcg64,
    planted: &mut Planted,
) {
    let from_ns = minute * MINUTE_NS;
    // Twice as many in the hour from 20:00.
    let requests = if minute / 60 % 24 == 20 { 4 } else { 2 };
    for number in 0..requests {
        let at_ns = from_ns + number * 7_000_000_000 + random.random_range(0..5_000_000_000);
        let mut request = request(process, at_ns, batch.requests.len() as u64, random);
        planted.plant(&mut request);
        count(batch, &request, from_ns);
        batch.requests.push(request);
    }
    if minute.is_multiple_of(10) {
        batch.collections.push(Collected {
            process: Arc::clone(process),
            collection: collection(minute, from_ns),
        });
        batch.held.push(held(process, minute, from_ns));
    }
}

fn count(batch: &mut Batch, request: &Request, from_ns: u64) {
    let mut totals = Totals::default();
    totals.book(&request.record);
    let from_us = crate::column::integer((beginning_ns() + from_ns) / 1_000);
    let same = |row: &&mut Counted| row.from_us == from_us && row.endpoint == request.endpoint;
    let row = match batch.counted.iter_mut().rev().take(8).find(same) {
        Some(row) => row,
        None => {
            batch.counted.push(Counted {
                service: Arc::new(request.process.service.clone()),
                endpoint: Arc::clone(&request.endpoint),
                from_us,
                seconds: 60.0,
                counts: [None; flight::COUNTERS],
            });
            batch.counted.last_mut().expect("it was pushed")
        }
    };
    row.add(&totals, &[true; flight::COUNTERS]);
}

/// A request with the noise of real ones: its size in a file is a real one's.
pub fn request(process: &Arc<Process>, at_ns: u64, index: u64, random: &mut Pcg64) -> Request {
    let draw: f64 = random.random();
    let mut share = 0.0;
    let found = ENDPOINTS.iter().enumerate().find(|(_, endpoint)| {
        share += endpoint.1;
        draw < share
    });
    let (number, (name, _, median_ms, queries)) = found.unwrap_or((0, &ENDPOINTS[0]));
    let mut around = |median: f64, sigma: f64| {
        LogNormal::new(median.ln(), sigma)
            .expect("a shape")
            .sample(random)
    };
    let wall_ns = around(median_ms * 1e6, 0.5) as u64;
    let wait_ns = (around(wall_ns as f64 * 0.05, 1.0) as u64).min(wall_ns / 4);
    let held_ns = (wall_ns as f64 * around(0.4, 0.1).min(0.6)) as u64;
    let io_ns = wall_ns - wait_ns - held_ns;
    let sql = Call {
        seen_us: (io_ns as f64 * 0.9 / 1e3) as u32,
        gvl_us: (wait_ns as f64 * 0.3 / 1e3) as u32,
        count: *queries,
    };
    let gc_ns = if index.is_multiple_of(15) {
        around(3e6, 0.5) as u64
    } else {
        0
    };
    let record = Record {
        index,
        arrival_wall_ns: beginning_ns() + at_ns,
        start_mono_ns: at_ns,
        queue_ns: Some(around(1.5e6, 1.0) as u64),
        wall_ns,
        held_ns,
        gvl_wait_ns: wait_ns,
        lock_wait_ns: 0,
        io_ns,
        cpu_ns: (held_ns as f64 * around(1.05, 0.05)) as u64,
        gc_ns,
        allocations: around(4_000.0, 0.6) as u64,
        yields: u32::from(*queries) * 2,
        thread_id: 200 + u32::try_from(index % 5).expect("below 5"),
        endpoint: u16::try_from(number).expect("one of four"),
        status: if name.starts_with("job ") { 0 } else { 200 },
        busy_threads: u16::try_from(index % 4).expect("below 4") + 1,
        method: if *name == "orders#create" {
            Method::Post
        } else {
            Method::Get
        },
        raised: false,
        job: name.starts_with("job "),
        events: false,
        gc_own_us: 0,
        gc_cpu_us: 0,
        gc_count: u16::from(gc_ns > 0),
        calls: PerCall::from_fn(|kind| {
            if kind == CallKind::Sql {
                sql
            } else {
                Call::default()
            }
        }),
        parse_us: Some(around(120.0, 0.4) as u32),
        write_us: Some(around(80.0, 0.4) as u32),
        server_held_us: around(250.0, 0.4) as u32,
        server_gvl_wait_us: 0,
        gc_major_us: 0,
    };
    Request {
        process: Arc::clone(process),
        endpoint: (*name).into(),
        record,
        weight: 1,
    }
}

fn collection(minute: u64, from_ns: u64) -> Collection {
    let major = minute.is_multiple_of(60);
    let pause_ns = if major { 30_000_000 } else { 3_000_000 };
    Collection {
        index: minute / 10,
        start_mono_ns: from_ns,
        end_mono_ns: from_ns + 2 * pause_ns,
        pause_ns,
        sweeping_ns: pause_ns / 3,
        longest_ns: pause_ns / 2,
        cpu_ns: pause_ns,
        number: u32::try_from(minute / 10).expect("two days"),
        pauses: 3,
        thread_id: 200,
        kind: Some(if major {
            CollectionKind::Major
        } else {
            CollectionKind::Minor
        }),
        major_by: major.then_some(MajorBy::OldGen),
        cause: Some(if major {
            Cause::Malloc
        } else {
            Cause::NewObject
        }),
        over: true,
        in_request: true,
        swept_at_once: false,
        live_before: Some(600_000),
        live_after: Some(400_000),
        old_before: Some(300_000),
        old_after: Some(301_000),
        freed: Some(200_000),
        pages_before: Some(900),
        pages_after: Some(900),
        malloc_increase: Some(16 << 20),
        oldmalloc_increase: Some(32 << 20),
    }
}

/// Grows by 1 MiB an hour in `app2`, and not at all in `app1`.
fn held(process: &Arc<Process>, minute: u64, from_ns: u64) -> Held {
    let grows = process.service.arm == "yjit";
    let growth = if grows { (minute << 20) / 60 } else { 0 };
    Held {
        process: Arc::clone(process),
        at_us: process.at_us(from_ns),
        resident_bytes: Some((200 << 20) + growth),
        heap: Some(Heap {
            mono_ns: from_ns,
            pages: 900,
            page_bytes: 65_536,
            live_slots: 400_000,
            free_slots: 100_000,
            old_objects: 300_000,
            pools: Vec::new(),
        }),
        in_flight: 1,
        runs_with: Arc::new(RunsWith {
            server: "puma 6.6.0".to_owned(),
            ruby: "3.4.7".to_owned(),
            jit: if grows { "yjit" } else { "off" }.to_owned(),
            allocator: "jemalloc".to_owned(),
            threads: Some(5),
            workers: Some(2),
        }),
    }
}

/// What queries have to find: in each pod seven failures of `orders#create` and one request of 9.5 s.
#[derive(Default)]
struct Planted {
    failures: u32,
    slow: bool,
}

impl Planted {
    fn plant(&mut self, request: &mut Request) {
        let record = &mut request.record;
        if &*request.endpoint == "orders#create" && self.failures < 7 {
            self.failures += 1;
            record.status = 503;
        }
        if &*request.endpoint == "home#show" && !self.slow {
            self.slow = true;
            record.wall_ns = 9_500_000_000;
            record.io_ns = record.wall_ns - record.held_ns - record.gvl_wait_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A million requests of one service, in a file for each hour, as four busy workers of a pod have them.
    #[test]
    fn a_million_requests_take_at_most_60_mb() {
        let mut random = Pcg64::seed_from_u64(1);
        let processes: Vec<_> = (0..4)
            .map(|n| Arc::new(process("app1", "", "41", n)))
            .collect();
        // One hour of 24, times 24.
        let rows = 1_000_000 / 24;
        let mut batch = Batch::default();
        let mut at_ns = 0;
        for index in 0..rows {
            at_ns += random.random_range(0..2 * DAY_NS / 1_000_000);
            let process = &processes[random.random_range(0..4_usize)];
            let request = request(process, at_ns, index, &mut random);
            count(&mut batch, &request, at_ns / MINUTE_NS * MINUTE_NS);
            batch.requests.push(request);
        }
        let bytes: Vec<_> = batch
            .parts()
            .unwrap()
            .iter()
            .map(|p| (p.table, p.bytes.len()))
            .collect();
        let all: usize = bytes.iter().map(|(_, bytes)| bytes).sum();
        assert!(
            all * 24 <= 60_000_000,
            "{bytes:?}: {} MB",
            all * 24 / 1_000_000
        );
    }
}
