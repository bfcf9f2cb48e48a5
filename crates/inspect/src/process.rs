//! Who wrote a file, and whether it still runs.

use crate::instant::{printable, rfc3339};
use flight::{Header, Life, Record, Snapshot, State};
use run::inspect::{Process, ProcessState};
use std::path::Path;

/// How many of a process were counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counted {
    /// Requests and jobs.
    pub requests: u64,
    /// Of those: jobs.
    pub jobs: u64,
}

impl Counted {
    pub fn add(&mut self, requests: u64, jobs: bool) {
        self.requests = self.requests.saturating_add(requests);
        if jobs {
            self.jobs = self.jobs.saturating_add(requests);
        }
    }
}

/// The process behind a file.
pub fn process(
    path: &Path,
    snapshot: &Snapshot,
    state: ProcessState,
    counted: Counted,
    split_valid: bool,
) -> Process {
    let header = &snapshot.header;
    Process {
        file: printable(&path.display().to_string()),
        pid: header.pid,
        state,
        started_at: rfc3339(header.created_wall_ns),
        worker: header.server.worker_index,
        workers: header.server.workers,
        threads: header.server.max_threads,
        server: printable(&header.server.name),
        ruby: printable(&header.ruby_version),
        framework: printable(&header.framework),
        agent: printable(&header.agent_version),
        app_root: printable(&header.app_root),
        requests: counted.requests,
        jobs: counted.jobs,
        in_flight: header.in_flight,
        ring: header.ring_capacity(),
        records: snapshot.records.len() as u64,
        records_from: rfc3339(wall_of(header, snapshot.reaches_back_to())),
        split_valid,
        faults: header.faults,
        clock_skew: header.clock_skew,
        endpoints_lost: header.endpoints_lost,
    }
}

/// An instant of the monotonic clock as the wall clock had it when the file was made.
pub fn wall_of(header: &Header, mono_ns: u64) -> u64 {
    header
        .created_wall_ns
        .saturating_add(mono_ns.saturating_sub(header.created_mono_ns))
}

/// The reverse: `CLOCK_MONOTONIC` of a process at a time of the wall clock, at the earliest when its file was made.
pub fn mono_of(header: &Header, wall_ns: u64) -> u64 {
    header
        .created_mono_ns
        .saturating_add(wall_ns.saturating_sub(header.created_wall_ns))
}

/// The wall clock at which a request ended.
pub fn ended(record: &Record) -> u64 {
    record.arrival_wall_ns.saturating_add(record.wall_ns)
}

pub fn state(path: &Path, header: &Header) -> ProcessState {
    if header.state == State::Closed {
        return ProcessState::Closed;
    }
    match flight::life(path, header) {
        Life::Runs => ProcessState::Live,
        Life::Ended => ProcessState::Died,
        Life::Unknown => ProcessState::Unknown,
    }
}
