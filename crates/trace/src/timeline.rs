//! One process: its events by thread.

use crate::stack::{Slice, Stack, What};
use flight::events::{Doing, EventKind, Events, GcPhase, Mode};
use std::collections::BTreeMap;

/// Whose events they are, in words.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// e.g. `puma worker 1`
    pub name: String,
    /// Names of endpoints by their index.
    pub endpoints: BTreeMap<u16, String>,
    /// `CLOCK_MONOTONIC` until when the process is known to have recorded; `None`: until its last event.
    pub until_ns: Option<u64>,
}

/// What the threads of one process did.
#[derive(Debug, Clone)]
pub struct ProcessTimeline {
    pub pid: u32,
    pub worker_index: Option<u32>,
    pub origin: Origin,
    /// `CLOCK_MONOTONIC`.
    pub begin_ns: u64,
    pub end_ns: u64,
    /// By number; those of which nothing is known are left out.
    pub threads: Vec<ThreadTimeline>,
    /// The collector's pauses, in order.
    pub collections: Vec<(u64, u64, GcPhase)>,
    /// How many threads waited for the GVL, from each change on.
    pub waiting: Vec<Waiting>,
}

/// How many threads waited from an instant on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    pub from_ns: u64,
    pub threads: u32,
}

/// What one thread did.
#[derive(Debug, Clone)]
pub struct ThreadTimeline {
    pub number: u32,
    /// Kernel thread id; 0 unknown.
    pub native_id: u32,
    /// As Ruby names it, else by its number.
    pub name: String,
    /// By begin, outer ones first.
    pub slices: Vec<Slice>,
}

impl ThreadTimeline {
    /// Requests that it served, wholly or in part.
    #[must_use]
    pub fn requests(&self) -> usize {
        let requests = self
            .slices
            .iter()
            .filter(|s| matches!(s.what, What::Request { .. }));
        requests.count()
    }
}

/// Makes slices of one process's events.
#[must_use]
pub fn timeline(events: &Events, origin: Origin) -> ProcessTimeline {
    let header = &events.header;
    let first = events.events.iter().map(|e| e.mono_ns).min();
    let last = events.events.iter().map(|e| e.mono_ns).max();
    let begin_ns = match header.mode {
        Mode::Trace if header.began_mono_ns != 0 => header.began_mono_ns,
        _ => first.unwrap_or(header.created_mono_ns),
    };
    let last_ns = last.unwrap_or(begin_ns).max(begin_ns);
    // After a file was full, later events are unknown.
    let known_ns = origin.until_ns.filter(|_| header.lost() == 0);
    let end_ns = known_ns.map_or(last_ns, |until| until.max(last_ns));

    let forgets = matches!(header.mode, Mode::Sampling { .. });
    let mut stacks: BTreeMap<u32, Stack> = BTreeMap::new();
    let mut changes: Vec<(u64, i32)> = Vec::new();
    for event in events.events.iter().filter(|e| e.thread != 0) {
        let stack = stacks
            .entry(event.thread)
            .or_insert_with(|| Stack::new(begin_ns, forgets));
        let waited = stack.doing() == Some(Doing::Waiting);
        stack.add(event.mono_ns, event.kind);
        let waits = stack.doing() == Some(Doing::Waiting);
        if waits != waited {
            changes.push((event.mono_ns, if waits { 1 } else { -1 }));
        }
    }
    ProcessTimeline {
        pid: header.pid,
        worker_index: header.worker_index,
        origin,
        begin_ns,
        end_ns,
        threads: threads(events, stacks, end_ns),
        collections: collections(events, end_ns),
        waiting: waiting(begin_ns, changes),
    }
}

fn threads(events: &Events, stacks: BTreeMap<u32, Stack>, end_ns: u64) -> Vec<ThreadTimeline> {
    let named: BTreeMap<u32, _> = events.threads.iter().map(|t| (t.number, t)).collect();
    let finished = stacks.into_iter().map(|(number, stack)| {
        let mut slices = stack.finish(end_ns);
        slices.sort_by_key(|s| (s.begin_ns, s.what.depth(), u64::MAX - s.end_ns));
        let known = named.get(&number);
        let name = known
            .map(|t| t.name.clone())
            .filter(|name| !name.is_empty());
        ThreadTimeline {
            number,
            native_id: known.map_or(0, |t| t.native_id),
            name: name.unwrap_or_else(|| format!("thread {number}")),
            slices,
        }
    });
    finished
        .filter(|thread| !thread.slices.is_empty())
        .collect()
}

/// One at a time, because the collector stops the others.
fn collections(events: &Events, end_ns: u64) -> Vec<(u64, u64, GcPhase)> {
    let mut found: Vec<(u64, u64, GcPhase)> = Vec::new();
    let mut entered: Option<(u64, GcPhase)> = None;
    for event in &events.events {
        match event.kind {
            EventKind::GcEnter(phase) => entered = Some((event.mono_ns, phase)),
            EventKind::GcExit => {
                if let Some((from, phase)) = entered.take() {
                    found.push((from, event.mono_ns.max(from), phase));
                }
            }
            _ => {}
        }
    }
    found.extend(entered.map(|(from, phase)| (from, end_ns.max(from), phase)));
    found.sort_by_key(|pause| pause.0);
    let mut floor = 0;
    found.retain(|pause| {
        let apart = pause.0 >= floor && pause.1 > pause.0;
        floor = if apart { pause.1 } else { floor };
        apart
    });
    found
}

fn waiting(begin_ns: u64, mut changes: Vec<(u64, i32)>) -> Vec<Waiting> {
    changes.sort_by_key(|change| change.0);
    let mut found = vec![Waiting {
        from_ns: begin_ns,
        threads: 0,
    }];
    let mut threads = 0_i32;
    for (at, change) in changes {
        threads += change;
        let from_ns = at.max(begin_ns);
        let threads = threads.max(0) as u32;
        match found.last_mut() {
            Some(last) if last.from_ns == from_ns => last.threads = threads,
            _ => found.push(Waiting { from_ns, threads }),
        }
    }
    found
}
