//! Counts and histograms while a run is under way. Knows nothing of
//! connections or schedules: it is told what happened to which request.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::outcome::{
    Counts, EndpointOutcome, Errors, HIGHEST_US, MAX_SLICES, Slice, new_histogram,
};
use crate::parser::ParseError;
use crate::plan::Plan;
use crate::workload::Workload;

/// Why a request has no whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("connection refused")]
    Refused,
    #[error("cannot connect: {0}")]
    Connect(rustix::io::Errno),
    #[error("connection reset")]
    Reset,
    #[error("no answer within the timeout")]
    Timeout,
    #[error("no answer by the end of the drain")]
    Drained,
    #[error(transparent)]
    Answer(#[from] ParseError),
}

/// The instants of one request, `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// Response time counts from here.
    pub(crate) scheduled_ns: u64,
    /// First byte of the request written.
    pub(crate) sent_ns: u64,
    pub(crate) done_ns: u64,
}

#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) counts: Counts,
    pub(crate) errors: Errors,
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) first_error: Option<String>,
    pub(crate) violations: u64,
    pub(crate) response: Histogram<u64>,
    pub(crate) service: Histogram<u64>,
    pub(crate) lateness: Histogram<u64>,
    pub(crate) connection_wait: Histogram<u64>,
    pub(crate) connect: Histogram<u64>,
    pub(crate) endpoints: Vec<EndpointOutcome>,
    pub(crate) slices: std::collections::VecDeque<Slice>,
    pub(crate) slices_dropped: u64,
    /// Index of each request's endpoint.
    endpoint_of: Vec<usize>,
    labels: Vec<String>,
    objective_ns: Option<u64>,
    /// Of the slice under way.
    slice: Histogram<u64>,
    slice_start_ns: u64,
    slice_ok: u64,
    slice_errors: u64,
    slice_sum_us: f64,
    /// The planned end, until the window ends before it.
    window_end_ns: u64,
}

/// To the nearest microsecond.
fn micros(ns: u64) -> u64 {
    ns.saturating_add(500) / 1_000
}

impl Tally {
    pub(crate) fn new(plan: &Plan, started_ns: u64) -> Self {
        let names = plan.workload.names();
        let requests = plan.workload.requests();
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
            endpoint_of: endpoint_indices(&plan.workload, &names),
            endpoints: names
                .into_iter()
                .map(|name| EndpointOutcome {
                    name: name.to_owned(),
                    scheduled: 0,
                    ok: 0,
                    cut: 0,
                    errors: Errors::default(),
                    violations: 0,
                    response: new_histogram(),
                })
                .collect(),
            slices: std::collections::VecDeque::new(),
            slices_dropped: 0,
            labels: requests
                .iter()
                .map(|r| format!("{} {}", r.method, r.path))
                .collect(),
            objective_ns: plan
                .objective
                .map(|o| u64::try_from(o.as_nanos()).unwrap_or(u64::MAX)),
            slice: new_histogram(),
            slice_start_ns: started_ns,
            slice_ok: 0,
            slice_errors: 0,
            slice_sum_us: 0.0,
            window_end_ns: plan
                .stop
                .after
                .map_or(u64::MAX, |after| started_ns.saturating_add(nanos(after))),
        }
    }

    pub(crate) fn window_ended(&mut self, at_ns: u64) {
        self.window_end_ns = at_ns;
    }

    pub(crate) fn scheduled(&mut self, request: usize) {
        self.counts.scheduled += 1;
        self.endpoints[self.endpoint_of[request]].scheduled += 1;
    }

    pub(crate) fn late(&mut self, by_ns: u64) {
        self.lateness.saturating_record(micros(by_ns));
    }

    pub(crate) fn waited(&mut self, for_ns: u64) {
        self.counts.waited += 1;
        self.connection_wait.saturating_record(micros(for_ns));
    }

    pub(crate) fn connected(&mut self, took_ns: u64) {
        self.connect.saturating_record(micros(took_ns));
    }

    /// A whole answer.
    pub(crate) fn answered(&mut self, request: usize, timing: Timing, status: u16) {
        self.counts.completed += 1;
        *self.statuses.entry(status).or_insert(0) += 1;
        self.service
            .saturating_record(micros(timing.done_ns.saturating_sub(timing.sent_ns)));
        if status >= 400 {
            self.failed_with(request, &format_args!("answered {status}"), |errors| {
                if status < 500 {
                    &mut errors.status_4xx
                } else {
                    &mut errors.status_5xx
                }
            });
            return;
        }
        let response_ns = timing.done_ns.saturating_sub(timing.scheduled_ns);
        // A response of an hour is finite; only failures reach the top.
        let response_us = micros(response_ns).min(HIGHEST_US / 2);
        let violation = u64::from(self.objective_ns.is_some_and(|limit| response_ns > limit));
        let endpoint = &mut self.endpoints[self.endpoint_of[request]];
        endpoint.ok += 1;
        endpoint.violations += violation;
        endpoint.response.saturating_record(response_us);
        self.violations += violation;
        self.counts.ok += 1;
        if timing.done_ns <= self.window_end_ns {
            self.counts.ok_in_window += 1;
        }
        self.response.saturating_record(response_us);
        self.slice.saturating_record(response_us);
        self.slice_ok += 1;
        self.slice_sum_us += response_ns as f64 / 1e3;
    }

    /// No whole answer.
    pub(crate) fn failed(&mut self, request: usize, failure: Failure) {
        self.failed_with(request, &failure, |errors| match failure {
            Failure::Refused => &mut errors.connect_refused,
            Failure::Connect(_) => &mut errors.connect_failed,
            Failure::Reset => &mut errors.reset,
            Failure::Timeout | Failure::Drained => &mut errors.timeout,
            Failure::Answer(ParseError::Truncated) => &mut errors.closed_early,
            Failure::Answer(ParseError::HeadTooLarge) => &mut errors.head_too_large,
            Failure::Answer(_) => &mut errors.malformed,
        });
    }

    fn failed_with(
        &mut self,
        request: usize,
        what: &dyn std::fmt::Display,
        kind: impl Fn(&mut Errors) -> &mut u64,
    ) {
        let endpoint = &mut self.endpoints[self.endpoint_of[request]];
        *kind(&mut endpoint.errors) += 1;
        *kind(&mut self.errors) += 1;
        // Infinite latency, so over any objective.
        let violation = u64::from(self.objective_ns.is_some());
        endpoint.violations += violation;
        self.violations += violation;
        endpoint.response.saturating_record(HIGHEST_US);
        self.response.saturating_record(HIGHEST_US);
        self.slice.saturating_record(HIGHEST_US);
        self.slice_errors += 1;
        if self.first_error.is_none() {
            self.first_error = Some(format!("{}: {what}", self.labels[request]));
        }
    }

    /// In flight when the run was cancelled: in no histogram.
    pub(crate) fn cut(&mut self, request: usize) {
        self.counts.cut += 1;
        self.endpoints[self.endpoint_of[request]].cut += 1;
    }

    /// Ends the slice under way and begins the next.
    pub(crate) fn end_slice(&mut self, run_started_ns: u64, now_ns: u64) -> Slice {
        let slice = Slice {
            start_ns: self.slice_start_ns - run_started_ns,
            length_ns: now_ns.saturating_sub(self.slice_start_ns),
            ok: self.slice_ok,
            errors: self.slice_errors,
            mean_us: if self.slice_ok == 0 {
                0.0
            } else {
                self.slice_sum_us / self.slice_ok as f64
            },
            p50_us: self.slice.value_at_quantile(0.5).min(HIGHEST_US),
            p99_us: self.slice.value_at_quantile(0.99).min(HIGHEST_US),
        };
        if self.slices.len() == MAX_SLICES {
            self.slices.pop_front();
            self.slices_dropped += 1;
        }
        self.slices.push_back(slice);
        self.slice.reset();
        self.slice_start_ns = now_ns;
        self.slice_ok = 0;
        self.slice_errors = 0;
        self.slice_sum_us = 0.0;
        slice
    }

    /// Is anything in the slice under way?
    pub(crate) fn slice_is_empty(&self) -> bool {
        self.slice_ok + self.slice_errors == 0
    }
}

fn endpoint_indices(workload: &Workload, names: &[&str]) -> Vec<usize> {
    workload
        .requests()
        .iter()
        .map(|request| {
            names
                .iter()
                .position(|name| *name == request.name)
                .unwrap_or(0)
        })
        .collect()
}

/// Saturates after 584 years.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Mode, Stop};

    /// The loop may have slept through the end, and hear of the answer before it looks at the clock.
    #[test]
    fn an_answer_after_the_planned_end_is_not_of_the_window() {
        let plan = Plan::new(
            "127.0.0.1:1".parse().unwrap(),
            Workload::get("/").unwrap(),
            Mode::Closed { connections: 1 },
            Stop::after(Duration::from_secs(1)),
        );
        let started_ns = 5_000_000_000;
        let mut tally = Tally::new(&plan, started_ns);
        let mut answered_at = |done_ns| {
            let timing = Timing {
                scheduled_ns: started_ns,
                sent_ns: started_ns,
                done_ns,
            };
            tally.answered(0, timing, 200);
            (tally.counts.ok, tally.counts.ok_in_window)
        };
        assert_eq!(answered_at(6_000_000_000), (1, 1));
        assert_eq!(answered_at(6_000_000_001), (2, 1));
        tally.window_ended(5_500_000_000);
        let timing = Timing {
            scheduled_ns: started_ns,
            sent_ns: started_ns,
            done_ns: 5_500_000_001,
        };
        tally.answered(0, timing, 200);
        assert_eq!((tally.counts.ok, tally.counts.ok_in_window), (3, 1));
    }
}
