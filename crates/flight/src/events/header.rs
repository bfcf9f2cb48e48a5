//! The header of an events file, read and, where a trace is asked for, written.

use super::error::EventsError;
use crate::bytes::{u32_at, u64_at};
use crate::magic;
use crate::origin::Origin;

pub(crate) const HEADER_SIZE: u64 = 4096;
pub(crate) const THREAD_SIZE: u32 = 64;
pub(crate) const EVENT_SIZE: u32 = 32;
const MAX_ENTRY_SIZE: u32 = 1 << 12;

/// What the file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Everything, from when a reader asked until its deadline.
    Trace,
    /// One in so many requests, for as long as the process lives.
    Sampling {
        /// N of `POWERBAND_BURSTS`.
        one_in: u32,
    },
}

/// How far the recording has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventsState {
    /// The process has not noticed yet.
    Asked,
    /// Begun; or its process died before it ended.
    Recording,
    Over,
    /// A state that this version does not know.
    Other(u32),
}

/// Whose events these are, and from when to when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventsHeader {
    pub mode: Mode,
    pub state: EventsState,
    /// The number under which the trace was asked for.
    pub request: u64,
    pub pid: u32,
    /// Puma's index of this worker; `None` in single mode or when unknown.
    pub worker_index: Option<u32>,
    /// Field 22 of `/proc/<pid>/stat`.
    pub start_ticks: u64,
    /// Where the process number means something; `None` in files of older agents.
    pub origin: Option<Origin>,
    /// `CLOCK_REALTIME` when the header was filled.
    pub created_wall_ns: u64,
    /// `CLOCK_MONOTONIC` at the same instant.
    pub created_mono_ns: u64,
    /// Events from then on are not recorded; 0 none.
    pub deadline_mono_ns: u64,
    /// When the agent began to record; 0 before.
    pub began_mono_ns: u64,
    /// When the agent noticed that it is over; 0 before.
    pub ended_mono_ns: u64,
    /// Events ever claimed, lost ones included.
    pub claimed: u64,
    pub(crate) layout: EventsLayout,
}

/// Where the sections lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventsLayout {
    pub thread_offset: u64,
    pub thread_size: u32,
    pub thread_capacity: u32,
    pub event_offset: u64,
    pub event_size: u32,
    pub event_capacity: u64,
}

impl EventsLayout {
    /// What a trace of `bytes` in all is asked for with.
    pub fn for_trace(bytes: u64, thread_capacity: u32) -> Self {
        let event_offset = HEADER_SIZE + u64::from(thread_capacity) * u64::from(THREAD_SIZE);
        Self {
            thread_offset: HEADER_SIZE,
            thread_size: THREAD_SIZE,
            thread_capacity,
            event_offset,
            event_size: EVENT_SIZE,
            event_capacity: bytes.saturating_sub(event_offset) / u64::from(EVENT_SIZE),
        }
    }

    /// The file's length.
    pub fn end(&self) -> u64 {
        let events = self
            .event_capacity
            .saturating_mul(u64::from(self.event_size));
        self.event_offset.saturating_add(events)
    }
}

impl EventsHeader {
    /// Events that found the file full.
    #[must_use]
    pub fn lost(&self) -> u64 {
        match self.mode {
            Mode::Trace => self.claimed.saturating_sub(self.layout.event_capacity),
            Mode::Sampling { .. } => 0,
        }
    }

    /// Events that the file has room for.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.layout.event_capacity
    }

    /// Reads the header from the start of a file.
    ///
    /// # Errors
    /// When the bytes are foreign, too few, or contradict themselves.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, EventsError> {
        if !bytes.starts_with(magic::EVENTS) {
            let found = bytes[..bytes.len().min(magic::EVENTS.len())].to_vec();
            return Err(EventsError::Foreign { found });
        }
        if (bytes.len() as u64) < HEADER_SIZE {
            return Err(EventsError::Truncated {
                need: HEADER_SIZE,
                have: bytes.len() as u64,
            });
        }
        let u32_of = |offset| u32_at(bytes, offset).unwrap_or(0);
        let u64_of = |offset| u64_at(bytes, offset).unwrap_or(0);
        if u32_of(8) != 1 {
            return Err(EventsError::Version { found: u32_of(8) });
        }
        let layout = EventsLayout {
            thread_offset: u64_of(32),
            thread_size: at_least("thread_size", u32_of(40), THREAD_SIZE)?,
            thread_capacity: u32_of(44),
            event_offset: u64_of(48),
            event_size: at_least("event_size", u32_of(56), EVENT_SIZE)?,
            event_capacity: u64_of(64),
        };
        let mode = match u32_of(16) {
            1 => Mode::Trace,
            2 => Mode::Sampling { one_in: u32_of(60) },
            other => {
                return Err(EventsError::Layout {
                    field: "mode",
                    value: u64::from(other),
                    limit: "it is 1 (trace) or 2 (sampling)",
                });
            }
        };
        Ok(Self {
            mode,
            state: match u32_of(20) {
                0 => EventsState::Asked,
                1 => EventsState::Recording,
                2 => EventsState::Over,
                other => EventsState::Other(other),
            },
            request: u64_of(24),
            pid: u32_of(72),
            worker_index: Some(u32_of(76)).filter(|&index| index <= i32::MAX as u32),
            start_ticks: u64_of(80),
            origin: Origin::at(bytes, 136),
            created_wall_ns: u64_of(88),
            created_mono_ns: u64_of(96),
            deadline_mono_ns: u64_of(104),
            began_mono_ns: u64_of(112),
            ended_mono_ns: u64_of(120),
            claimed: u64_of(192),
            layout,
        })
    }

    /// The header that asks for a trace.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_SIZE as usize];
        let mut put = |offset: usize, value: &[u8]| {
            bytes[offset..offset + value.len()].copy_from_slice(value);
        };
        let layout = &self.layout;
        put(0, magic::EVENTS);
        put(8, &1_u32.to_le_bytes());
        put(12, &(HEADER_SIZE as u32).to_le_bytes());
        put(16, &1_u32.to_le_bytes());
        put(24, &self.request.to_le_bytes());
        put(32, &layout.thread_offset.to_le_bytes());
        put(40, &layout.thread_size.to_le_bytes());
        put(44, &layout.thread_capacity.to_le_bytes());
        put(48, &layout.event_offset.to_le_bytes());
        put(56, &layout.event_size.to_le_bytes());
        put(64, &layout.event_capacity.to_le_bytes());
        put(72, &self.pid.to_le_bytes());
        put(76, &self.worker_index.unwrap_or(u32::MAX).to_le_bytes());
        put(80, &self.start_ticks.to_le_bytes());
        put(88, &self.created_wall_ns.to_le_bytes());
        put(96, &self.created_mono_ns.to_le_bytes());
        put(104, &self.deadline_mono_ns.to_le_bytes());
        if let Some(origin) = &self.origin {
            put(136, &origin.pid_namespace.to_le_bytes());
            put(144, &origin.boot_id);
        }
        bytes
    }
}

fn at_least(field: &'static str, value: u32, least: u32) -> Result<u32, EventsError> {
    if (least..=MAX_ENTRY_SIZE).contains(&value) {
        return Ok(value);
    }
    Err(EventsError::Layout {
        field,
        value: u64::from(value),
        limit: "version 1 needs more, and no version needs more than 4096",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_what_is_read() {
        let asked = EventsHeader {
            mode: Mode::Trace,
            state: EventsState::Asked,
            request: 0x1122_3344_5566_7788,
            pid: 4242,
            worker_index: Some(3),
            start_ticks: 99,
            origin: Origin::recorded(7, [8; 16]),
            created_wall_ns: 1,
            created_mono_ns: 2,
            deadline_mono_ns: 3,
            began_mono_ns: 0,
            ended_mono_ns: 0,
            claimed: 0,
            layout: EventsLayout::for_trace(1 << 20, 1024),
        };
        assert_eq!(EventsHeader::parse(&asked.to_bytes()).unwrap(), asked);
        assert_eq!(asked.layout.end(), 1 << 20);
        let single = EventsHeader {
            worker_index: None,
            ..asked
        };
        assert_eq!(EventsHeader::parse(&single.to_bytes()).unwrap(), single);
    }
}
