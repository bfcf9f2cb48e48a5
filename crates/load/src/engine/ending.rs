//! How a run ends: the window, the drain, deadlines, a cancellation, and the
//! outcome.

use std::time::Duration;

use super::{Engine, NEVER};
use crate::clock::{monotonic_ns, thread_cpu_ns, thread_waited_ns};
use crate::failure::Failure;
use crate::observer::Observer;
use crate::outcome::Outcome;
use crate::plan::{LoadError, Mode};
use crate::tally::nanos;

impl Engine<'_> {
    /// Not later than planned, however late it is noticed.
    pub(super) fn end_window(&mut self, at_ns: u64) {
        if !self.draining {
            self.cpu_in_window_ns = thread_cpu_ns().saturating_sub(self.cpu_started_ns);
            let waited = (self.waited_before_ns).zip(thread_waited_ns());
            self.waited_in_window_ns = waited.map_or(0, |(before, now)| now.saturating_sub(before));
            self.idling.window_ended();
        }
        self.window_end_ns = at_ns.min(self.window_end_ns);
        self.draining = true;
        self.tally.window_ended(self.window_end_ns);
    }

    /// When what has no answer gets none.
    pub(super) fn drain_end_ns(&self) -> u64 {
        let from = if self.draining {
            self.window_end_ns
        } else {
            self.counted_out_ns
        };
        from.saturating_add(nanos(self.plan.drain))
    }

    /// Ends the run at once. Due requests without an answer are cut, those that
    /// waited unsent included: to forget them would be to leave out the longest
    /// waits.
    pub(super) fn cancel(&mut self, now: u64) {
        self.cancelled = true;
        self.end_window(now);
        for slot in 0..self.connections.len() {
            if let Some(job) = self.connections[slot].job.take() {
                self.tally.cut(job.request, age(now, job.scheduled_ns));
                self.step_cut(job.request, job.who);
            }
        }
        self.in_flight = 0;
        while self.cast.is_none() && self.has_due() {
            let due = self.next_due_ns;
            let request = self.take_due();
            self.tally.cut(request, age(now, due));
        }
        self.cut_held(now);
    }

    /// Fails every request whose deadline has passed.
    pub(super) fn expire(&mut self, now: u64, failure: &Failure) -> Result<(), LoadError> {
        while let Some(slot) = self.deadlines.take(now) {
            match self.connections[slot].job.map(|job| job.deadline_ns) {
                Some(deadline) if deadline <= now => self.fail(slot, failure.clone())?,
                // Of a request that began after this look was planned.
                Some(deadline) => self.deadlines.watch(slot, deadline),
                None => {}
            }
        }
        Ok(())
    }

    /// The drain is over: requests without an answer get none.
    pub(super) fn give_up(&mut self, now: u64) -> Result<(), LoadError> {
        while self.cast.is_none() && self.has_due() {
            let after_ns = now.saturating_sub(self.next_due_ns);
            let request = self.take_due();
            self.tally.failed(request, after_ns, Failure::Drained);
        }
        // What fails now makes way for nothing.
        self.starved = false;
        self.expire(NEVER, &Failure::Drained)?;
        self.give_up_held(now);
        Ok(())
    }

    pub(super) fn finish(mut self, observer: &mut dyn Observer) -> Outcome {
        let finished_ns = monotonic_ns();
        let due = self.due_by(finished_ns);
        if !self.tally.course.is_empty(due, &self.tally.counts) {
            // Too late to end the run, so the observer's answer means nothing.
            let _ = self.end_slice(finished_ns, observer);
        }
        let sessions = self.session_counts();
        let counts = &mut self.tally.counts;
        counts.sessions = sessions.begun;
        counts.cut_short = sessions.cut_short;
        counts.abandoned = sessions.abandoned;
        let statuses = self.tally.statuses();
        let (endpoints, classes) = self.tally.endpoints();
        let answers = self.tally.answers();
        let tally = self.tally;
        let hanging = tally.unanswered.page(&endpoints);
        Outcome {
            counts: tally.counts,
            errors: tally.errors,
            statuses,
            first_error: tally.first_error,
            violations: tally.violations,
            response: tally.response,
            service: tally.service,
            first_byte: tally.first_byte,
            lateness: tally.lateness,
            connection_wait: tally.connection_wait,
            late_answers: tally.late_answers,
            session_wait: tally.session_wait,
            connect: tally.connect,
            classes,
            endpoints,
            hanging,
            slices: tally.course.slices.into(),
            slices_dropped: tally.course.dropped,
            started_ns: self.started_ns,
            ended_ns: self.window_end_ns.max(self.started_ns),
            finished_ns: finished_ns.max(self.started_ns),
            wall_started_ns: self.wall_started_ns,
            generator_cpu: Duration::from_nanos(
                thread_cpu_ns().saturating_sub(self.cpu_started_ns),
            ),
            generator_cpu_in_window: Duration::from_nanos(self.cpu_in_window_ns),
            generator_waited_in_window: Duration::from_nanos(self.waited_in_window_ns),
            own_cores: Vec::new(),
            others: Vec::new(),
            generator_idle_in_window: Duration::from_nanos(self.idling.in_window_ns()),
            stalled: tally.stalled,
            oldest_cut: tally.oldest_cut,
            spinning: self.offsets.is_some() && !self.plan.spin.is_zero(),
            first_arrivals_ns: self.first_arrivals_ns,
            answers,
            cancelled: self.cancelled,
            asked_rate: match &self.plan.mode {
                Mode::Open { arrivals, .. } => Some(
                    arrivals
                        .mean_rate_between(0, self.window_end_ns.saturating_sub(self.started_ns)),
                ),
                Mode::Closed { .. } => None,
            },
        }
    }
}

fn age(now_ns: u64, due_ns: u64) -> Duration {
    Duration::from_nanos(now_ns.saturating_sub(due_ns))
}
