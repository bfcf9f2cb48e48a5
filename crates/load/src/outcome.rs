//! What a run measured. Histograms are in whole microseconds, 1 µs to 1 h with
//! three significant digits; a request that failed stands in `response` at the
//! highest value, [`HIGHEST_US`], which means infinite.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// The top of every histogram: 1 h. In `response` it stands for infinity.
pub const HIGHEST_US: u64 = 3_600_000_000;

/// An empty histogram of the kind used throughout.
#[must_use]
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_US, 3).expect("the bounds are valid constants")
}

/// A quantile of a `response` histogram in µs; `None` when the histogram is
/// empty, `Some(None)` when the quantile is infinite: a failed request.
#[must_use]
pub fn quantile_us(histogram: &Histogram<u64>, quantile: f64) -> Option<Option<u64>> {
    if histogram.is_empty() {
        return None;
    }
    let value = histogram.value_at_quantile(quantile);
    Some((value < histogram.lowest_equivalent(HIGHEST_US)).then_some(value))
}

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
    /// Got a whole answer with a status below 400.
    pub ok: u64,
    /// Of those, answered before the window ended: throughput counts these.
    pub ok_in_window: u64,
    /// In flight when the observer cancelled; in no histogram.
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
}

/// Requests that failed, by kind. Each failed request is in exactly one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Errors {
    /// Nobody listened.
    pub connect_refused: u64,
    /// No connection for another reason.
    pub connect_failed: u64,
    /// The connection was reset.
    pub reset: u64,
    /// The connection was closed before the end of the answer.
    pub closed_early: u64,
    /// No whole answer in time, or by the end of the drain.
    pub timeout: u64,
    /// Not an answer in HTTP/1.x.
    pub malformed: u64,
    /// A head beyond the parser's limits.
    pub head_too_large: u64,
    /// A whole answer with a status from 400 to 499.
    pub status_4xx: u64,
    /// A whole answer with a status of 500 or more.
    pub status_5xx: u64,
}

impl Errors {
    /// Requests without a whole answer.
    #[must_use]
    pub fn unanswered(&self) -> u64 {
        self.connect_refused
            + self.connect_failed
            + self.reset
            + self.closed_early
            + self.timeout
            + self.malformed
            + self.head_too_large
    }

    /// All failed requests.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.unanswered() + self.status_4xx + self.status_5xx
    }
}

/// The results of the requests of one name.
#[derive(Debug, Clone)]
pub struct EndpointOutcome {
    /// [`crate::Request::name`].
    pub name: String,
    /// Fell due.
    pub scheduled: u64,
    /// Answered with a status below 400.
    pub ok: u64,
    /// As [`Counts::cut`].
    pub cut: u64,
    /// Failed.
    pub errors: Errors,
    /// Over the objective, errors included.
    pub violations: u64,
    /// As [`Outcome::response`].
    pub response: Histogram<u64>,
}

/// What ended within one interval of [`crate::Plan::slice`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Slice {
    /// From the start of the run.
    pub start_ns: u64,
    /// The last slice may be shorter.
    pub length_ns: u64,
    /// Requests that were answered with a status below 400.
    pub ok: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Mean response time of `ok`; 0 when there is none.
    pub mean_us: f64,
    /// Response time, errors counting as [`HIGHEST_US`]; 0 when nothing ended.
    pub p50_us: u64,
    /// As `p50_us`.
    pub p99_us: u64,
}

/// Most slices kept; older ones make way.
pub const MAX_SLICES: usize = 10_000;
/// Arrivals kept in [`Outcome::first_arrivals_ns`].
pub const FIRST_ARRIVALS: usize = 16;

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
    /// From when the request could be started (it was due and a connection was
    /// to be had) to when it was: the generator's own delay.
    pub lateness: Histogram<u64>,
    /// Open loop: how long each request that found all connections busy
    /// waited for one; it is part of `response`, not of `lateness`.
    pub connection_wait: Histogram<u64>,
    /// Time to connect, successful connections only.
    pub connect: Histogram<u64>,
    /// By request name, in the workload's order.
    pub endpoints: Vec<EndpointOutcome>,
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
    /// The first scheduled instants as offsets from the start (open loop).
    pub first_arrivals_ns: Vec<u64>,
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

    /// Answers that sent the client elsewhere (status 300 to 399, but for 304, which says that what it
    /// has is good): they count as ok, though the application may have done nothing but redirect.
    #[must_use]
    pub fn redirects(&self) -> u64 {
        let sent_elsewhere = self.statuses.range(300..=399);
        sent_elsewhere
            .filter(|(status, _)| **status != 304)
            .map(|(_, count)| count)
            .sum()
    }

    /// Share of the requests that violated the objective, 0 to 1.
    #[must_use]
    pub fn violation_rate(&self) -> f64 {
        match self.counts.scheduled - self.counts.cut {
            0 => 0.0,
            counted => self.violations as f64 / counted as f64,
        }
    }
}

#[cfg(test)]
impl Outcome {
    /// Of a run in which nothing happened.
    pub(crate) fn empty() -> Self {
        Self {
            counts: Counts::default(),
            errors: Errors::default(),
            statuses: BTreeMap::new(),
            first_error: None,
            violations: 0,
            response: new_histogram(),
            service: new_histogram(),
            lateness: new_histogram(),
            connection_wait: new_histogram(),
            connect: new_histogram(),
            endpoints: Vec::new(),
            slices: Vec::new(),
            slices_dropped: 0,
            started_ns: 0,
            ended_ns: 0,
            finished_ns: 0,
            wall_started_ns: 0,
            generator_cpu: Duration::ZERO,
            first_arrivals_ns: Vec::new(),
            cancelled: false,
            asked_rate: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_the_300s_but_for_not_modified() {
        let mut outcome = Outcome::empty();
        assert_eq!(outcome.redirects(), 0);
        outcome.statuses = BTreeMap::from([
            (200, 1),
            (299, 2),
            (300, 4),
            (302, 8),
            (304, 16),
            (308, 32),
            (399, 64),
            (400, 128),
        ]);
        assert_eq!(outcome.redirects(), 4 + 8 + 32 + 64);
    }

    #[test]
    fn a_failed_request_is_infinite_and_a_slow_one_is_not() {
        let mut histogram = new_histogram();
        assert_eq!(quantile_us(&histogram, 0.5), None);
        histogram.saturating_record(HIGHEST_US / 2);
        assert!(matches!(quantile_us(&histogram, 1.0), Some(Some(_))));
        histogram.saturating_record(HIGHEST_US);
        assert_eq!(quantile_us(&histogram, 1.0), Some(None));
        assert!(matches!(quantile_us(&histogram, 0.5), Some(Some(_))));
    }
}
