//! The state of a serving thread, and of a station that it waits for.

use super::fifo::{Fifo, NO_TASK};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Without a request; awake when one is there for it.
    Idle,
    Serving,
    /// Waits for the next request of the connection that it served.
    Lingering,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Service {
    pub stage: Stage,
    /// The one it serves, or served last.
    pub request: u32,
    /// Whether a lingering thread has its next request.
    pub has_next: bool,
    /// Requests of one connection in a row.
    pub in_row: u32,
    pub at: u32,
    pub end: u32,
    pub written: bool,
    /// Whether the client has its answer.
    pub out: bool,
    /// Stations whose places it holds, one bit each.
    pub holds: u64,
    pub began_ns: u64,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            stage: Stage::Idle,
            request: NO_TASK,
            has_next: false,
            in_row: 0,
            at: 0,
            end: 0,
            written: false,
            out: false,
            holds: 0,
            began_ns: 0,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct StationState {
    pub free: u16,
    pub line: Fifo,
    /// Since when no place is free, and how long that was so before.
    since_ns: u64,
    full_ns: u64,
}

impl StationState {
    /// Each process has all of them.
    pub(super) fn of(places: &[u16], processes: u16) -> Vec<Self> {
        let own = places.iter().map(|&free| Self {
            free,
            line: Fifo::default(),
            since_ns: 0,
            full_ns: 0,
        });
        let own: Vec<Self> = own.collect();
        own.repeat(usize::from(processes))
    }

    pub fn take(&mut self, now_ns: u64) {
        self.free -= 1;
        if self.free == 0 {
            self.since_ns = now_ns;
        }
    }

    pub fn give(&mut self, now_ns: u64) {
        self.full_ns = self.full_ns(now_ns);
        self.free += 1;
    }

    /// How long no place was free.
    pub fn full_ns(&self, now_ns: u64) -> u64 {
        match self.free {
            0 => self.full_ns + (now_ns - self.since_ns),
            _ => self.full_ns,
        }
    }
}
