//! The course of a run: the slice under way, and the latest of those that have ended. Memory is
//! bounded however long the run lasts.

use std::collections::VecDeque;

use hdrhistogram::Histogram;

use crate::histogram::{HIGHEST_US, new_histogram};
use crate::outcome::{Counts, MAX_SLICES, Slice};

/// The histograms of one slice, as [`crate::Outcome`] has them for the whole run.
#[derive(Debug)]
pub struct Interval {
    /// See [`crate::Outcome::response`].
    pub response: Histogram<u64>,
    /// See [`crate::Outcome::service`].
    pub service: Histogram<u64>,
}

#[derive(Debug)]
pub(crate) struct Course {
    pub(crate) slices: VecDeque<Slice>,
    pub(crate) dropped: u64,
    /// Of the slice under way. What is recorded here reaches the run's
    /// histograms as the slice ends, and so needs recording only once.
    pub(crate) interval: Interval,
    start_ns: u64,
    ok: u64,
    sum_us: f64,
    /// At the end of the slice before.
    due_before: u64,
    sent_before: u64,
}

impl Course {
    pub(crate) fn new() -> Self {
        Self {
            slices: VecDeque::new(),
            dropped: 0,
            interval: Interval {
                response: new_histogram(),
                service: new_histogram(),
            },
            start_ns: 0,
            ok: 0,
            sum_us: 0.0,
            due_before: 0,
            sent_before: 0,
        }
    }

    pub(crate) fn answered(&mut self, response_us: u64, response_ns: u64) {
        self.interval.response.saturating_record(response_us);
        self.ok += 1;
        self.sum_us += response_ns as f64 / 1e3;
    }

    pub(crate) fn failed(&mut self) {
        self.interval.response.saturating_record(HIGHEST_US);
    }

    /// Nothing ended in the slice under way, fell due or was sent.
    pub(crate) fn is_empty(&self, due: u64, counts: &Counts) -> bool {
        self.interval.response.is_empty()
            && self.interval.service.is_empty()
            && due <= self.due_before
            && counts.sent == self.sent_before
    }

    /// Ends the slice under way; [`Course::begin`] begins the next. `due`: requests that fell due
    /// since the start of the run.
    pub(crate) fn end(
        &mut self,
        run_started_ns: u64,
        now_ns: u64,
        due: u64,
        counts: &Counts,
    ) -> Slice {
        let response = &self.interval.response;
        let slice = Slice {
            start_ns: self.start_ns - run_started_ns,
            length_ns: now_ns.saturating_sub(self.start_ns),
            due: due.saturating_sub(self.due_before),
            sent: counts.sent - self.sent_before,
            ok: self.ok,
            errors: response.len() - self.ok,
            mean_us: if self.ok == 0 {
                0.0
            } else {
                self.sum_us / self.ok as f64
            },
            p50_us: response.value_at_quantile(0.5).min(HIGHEST_US),
            p99_us: response.value_at_quantile(0.99).min(HIGHEST_US),
        };
        if self.slices.len() == MAX_SLICES {
            self.slices.pop_front();
            self.dropped += 1;
        }
        self.slices.push_back(slice);
        self.due_before = due.max(self.due_before);
        self.sent_before = counts.sent;
        slice
    }

    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.interval.response.reset();
        self.interval.service.reset();
        self.start_ns = now_ns;
        self.ok = 0;
        self.sum_us = 0.0;
    }
}
