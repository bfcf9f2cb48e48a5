//! What a run measured.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;
use small_sort::SmallSort;

use crate::classes::ByClass;
use crate::endpoint::EndpointOutcome;
use crate::errors::Errors;
use crate::hanging::HangingPage;
use crate::histogram::new_histogram;
use crate::recorded_statuses::{RecordedStatuses, StatusChange};

/// How many requests got how far. At the end of a run
/// `scheduled = completed + errors.unanswered() + cut` and
/// `scheduled = ok + errors.total() + cut`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Fell due in the window (closed loop: were begun).
    pub scheduled: u64,
    /// Were written to a connection, at least in part.
    pub sent: u64,
    /// Got a whole answer, whatever its status.
    pub completed: u64,
    /// Got a whole answer with a status below 400, or 400 to 499 as recorded (401, 403, 407, 408 and 429 excepted).
    pub ok: u64,
    /// Of those, answered before the window ended: throughput counts these.
    pub ok_in_window: u64,
    /// Due and without an answer when the observer cancelled, sent or not; in no
    /// histogram.
    pub cut: u64,
    /// Sent again on a new connection, because the reused one turned out to
    /// be closed before any byte of the answer. The clock ran on.
    pub reconnects: u64,
    /// Connections opened.
    pub connections: u64,
    /// Connections that the server closed or reset while idle.
    pub idle_closed: u64,
    /// Connections that held bytes after the end of an answer.
    pub surplus: u64,
    /// Requests that found all connections busy (open loop).
    pub waited: u64,
    /// Requests of a session or of a recorded connection that fell due before
    /// the answer to the one before had come (open loop).
    pub session_waited: u64,
    /// Sessions begun.
    pub sessions: u64,
    /// Of these, laid out with fewer than all steps: a user's first one, and the rest after a failed request.
    pub cut_short: u64,
    /// Of these, ended by a failed request.
    pub abandoned: u64,
}

/// What ended within one interval of [`crate::Plan::slice`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Slice {
    /// From the start of the run.
    pub start_ns: u64,
    /// The last slice may be shorter.
    pub length_ns: u64,
    /// Requests that fell due in it (closed loop: were begun), whether or not
    /// they could be sent.
    pub due: u64,
    /// Requests that were written to a connection in it.
    pub sent: u64,
    /// Requests that were answered with a status below 400, or 400 to 499 as recorded (401, 403, 407, 408 and 429 excepted).
    pub ok: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Mean response time of `ok`; 0 when there is none.
    pub mean_us: f64,
    /// Response time, errors counting as [`crate::HIGHEST_US`]; 0 when nothing ended.
    pub p50_us: u64,
    /// As `p50_us`.
    pub p99_us: u64,
}

/// Most slices kept; older ones make way.
pub const MAX_SLICES: usize = 10_000;
/// Arrivals kept in [`Outcome::first_arrivals_ns`].
pub const FIRST_ARRIVALS: usize = 16;

/// Answers to requests that were begun late: what the response times would be
/// without the generator's delay.
#[derive(Debug, Clone)]
pub struct LateAnswers {
    /// Response times as they stand in [`Outcome::response`].
    pub counted: Histogram<u64>,
    /// The same, each less its own lateness.
    pub without: Histogram<u64>,
}

/// A good answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// When its request was due (closed loop: begun), from the start of the run.
    pub due_ns: u64,
    /// From then to the last byte.
    pub took_ns: u64,
}

/// Everything a run measured.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How many requests got how far.
    pub counts: Counts,
    /// What failed.
    pub errors: Errors,
    /// Whole answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// The first failure in words: the request and what happened to it.
    pub first_error: Option<String>,
    /// Over the objective; errors always are. 0 without an objective.
    pub violations: u64,
    /// From the scheduled instant (closed loop: from the start of the request,
    /// connecting included) to the last byte. Failed requests are infinite.
    pub response: Histogram<u64>,
    /// From the write of the request to the last byte, whole answers only.
    pub service: Histogram<u64>,
    /// From the write of the request to the first byte of the final answer
    /// (interim answers do not count), whole answers only.
    pub first_byte: Histogram<u64>,
    /// From when the request could be started (it was due and a connection was
    /// to be had) to when it was: the generator's own delay.
    pub lateness: Histogram<u64>,
    /// The answers to requests that were begun so late that it may matter
    /// ([`crate::LATE`]); `None` when there is none.
    pub late_answers: Option<Box<LateAnswers>>,
    /// Open loop: how long each request that found all connections busy
    /// waited for one; it is part of `response`, not of `lateness`.
    pub connection_wait: Histogram<u64>,
    /// Open loop: how long each request of a session or of a recorded
    /// connection that fell due too early waited for the answer to the one
    /// before; part of `response`.
    pub session_wait: Histogram<u64>,
    /// Time to connect, successful connections only.
    pub connect: Histogram<u64>,
    /// Response times by the class of the answer, in which failed requests have
    /// the time that they took.
    pub classes: ByClass,
    /// By request name, in the workload's order.
    pub endpoints: Vec<EndpointOutcome>,
    /// The page that made the server stop answering; if it never answered, the first one, as for an unused server.
    pub hanging: Option<HangingPage>,
    /// The course of the run: the latest [`MAX_SLICES`].
    pub slices: Vec<Slice>,
    /// Slices that made way.
    pub slices_dropped: u64,
    /// `CLOCK_MONOTONIC` at the start of the window.
    pub started_ns: u64,
    /// `CLOCK_MONOTONIC` at the end of the window: nothing is scheduled later.
    pub ended_ns: u64,
    /// `CLOCK_MONOTONIC` when the last request was done with.
    pub finished_ns: u64,
    /// Unix time at the start of the window.
    pub wall_started_ns: u64,
    /// CPU time of the generator's thread, from start to finish.
    pub generator_cpu: Duration,
    /// The part of it until the window ended.
    pub generator_cpu_in_window: Duration,
    /// The time within the window in which the generator's thread was ready to run and had no core, because others had
    /// them; 0 where the kernel does not count it.
    pub generator_waited_in_window: Duration,
    /// Cores that are kept free for the generator; empty unless the caller, which pins it, says so.
    pub own_cores: Vec<u32>,
    /// Other processes that used the CPU meanwhile, as the caller names them: those that may run on `own_cores`, where there are any.
    pub others: Vec<String>,
    /// The time within the window in which the generator waited: it slept, or
    /// it polled, found nothing and had nothing to start.
    pub generator_idle_in_window: Duration,
    /// Requests whose time ran out before the generator began them, though a
    /// connection was to be had: timeouts of its own making.
    pub stalled: u64,
    /// For how long the oldest of [`Counts::cut`] had been due.
    pub oldest_cut: Option<Duration>,
    /// It polled until requests were due ([`crate::Plan::spin`], open loop), so
    /// that its CPU time says little of its work.
    pub spinning: bool,
    /// The first scheduled instants as offsets from the start (open loop).
    pub first_arrivals_ns: Vec<u64>,
    /// Every good answer in the order in which the requests were due; empty
    /// unless [`crate::Plan::keep_answers`].
    pub answers: Vec<Answered>,
    /// The observer ended the run by [`crate::Observer::cancelled`].
    pub cancelled: bool,
    /// The schedule's mean rate, requests a second (open loop).
    pub asked_rate: Option<f64>,
}

impl Outcome {
    /// The length of the window.
    #[must_use]
    pub fn window(&self) -> Duration {
        Duration::from_nanos(self.ended_ns - self.started_ns)
    }

    /// Successful answers a second within the window: in a saturated closed
    /// loop, the server's capacity.
    #[must_use]
    pub fn throughput_per_s(&self) -> f64 {
        let seconds = self.window().as_secs_f64();
        if seconds > 0.0 {
            self.counts.ok_in_window as f64 / seconds
        } else {
            0.0
        }
    }

    /// Good answers that sent the client elsewhere though the workload does not say so: the application
    /// may have done nothing but redirect.
    #[must_use]
    pub fn redirects(&self) -> u64 {
        self.endpoints.iter().map(EndpointOutcome::led_away).sum()
    }

    /// CPU time of the generator's thread for each request that it sent; `None`
    /// when it sent none.
    #[must_use]
    pub fn generator_cpu_per_request(&self) -> Option<Duration> {
        let nanos = self
            .generator_cpu
            .as_nanos()
            .checked_div(u128::from(self.counts.sent))?;
        Some(Duration::from_nanos(
            u64::try_from(nanos).unwrap_or(u64::MAX),
        ))
    }

    /// Share of the requests that violated the objective, 0 to 1.
    #[must_use]
    pub fn violation_rate(&self) -> f64 {
        match self.counts.scheduled - self.counts.cut {
            0 => 0.0,
            counted => self.violations as f64 / counted as f64,
        }
    }

    /// The comparison over all pages.
    #[must_use]
    pub fn recorded_statuses(&self) -> RecordedStatuses {
        let mut all = RecordedStatuses::default();
        for page in &self.endpoints {
            all.compared += page.recorded_statuses.compared;
            all.revalidated += page.recorded_statuses.revalidated;
            let changes = page.recorded_statuses.changes.iter().cloned();
            all.changes.extend(changes);
        }
        // Stable: pages that have as many stay in the workload's order.
        let most_first = |change: &StatusChange| std::cmp::Reverse(change.answers);
        all.changes.small_sort_by_key(most_first);
        all
    }
}

impl Outcome {
    /// Of a run in which nothing happened.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            counts: Counts::default(),
            errors: Errors::default(),
            statuses: BTreeMap::new(),
            first_error: None,
            violations: 0,
            response: new_histogram(),
            service: new_histogram(),
            first_byte: new_histogram(),
            lateness: new_histogram(),
            late_answers: None,
            connection_wait: new_histogram(),
            session_wait: new_histogram(),
            connect: new_histogram(),
            classes: ByClass::default(),
            endpoints: Vec::new(),
            hanging: None,
            slices: Vec::new(),
            slices_dropped: 0,
            started_ns: 0,
            ended_ns: 0,
            finished_ns: 0,
            wall_started_ns: 0,
            generator_cpu: Duration::ZERO,
            generator_cpu_in_window: Duration::ZERO,
            generator_waited_in_window: Duration::ZERO,
            own_cores: Vec::new(),
            others: Vec::new(),
            generator_idle_in_window: Duration::ZERO,
            stalled: 0,
            oldest_cut: None,
            spinning: false,
            first_arrivals_ns: Vec::new(),
            answers: Vec::new(),
            cancelled: false,
            asked_rate: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_that_the_workload_names_are_no_surprise() {
        let mut endpoint = EndpointOutcome::new("GET /");
        endpoint.redirected(302, false, Some("/login"));
        endpoint.redirected(302, false, Some("/other"));
        endpoint.redirected(302, true, Some("/cart"));
        assert_eq!(endpoint.redirects[0].location.as_deref(), Some("/login"));
        let mut outcome = Outcome::empty();
        outcome.endpoints = vec![endpoint];
        assert_eq!(outcome.redirects(), 2);
    }
}
