//! Events: what happened to each thread of a process, one after the other, as `contract/events-v1.md` describes it.
//!
//! [`parse_events`] is pure and takes any bytes whatever. [`read_events`] fetches them, [`Trace`] asks a living process
//! for them. [`Doing`] says what a thread did between them, [`bursts`] cuts that into the requests of the flight file.

mod ask;
mod bursts;
mod doing;
mod error;
mod file;
mod header;
mod place;

pub use ask::{Ask, Trace, is_traced_until};
pub(crate) use ask::{Wanted, open_request};
pub use bursts::{Burst, Bursts, InnerCall, RequestBursts, bursts};
pub use doing::Doing;
pub use error::EventsError;
pub use file::{MAX_EVENTS_BYTES, bursts_path, events_path, read_events, read_header};
pub(crate) use file::{open, read_at};
pub use header::{EventsHeader, EventsState, Mode};

use crate::bytes::{section, text_at, u16_at, u32_at, u64_at};
use crate::ring::runs;
use header::EventsLayout;
use std::collections::BTreeMap;

/// What a request calls and waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallKind {
    Sql,
    Http,
    Cache,
    Redis,
    /// A connection pool's checkout.
    Pool,
    /// A kind that this version does not know.
    Other(u8),
}

/// Where the collector was when a thread entered it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GcPhase {
    Begins,
    Marking,
    Sweeping,
    Unknown,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    Started,
    Exited,
    Ready,
    Resumed,
    Suspended {
        /// In a call of a Mutex, Monitor, Queue, SizedQueue or ConditionVariable.
        lock: bool,
        /// Which: [`crate::Lock::row`]; 0 not known.
        row: u8,
        /// The rows of locks that it holds meanwhile, a bit each.
        held: u64,
    },
    GcEnter(GcPhase),
    GcExit,
    RequestBegin {
        busy_threads: u16,
    },
    RequestEnd {
        /// As in the record, as far as they were known then.
        flags: u8,
        status: u16,
        endpoint: u16,
    },
    CallBegin(CallKind),
    CallEnd(CallKind),
    /// What the thread did when recording began; `None` for a state that this version does not know.
    State(Option<Doing>),
    /// A kind that this version does not know.
    Other(u8),
}

impl EventKind {
    /// A thread gives the GVL up, in a call of a lock or not; which lock is not known, and it holds none.
    #[must_use]
    pub fn gives_up(lock: bool) -> Self {
        let (row, held) = (0, 0);
        Self::Suspended { lock, row, held }
    }
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its number from 0, in the order in which events were claimed.
    pub index: u64,
    /// `CLOCK_MONOTONIC`.
    pub mono_ns: u64,
    /// [`EventThread::number`]; 0 unknown.
    pub thread: u32,
    pub kind: EventKind,
}

/// A thread by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventThread {
    pub number: u32,
    /// Kernel thread id; 0 unknown.
    pub native_id: u32,
    /// `Thread#name`, or empty.
    pub name: String,
}

/// Slots that gave no event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventsSkipped {
    /// Numbers of events that were being written, or were written over while they were read, in order.
    pub torn: Vec<u64>,
    /// Events that lie beyond the end of a file that was cut off.
    pub missing: u64,
}

/// An events file, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Events {
    pub header: EventsHeader,
    /// By number, each once.
    pub threads: Vec<EventThread>,
    /// In the order in which they were claimed.
    pub events: Vec<Event>,
    pub skipped: EventsSkipped,
}

/// Reads an events file from its bytes. Pure; any bytes whatever are safe.
///
/// # Errors
/// When the bytes are no events file, or too damaged or too short for the header.
pub fn parse_events(bytes: &[u8]) -> Result<Events, EventsError> {
    parse_from(bytes, 0)
}

/// Events before number `first` are left out as torn.
pub(crate) fn parse_from(bytes: &[u8], first: u64) -> Result<Events, EventsError> {
    let header = EventsHeader::parse(bytes)?;
    let layout = header.layout;
    let threads = parse_threads(bytes, &layout);
    let (oldest, end) = match header.mode {
        Mode::Trace => (0, header.claimed.min(layout.event_capacity)),
        Mode::Sampling { .. } => (
            header.claimed.saturating_sub(layout.event_capacity),
            header.claimed,
        ),
    };
    let mut events = Events {
        header,
        threads,
        events: Vec::new(),
        skipped: EventsSkipped::default(),
    };
    let size = u64::from(layout.event_size);
    let room = (bytes.len() as u64).saturating_sub(layout.event_offset);
    let present = (room / size).min(layout.event_capacity);
    events.skipped.missing = (end - oldest).saturating_sub(present.min(end - oldest));
    for run in runs(oldest..end, layout.event_capacity, present) {
        for (index, slot) in run.entries.zip(run.slot..) {
            let at = layout.event_offset.saturating_add(slot * size);
            match section(bytes, at, size).and_then(|slot| event(slot, index)) {
                Some(event) if index >= first => events.events.push(event),
                _ => events.skipped.torn.push(index),
            }
        }
    }
    Ok(events)
}

fn parse_threads(bytes: &[u8], layout: &EventsLayout) -> Vec<EventThread> {
    let mut threads = BTreeMap::new();
    for index in 0..u64::from(layout.thread_capacity) {
        let size = u64::from(layout.thread_size);
        let Some(entry) = section(
            bytes,
            layout.thread_offset.saturating_add(index * size),
            size,
        ) else {
            break;
        };
        let number = u32_at(entry, 0).unwrap_or(0);
        if number == 0 {
            continue;
        }
        let named = EventThread {
            number,
            native_id: u32_at(entry, 4).unwrap_or(0),
            name: text_at(entry, 8, 56),
        };
        threads.insert(number, named);
    }
    threads.into_values().collect()
}

/// `None` when the slot does not hold event number `index`, whole.
fn event(slot: &[u8], index: u64) -> Option<Event> {
    if u64_at(slot, 0)? != index.checked_add(1)? {
        return None;
    }
    let (detail, code, argument) = (slot[21], u16_at(slot, 22)?, u64_at(slot, 24)?);
    Some(Event {
        index,
        mono_ns: u64_at(slot, 8)?,
        thread: u32_at(slot, 16)?,
        kind: match slot[20] {
            1 => EventKind::Started,
            2 => EventKind::Exited,
            3 => EventKind::Ready,
            4 => EventKind::Resumed,
            5 => EventKind::Suspended {
                lock: detail == 1,
                row: u8::try_from(code).unwrap_or(0),
                held: argument,
            },
            6 => EventKind::GcEnter(match detail {
                0 => GcPhase::Begins,
                1 => GcPhase::Marking,
                2 => GcPhase::Sweeping,
                _ => GcPhase::Unknown,
            }),
            7 => EventKind::GcExit,
            8 => EventKind::RequestBegin { busy_threads: code },
            9 => EventKind::RequestEnd {
                flags: detail,
                status: code,
                endpoint: argument as u16,
            },
            10 => EventKind::CallBegin(call(detail)),
            11 => EventKind::CallEnd(call(detail)),
            12 => EventKind::State(match (detail, code) {
                (0, _) => Some(Doing::Running),
                (1, 1) => Some(Doing::Lock),
                (1, _) => Some(Doing::Io),
                (2, _) => Some(Doing::Waiting),
                _ => None,
            }),
            other => EventKind::Other(other),
        },
    })
}

fn call(kind: u8) -> CallKind {
    match kind {
        0 => CallKind::Sql,
        1 => CallKind::Http,
        2 => CallKind::Cache,
        3 => CallKind::Redis,
        4 => CallKind::Pool,
        other => CallKind::Other(other),
    }
}
