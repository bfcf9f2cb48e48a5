//! When the next request starts, and on which slot.

use super::users::NOBODY;
use super::{BATCH, Engine, NEVER};
use crate::arrivals::Offsets;
use crate::clock::monotonic_ns;
use crate::connection::{Connection, Phase};
use crate::failure::Failure;
use crate::outcome::FIRST_ARRIVALS;
use crate::plan::LoadError;

/// A second look at the schedule, past the requests that wait in it.
pub(super) struct Ahead {
    offsets: Offsets,
    next_due_ns: u64,
    due: u64,
}

impl Engine<'_> {
    /// Requests that have fallen due, those that no connection was to be had
    /// for included. Costs nothing unless the loop is behind.
    pub(super) fn due_by(&mut self, now: u64) -> u64 {
        let taken = self.tally.counts.scheduled + self.held();
        let offsets = match &self.offsets {
            Some(offsets) if self.has_due() && self.next_due_ns <= now => offsets,
            _ => {
                self.ahead = None;
                return taken;
            }
        };
        let ahead = self.ahead.get_or_insert_with(|| Ahead {
            offsets: offsets.clone(),
            next_due_ns: self.next_due_ns,
            due: taken,
        });
        let until_ns = now.min(self.window_end_ns - 1);
        let limit = self.plan.stop.requests.unwrap_or(u64::MAX);
        while ahead.next_due_ns <= until_ns && ahead.due < limit {
            ahead.due += 1;
            ahead.next_due_ns = ahead
                .offsets
                .next()
                .map_or(NEVER, |offset| self.started_ns.saturating_add(offset));
        }
        ahead.due
    }

    /// The next instant at which something is to be done unasked.
    pub(super) fn wake_at(&self) -> u64 {
        let held = self.held_wake_at();
        let start = match self.offsets {
            // While starved, only a connection or the request's own timeout helps.
            Some(_) if self.starved => self.next_due_ns.saturating_add(self.timeout_ns),
            Some(_) if self.has_due() => self.next_due_ns,
            _ if self.draining => NEVER,
            _ => self.resting.next_ns().unwrap_or(NEVER),
        };
        start.min(held).min(self.deadlines.next_ns())
    }

    /// Is there a request of the schedule that belongs to the window?
    pub(super) fn has_due(&self) -> bool {
        self.offsets.is_some()
            && self.next_due_ns < self.window_end_ns
            && self
                .plan
                .stop
                .requests
                .is_none_or(|limit| self.tally.counts.scheduled + self.held() < limit)
    }

    /// Starts what is due; returns whether more is due than one pass takes.
    pub(super) fn start_due(&mut self, now: u64) -> Result<bool, LoadError> {
        if self.offsets.is_none() {
            return self.start_closed(now);
        }
        if self.cast.is_some() {
            return self.start_turns(now);
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
                self.too_late(due, due, now);
                let request = self.take_due();
                self.tally.failed(request, now - due, Failure::Timeout);
                continue;
            }
            let Some(slot) = self.take_connection() else {
                self.starved = true;
                return Ok(false);
            };
            let ready = self.ready_from(due);
            self.starved = false;
            let request = self.take_due();
            self.start(slot, request, NOBODY, due, ready, monotonic_ns())?;
        }
        Ok(true)
    }

    /// A request's time ran out before it was begun: for want of a connection,
    /// or was it the generator's doing? `since`: from when it could have been
    /// begun, as far as others are concerned.
    pub(super) fn too_late(&mut self, due: u64, since: u64, now: u64) {
        if !self.has_connection() {
            self.starved = true;
            self.tally.waited(now.saturating_sub(since));
            return;
        }
        let ready = self.ready_from(since);
        // Else it was already too late when a connection was to be had.
        if ready < due.saturating_add(self.timeout_ns) {
            self.tally.too_late(now.saturating_sub(ready));
        }
    }

    /// From when a request could have been begun that only wanted a connection
    /// since then; if it had to wait for one, that is counted.
    pub(super) fn ready_from(&mut self, since: u64) -> u64 {
        if since < self.available_ns {
            self.tally.waited(self.available_ns - since);
        }
        since.max(self.available_ns)
    }

    fn has_connection(&mut self) -> bool {
        if let Some(has) = self.lane_has_connection() {
            return has;
        }
        let Some(slot) = self.take_connection() else {
            return false;
        };
        let connection = &self.connections[slot];
        if connection.phase == Phase::Idle {
            self.idle.push_front((slot, connection.generation));
        } else {
            self.free.push(slot);
        }
        true
    }

    /// When the oldest request was due that has not been begun.
    pub(super) fn oldest_due_ns(&self) -> u64 {
        let of_schedule = if self.has_due() {
            self.next_due_ns
        } else {
            NEVER
        };
        of_schedule.min(self.oldest_held_ns())
    }

    /// Between two events: due requests go first, because to read 64 answers
    /// may take longer than the time to the next request.
    pub(super) fn start_ahead(&mut self) -> Result<(), LoadError> {
        if self.offsets.is_some() && !self.starved && self.has_due() {
            let now = monotonic_ns();
            if self.next_due_ns <= now {
                self.start_due(now)?;
            }
        }
        Ok(())
    }

    /// Takes the next request off the schedule.
    pub(super) fn take_due(&mut self) -> usize {
        let request = self.take_arrival();
        self.tally.scheduled(request);
        request
    }

    /// Takes the next arrival off the schedule; returns what the sequence
    /// deals for it.
    pub(super) fn take_arrival(&mut self) -> usize {
        if self.first_arrivals_ns.len() < FIRST_ARRIVALS {
            self.first_arrivals_ns
                .push(self.next_due_ns - self.started_ns);
        }
        self.next_due_ns = self
            .offsets
            .as_mut()
            .and_then(Iterator::next)
            .map_or(NEVER, |offset| self.started_ns.saturating_add(offset));
        self.sequence.next_index()
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
        while !self.draining
            && let Some((at, slot)) = self.resting.take(now)
        {
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
        let (request, who) = self.next_of_slot(slot);
        self.tally.scheduled(request);
        // Without a think time a user comes when the generator does; with one,
        // at an instant of its own.
        let due = if self.thinking.is_none() {
            now
        } else {
            ready_ns
        };
        self.start(slot, request, who, due, ready_ns, now)?;
        if limit == Some(self.tally.counts.scheduled) {
            self.counted_out_ns = monotonic_ns();
        }
        Ok(())
    }
}
