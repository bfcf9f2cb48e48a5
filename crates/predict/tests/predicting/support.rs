//! Flight files of servers that never ran: what each request did is said first, and records and events follow from it.

use std::path::PathBuf;

use flight::events::{Event, EventKind, EventThread, Events, parse_events};
use flight::{Method, PerCall, Record, Snapshot};
use predict::{Application, PredictError, ProcessTrace, Selection};

pub const MS: u64 = 1_000_000;
/// When the traces begin, on both clocks.
pub const BEGAN: u64 = 10_000_000_000_000;
const WALL: u64 = 1_700_000_000_000_000_000;

/// What happened to a request, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Did {
    Held(u64),
    Io(u64),
    Lock(u64),
    /// It waited for the lock of row 1 of the table, or did I/O in possession of it.
    Awaited(u64),
    Locked(u64),
    GvlWait(u64),
    /// The quantum was over: it gave the GVL up and waited for it again.
    Preempted(u64),
}

/// A request as it is recorded.
#[derive(Debug, Clone)]
pub struct Request {
    pub arrival_ns: u64,
    /// Before the application, the server's parsing included.
    pub queue_ns: Option<u64>,
    pub parse_us: u32,
    pub write_us: u32,
    pub did: Vec<Did>,
    /// `None`: as long as it held the GVL.
    pub cpu_ns: Option<u64>,
    pub busy_threads: u16,
}

impl Request {
    pub fn new(arrival_ns: u64, did: &[Did]) -> Self {
        Self {
            arrival_ns,
            queue_ns: Some(0),
            parse_us: 0,
            write_us: 0,
            did: did.to_vec(),
            cpu_ns: None,
            busy_threads: 1,
        }
    }

    fn sum(&self, of: impl Fn(&Did) -> u64) -> u64 {
        self.did.iter().map(of).sum()
    }

    fn held_ns(&self) -> u64 {
        self.sum(|did| match *did {
            Did::Held(ns) => ns,
            _ => 0,
        })
    }

    fn began_ns(&self) -> u64 {
        BEGAN + self.arrival_ns + self.queue_ns.unwrap_or(u64::from(self.parse_us) * 1_000)
    }

    fn record(&self, index: u64, bursts: bool) -> Record {
        let io_ns = self.sum(|did| match *did {
            Did::Io(ns) | Did::Locked(ns) => ns,
            Did::Preempted(_) => 1_000,
            _ => 0,
        });
        let gvl_wait_ns = self.sum(|did| match *did {
            Did::GvlWait(ns) | Did::Preempted(ns) => ns,
            _ => 0,
        });
        let lock_wait_ns = self.sum(|did| match *did {
            Did::Lock(ns) | Did::Awaited(ns) => ns,
            _ => 0,
        });
        let yields = self.did.iter();
        let yields = yields.filter(|did| !matches!(did, Did::Held(_) | Did::GvlWait(_)));
        let held_ns = self.held_ns();
        let server_held_us = self.parse_us + self.write_us;
        Record {
            index,
            arrival_wall_ns: WALL + self.began_ns() - BEGAN,
            start_mono_ns: self.began_ns(),
            queue_ns: self.queue_ns,
            wall_ns: held_ns + io_ns + gvl_wait_ns + lock_wait_ns,
            held_ns,
            gvl_wait_ns,
            lock_wait_ns,
            io_ns,
            cpu_ns: self
                .cpu_ns
                .unwrap_or(held_ns + u64::from(server_held_us) * 1_000),
            gc_ns: 0,
            allocations: 0,
            yields: yields.count() as u32,
            thread_id: 1,
            endpoint: 1,
            status: 200,
            busy_threads: self.busy_threads,
            method: Method::Get,
            raised: false,
            job: false,
            events: bursts,
            gc_own_us: 0,
            gc_cpu_us: 0,
            gc_count: 0,
            calls: PerCall::default(),
            parse_us: Some(self.parse_us),
            write_us: Some(self.write_us),
            server_held_us,
            server_gvl_wait_us: 0,
            gc_major_us: 0,
        }
    }

    /// Each on a thread of its own, as no two at a time are on one.
    fn events(&self, thread: u32) -> Vec<Event> {
        let mut now = self.began_ns();
        let mut found = Vec::new();
        let mut at = |mono_ns: u64, kind: EventKind| {
            found.push(Event {
                index: 0,
                mono_ns,
                thread,
                kind,
            });
        };
        let busy_threads = self.busy_threads;
        at(now, EventKind::RequestBegin { busy_threads });
        let mut waits = false;
        for did in &self.did {
            let (mut row, mut held) = (0, 0);
            let (off, away_ns, wait_ns) = match *did {
                Did::Held(ns) => {
                    if waits {
                        at(now, EventKind::Resumed);
                    }
                    waits = false;
                    now += ns;
                    continue;
                }
                Did::Io(ns) => (Some(false), ns, 0),
                Did::Lock(ns) => (Some(true), ns, 0),
                Did::Awaited(ns) => {
                    row = 1;
                    (Some(true), ns, 0)
                }
                Did::Locked(ns) => {
                    held = 1 << 1;
                    (Some(false), ns, 0)
                }
                Did::Preempted(ns) => (Some(false), 1_000, ns),
                Did::GvlWait(ns) => (None, 0, ns),
            };
            if let Some(lock) = off {
                at(now, EventKind::Suspended { lock, row, held });
                now += away_ns;
                at(now, EventKind::Ready);
                waits = true;
            }
            now += wait_ns;
        }
        if waits {
            at(now, EventKind::Resumed);
        }
        at(
            now,
            EventKind::RequestEnd {
                flags: 8,
                status: 200,
                endpoint: 1,
            },
        );
        found
    }
}

fn sample(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples");
    std::fs::read(folder.join(name)).expect("the golden samples are part of the repository")
}

/// A process of Puma 6.6 in single mode that served these requests.
pub fn process(requests: &[Request], threads: u32, bursts: bool) -> ProcessTrace {
    let mut flight: Snapshot = flight::parse(&sample("flight/wide.flight")).unwrap();
    let mut order: Vec<&Request> = requests.iter().collect();
    order.sort_by_key(|request| request.began_ns());
    let numbered = order.iter().zip(0..);
    flight.records = numbered
        .map(|(request, index)| request.record(index, bursts))
        .collect();
    let header = &mut flight.header;
    header.gvl_hook = true;
    header.fiber_scheduler = false;
    header.created_mono_ns = BEGAN;
    header.created_wall_ns = WALL;
    header.ruby_version = "3.3.8".to_owned();
    header.server.name = "puma 6.6.0".to_owned();
    header.server.workers = Some(0);
    header.server.min_threads = Some(threads);
    header.server.max_threads = Some(threads);
    header.server.worker_index = None;
    header.fields.iter_mut().for_each(|f| f.measured = true);
    ProcessTrace {
        path: PathBuf::from("4242-1-1.flight"),
        flight,
        bursts: bursts.then(|| {
            let each = order.iter().zip(1..);
            let events = each.flat_map(|(request, thread)| request.events(thread));
            events_of(events.collect(), &[])
        }),
        trace: None,
    }
}

/// An events file of these events.
pub fn events_of(mut events: Vec<Event>, threads: &[(u32, &str)]) -> Events {
    let mut found = parse_events(&sample("events/sampled.bursts")).unwrap();
    events.sort_by_key(|event| event.mono_ns);
    let numbered = events.into_iter().zip(0..);
    found.events = numbered
        .map(|(event, index)| Event { index, ..event })
        .collect();
    found.skipped.torn.clear();
    found.threads = threads
        .iter()
        .map(|&(number, name)| EventThread {
            number,
            native_id: 0,
            name: name.to_owned(),
        })
        .collect();
    found
}

pub fn application(processes: Vec<ProcessTrace>) -> Result<Application, PredictError> {
    Application::of(processes, &Selection::default())
}

/// `count` requests a fixed time apart, the nth of which does `did(n)`.
pub fn steady(count: u64, apart_ns: u64, did: impl Fn(u64) -> Vec<Did>) -> Vec<Request> {
    (0..count)
        .map(|n| Request::new(n * apart_ns, &did(n)))
        .collect()
}
