//! When the next request starts, and on which slot.

use super::{BATCH, Engine, NEVER};
use crate::clock::monotonic_ns;
use crate::connection::{Connection, Phase};
use crate::outcome::FIRST_ARRIVALS;
use crate::plan::LoadError;
use crate::tally::Failure;

impl Engine<'_> {
    /// The next instant at which something is to be done unasked.
    pub(super) fn wake_at(&self) -> u64 {
        let start = match self.offsets {
            // While starved, only a connection or the request's own timeout helps.
            Some(_) if self.starved => self.next_due_ns.saturating_add(self.timeout_ns),
            Some(_) if self.has_due() => self.next_due_ns,
            _ if self.draining => NEVER,
            _ => self.resting.front().map_or(NEVER, |(at, _)| *at),
        };
        start.min(self.deadline_bound_ns)
    }

    /// Is there a request of the schedule that belongs to the window?
    pub(super) fn has_due(&self) -> bool {
        self.offsets.is_some()
            && self.next_due_ns < self.window_end_ns
            && self
                .plan
                .stop
                .requests
                .is_none_or(|limit| self.tally.counts.scheduled < limit)
    }

    /// Starts what is due; returns whether more is due than one pass takes.
    pub(super) fn start_due(&mut self, now: u64) -> Result<bool, LoadError> {
        if self.offsets.is_none() {
            return self.start_closed(now);
        }
        for _ in 0..BATCH {
            if !self.has_due() {
                if !self.draining && self.plan.stop.requests == Some(self.tally.counts.scheduled) {
                    self.end_window(now);
                }
                return Ok(false);
            }
            let due = self.next_due_ns;
            if due > now {
                return Ok(false);
            }
            if due.saturating_add(self.timeout_ns) <= now {
                let request = self.take_due();
                self.tally.waited(now - due);
                self.tally.failed(request, Failure::Timeout);
                continue;
            }
            let Some(slot) = self.take_connection() else {
                self.starved = true;
                return Ok(false);
            };
            let ready = if due < self.available_ns {
                self.tally.waited(self.available_ns - due);
                self.available_ns
            } else {
                due
            };
            self.starved = false;
            let request = self.take_due();
            self.tally.late(monotonic_ns().saturating_sub(ready));
            self.start(slot, request, due)?;
        }
        Ok(true)
    }

    /// Takes the next request off the schedule.
    pub(super) fn take_due(&mut self) -> usize {
        if self.first_arrivals_ns.len() < FIRST_ARRIVALS {
            self.first_arrivals_ns
                .push(self.next_due_ns - self.started_ns);
        }
        self.next_due_ns = self
            .offsets
            .as_mut()
            .and_then(Iterator::next)
            .map_or(NEVER, |offset| self.started_ns.saturating_add(offset));
        let request = self.sequence.next_index();
        self.tally.scheduled(request);
        request
    }

    /// An idle connection, else a slot to open one in.
    pub(super) fn take_connection(&mut self) -> Option<usize> {
        while let Some((slot, generation)) = self.idle.pop_front() {
            let connection = &self.connections[slot];
            if connection.phase == Phase::Idle && connection.generation == generation {
                return Some(slot);
            }
        }
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        (self.connections.len() < self.plan.mode.connections()).then(|| {
            self.connections.push(Connection::new());
            self.connections.len() - 1
        })
    }

    pub(super) fn start_closed(&mut self, now: u64) -> Result<bool, LoadError> {
        while let Some(&(at, slot)) = self.resting.front() {
            if self.draining || at > now {
                break;
            }
            self.resting.pop_front();
            self.start_next(slot, at)?;
        }
        Ok(false)
    }

    /// Closed loop: the slot's next request, if the window still asks for one.
    /// `ready_ns`: since when it could be started.
    pub(super) fn start_next(&mut self, slot: usize, ready_ns: u64) -> Result<(), LoadError> {
        let limit = self.plan.stop.requests;
        if self.draining || limit.is_some_and(|limit| self.tally.counts.scheduled >= limit) {
            return Ok(());
        }
        let now = monotonic_ns();
        if now >= self.window_end_ns {
            return Ok(());
        }
        let request = self.sequence.next_index();
        self.tally.scheduled(request);
        self.tally.late(now.saturating_sub(ready_ns));
        self.start(slot, request, now)?;
        if limit == Some(self.tally.counts.scheduled) && !self.draining {
            self.end_window(monotonic_ns());
        }
        Ok(())
    }
}
