//! Requests as they were recorded, each with its steps.

use std::collections::HashMap;

use capacity::sim::Step;
use flight::events::{Mode, RequestBursts, bursts};
use flight::{Header, Record};
use small_sort::SmallSort;

use crate::ProcessTrace;
use crate::course::{course, lead, leads};
use crate::server_overhead::ServerOverhead;
use crate::stations::Stations;
use crate::steps::{Locks, Piece, Sums, steps, stretched, typical};

/// How many requests have their steps from where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Patterns {
    /// Their own bursts.
    pub own: usize,
    /// The bursts of another request of their endpoint, stretched to their own totals.
    pub borrowed: usize,
    /// Their totals alone, divided evenly.
    pub typical: usize,
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// When it came to the server, as far as that is known (`CLOCK_MONOTONIC`).
    pub arrival_ns: u64,
    /// When it came to the application, since 1970.
    pub wall_ns: u64,
    /// From `arrival_ns` until it was answered.
    pub response_ns: u64,
    pub gvl_wait_ns: u64,
    pub queue_ns: Option<u64>,
    /// Requests in flight in its process when it began, itself included.
    pub busy_threads: u16,
    pub sums: Sums,
    /// Of its waits for locks, those for what is no station.
    pub stall_ns: u64,
    /// Of its thread, the server's part included; `None` where it was not measured.
    pub thread_ns: Option<u64>,
    /// Parsing, by the clock, and the GVL held outside the application.
    pub parse_ns: u64,
    pub server_ns: u64,
    /// GVL wait there.
    pub server_wait_ns: u64,
    pieces: Vec<Piece>,
}

impl Request {
    pub fn steps(&self, overhead: &ServerOverhead, locks: Locks) -> Vec<Step> {
        let (mut pieces, after) = overhead.scaled(self.server_ns);
        pieces.extend_from_slice(&self.pieces);
        pieces.extend(after);
        steps(&pieces, self.thread_ns, locks)
    }

    /// The GVL, around the application as well.
    pub fn held_ns(&self) -> u64 {
        self.sums.held_ns + self.server_ns
    }

    /// How long a thread had it.
    pub fn served_ns(&self) -> u64 {
        let queue_ns = self.queue_ns.unwrap_or(0);
        let before_ns = match self.queue_ns {
            // Parsing is the end of what the queue time spans.
            Some(queue_ns) => self.parse_ns.min(queue_ns),
            None => 0,
        };
        (self.response_ns + before_ns).saturating_sub(queue_ns)
    }
}

/// The requests that `wanted` takes, in the order of their arrival.
pub(crate) fn requests(
    processes: &[ProcessTrace],
    stations: &Stations,
    wanted: impl Fn(&Record) -> bool,
) -> (Vec<Request>, Patterns) {
    let mut found = Vec::new();
    let mut patterns = Patterns::default();
    let mut courses = Courses::default();
    let sampled = own_courses(processes, stations);
    for (process, own) in processes.iter().zip(&sampled) {
        courses.learn(process, own);
    }
    for (process, own) in processes.iter().zip(&sampled) {
        let server_ns = typical_server_ns(process);
        for record in process.flight.records.iter().filter(|r| wanted(r)) {
            let pieces = match own.get(&record.start_mono_ns) {
                Some(pieces) => {
                    patterns.own += 1;
                    pieces.clone()
                }
                None => {
                    let name = endpoint(process, record);
                    match courses.borrow(name, sums(record)) {
                        Some(pieces) => {
                            patterns.borrowed += 1;
                            pieces
                        }
                        None => {
                            patterns.typical += 1;
                            typical(sums(record), record.yields)
                        }
                    }
                }
            };
            found.push(request(&process.flight.header, record, pieces, server_ns));
        }
    }
    found.small_sort_by_key(|request| request.arrival_ns);
    (found, patterns)
}

fn request(header: &Header, record: &Record, pieces: Vec<Piece>, typical_ns: u64) -> Request {
    let parse_ns = record.parse_us.map_or(0, |us| u64::from(us) * 1_000);
    let write_ns = record.write_us.map_or(0, |us| u64::from(us) * 1_000);
    let before_ns = record.queue_ns.unwrap_or(parse_ns);
    Request {
        arrival_ns: record.start_mono_ns.saturating_sub(before_ns),
        wall_ns: record.arrival_wall_ns,
        response_ns: before_ns + record.wall_ns + write_ns,
        gvl_wait_ns: record.gvl_wait_ns,
        queue_ns: record.queue_ns,
        busy_threads: record.busy_threads,
        sums: sums(record),
        stall_ns: Sums::of(&pieces).lock_ns,
        thread_ns: header.measures("cpu_ns").then_some(record.cpu_ns),
        parse_ns,
        server_ns: server_ns(header, record).unwrap_or(typical_ns),
        server_wait_ns: u64::from(record.server_gvl_wait_us) * 1_000,
        pieces,
    }
}

/// GVL held by the thread that serves, outside the application; an agent that does not know it has the CPU of the
/// application alone as well.
fn server_ns(header: &Header, record: &Record) -> Option<u64> {
    let known = header.counts_further() && header.measures("server_held_us");
    let whole = record.parse_us.is_some() || !known;
    whole.then(|| match known {
        true => u64::from(record.server_held_us) * 1_000,
        false => 0,
    })
}

/// The mean of those that have it, for those that have not.
fn typical_server_ns(process: &ProcessTrace) -> u64 {
    let header = &process.flight.header;
    let known = process.flight.records.iter();
    let known: Vec<u64> = known.filter_map(|r| server_ns(header, r)).collect();
    known.iter().sum::<u64>() / known.len().max(1) as u64
}

fn sums(record: &Record) -> Sums {
    Sums {
        held_ns: record.held_ns,
        away_ns: record.io_ns,
        lock_ns: record.lock_wait_ns,
    }
}

fn endpoint<'a>(process: &'a ProcessTrace, record: &Record) -> &'a str {
    let found = process.flight.endpoint_of(record);
    found.map_or("", |endpoint| &endpoint.name)
}

/// N of `POWERBAND_BURSTS`, one in N requests, the largest of all processes; `None` where one of them sampled none.
pub(crate) fn sampled_one_in(processes: &[ProcessTrace]) -> Option<u32> {
    let each = processes
        .iter()
        .map(|process| match process.bursts.as_ref()?.header.mode {
            Mode::Sampling { one_in } => Some(one_in),
            Mode::Trace => None,
        });
    each.collect::<Option<Vec<u32>>>()?.into_iter().max()
}

/// Of each process, by `start_mono_ns`, which no two requests of a process share. A trace of everything has them as well.
fn own_courses(processes: &[ProcessTrace], stations: &Stations) -> Vec<HashMap<u64, Vec<Piece>>> {
    let own = |(nth, process): (usize, &ProcessTrace)| {
        let events = [&process.trace, &process.bursts];
        let found = events
            .into_iter()
            .flatten()
            .flat_map(|events| bursts(events).requests);
        let stations = stations.of_process(nth);
        found
            .map(|found: RequestBursts| (found.start_mono_ns, course(&found.bursts, &stations)))
            .collect()
    };
    let mut all: Vec<HashMap<u64, Vec<Piece>>> = processes.iter().enumerate().map(own).collect();
    let leads = leads(all.iter().flat_map(HashMap::values));
    for pieces in all.iter_mut().flat_map(HashMap::values_mut) {
        lead(pieces, &leads);
    }
    all
}

/// Courses by endpoint, of all processes.
#[derive(Debug, Default)]
struct Courses {
    known: HashMap<String, Vec<Vec<Piece>>>,
    next: usize,
}

impl Courses {
    fn learn(&mut self, process: &ProcessTrace, own: &HashMap<u64, Vec<Piece>>) {
        for record in &process.flight.records {
            if let Some(pieces) = own.get(&record.start_mono_ns) {
                let name = endpoint(process, record).to_owned();
                self.known.entry(name).or_default().push(pieces.clone());
            }
        }
    }

    /// One after the other, so that each is borrowed as often.
    fn borrow(&mut self, endpoint: &str, to: Sums) -> Option<Vec<Piece>> {
        let known = self.known.get(endpoint)?;
        let pattern = known.get(self.next % known.len())?;
        self.next += 1;
        stretched(pattern, to)
    }
}
