//! Requests as they were recorded, each with its steps.

use std::collections::HashMap;

use capacity::sim::Step;
use flight::events::{RequestBursts, bursts};
use flight::{Header, Record};

use crate::ProcessTrace;
use crate::steps::{Cpu, Locks, Piece, Sums, course, steps, stretched, typical};

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
    /// From then until it was answered.
    pub response_ns: u64,
    pub gvl_wait_ns: u64,
    pub queue_ns: Option<u64>,
    /// Requests in flight in its process when it began, itself included.
    pub busy_threads: u16,
    pub sums: Sums,
    pub cpu: Cpu,
    pieces: Vec<Piece>,
}

impl Request {
    pub fn steps(&self, locks: Locks) -> Vec<Step> {
        steps(&self.pieces, self.cpu, locks)
    }

    /// The GVL, around the application as well.
    pub fn held_ns(&self) -> u64 {
        self.sums.held_ns + self.cpu.before_ns + self.cpu.after_ns
    }

    /// How long a thread had it.
    pub fn served_ns(&self) -> u64 {
        let queue_ns = self.queue_ns.unwrap_or(0);
        let before_ns = match self.queue_ns {
            // Parsing is the end of what the queue time spans.
            Some(_) => self.cpu.before_ns,
            None => 0,
        };
        (self.response_ns + before_ns).saturating_sub(queue_ns)
    }
}

/// The requests that `wanted` takes, in the order of their arrival.
pub(crate) fn requests(
    processes: &[ProcessTrace],
    wanted: impl Fn(&Record) -> bool,
) -> (Vec<Request>, Patterns) {
    let mut found = Vec::new();
    let mut patterns = Patterns::default();
    let mut courses = Courses::default();
    let sampled: Vec<HashMap<u64, Vec<Piece>>> = processes
        .iter()
        .map(|process| {
            let own = own_courses(process);
            courses.learn(process, &own);
            own
        })
        .collect();
    for (process, own) in processes.iter().zip(&sampled) {
        let typical_server = Around::typical_of(process);
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
            found.push(request(
                &process.flight.header,
                record,
                pieces,
                typical_server,
            ));
        }
    }
    found.sort_by_key(|request| request.arrival_ns);
    (found, patterns)
}

fn request(header: &Header, record: &Record, pieces: Vec<Piece>, typical: Around) -> Request {
    let around = Around::of(header, record).unwrap_or(typical);
    let parse_ns = record.parse_us.map_or(0, |us| u64::from(us) * 1_000);
    let write_ns = record.write_us.map_or(0, |us| u64::from(us) * 1_000);
    let before_ns = record.queue_ns.unwrap_or(parse_ns);
    // An agent that does not know the server's part has the CPU of the application alone.
    let server_ns = match header.counts_further() {
        true => around.server_ns,
        false => 0,
    };
    let parse_ns = around.parse_ns.min(server_ns);
    Request {
        arrival_ns: record.start_mono_ns.saturating_sub(before_ns),
        response_ns: before_ns + record.wall_ns + write_ns,
        gvl_wait_ns: record.gvl_wait_ns,
        queue_ns: record.queue_ns,
        busy_threads: record.busy_threads,
        sums: sums(record),
        cpu: Cpu {
            thread_ns: header.measures("cpu_ns").then_some(record.cpu_ns),
            before_ns: parse_ns,
            after_ns: server_ns - parse_ns,
        },
        pieces,
    }
}

fn sums(record: &Record) -> Sums {
    Sums {
        held_ns: record.held_ns,
        away_ns: record.io_ns,
        lock_ns: record.lock_wait_ns,
    }
}

/// What the serving thread does around the application.
#[derive(Debug, Clone, Copy, Default)]
struct Around {
    parse_ns: u64,
    server_ns: u64,
}

impl Around {
    fn of(header: &Header, record: &Record) -> Option<Self> {
        let parse_us = record.parse_us?;
        header.measures("server_held_us").then(|| Self {
            parse_ns: u64::from(parse_us) * 1_000,
            server_ns: u64::from(record.server_held_us) * 1_000,
        })
    }

    /// The mean of those that have it, for those that have not.
    fn typical_of(process: &ProcessTrace) -> Self {
        let header = &process.flight.header;
        let known = process.flight.records.iter();
        let known: Vec<Self> = known
            .filter_map(|record| Self::of(header, record))
            .collect();
        let mean = |of: fn(&Self) -> u64| {
            let sum: u64 = known.iter().map(of).sum();
            sum / known.len().max(1) as u64
        };
        Self {
            parse_ns: mean(|around| around.parse_ns),
            server_ns: mean(|around| around.server_ns),
        }
    }
}

fn endpoint<'a>(process: &'a ProcessTrace, record: &Record) -> &'a str {
    let found = process.flight.endpoint_of(record);
    found.map_or("", |endpoint| &endpoint.name)
}

/// By `start_mono_ns`, which no two requests of a process share. A trace of everything has them as well.
fn own_courses(process: &ProcessTrace) -> HashMap<u64, Vec<Piece>> {
    let events = [&process.trace, &process.bursts];
    let found = events
        .into_iter()
        .flatten()
        .flat_map(|events| bursts(events).requests);
    found
        .map(|found: RequestBursts| (found.start_mono_ns, course(&found.bursts)))
        .collect()
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
