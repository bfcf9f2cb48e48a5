//! Counts and histograms while a run is under way. Knows nothing of
//! connections or schedules; its callers report what happened to which request.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use hdrhistogram::Histogram;
use small_sort::SmallSort;

use crate::check::LATE;
use crate::classes::{ByClass, StatusClass};
use crate::course::Course;
use crate::endpoint::{EndpointOutcome, Redirect, ToHttps};
use crate::errors::Errors;
use crate::failure::{Failure, FirstFailure, Judgement, Rejected};
use crate::hanging::Unanswered;
use crate::histogram::{LONGEST_US, new_histogram};
use crate::https::to_https;
use crate::outcome::{Answered, Counts, LateAnswers, Slice};
use crate::parser::ParseError;
use crate::plan::Plan;
use crate::recorded_statuses::Recorded;
use crate::workload::Workload;

/// The instants of one request, `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// Response time counts from here.
    pub(crate) scheduled_ns: u64,
    /// Of the response time, the generator's own delay.
    pub(crate) late_ns: u64,
    /// First byte of the request written.
    pub(crate) sent_ns: u64,
    /// First byte of the final answer.
    pub(crate) first_byte_ns: u64,
    pub(crate) done_ns: u64,
}

#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) counts: Counts,
    pub(crate) errors: Errors,
    pub(crate) first_error: Option<String>,
    pub(crate) violations: u64,
    /// See [`crate::Observer::cancelled_at_https`].
    pub(crate) to_https: bool,
    /// Complete at the end of each slice, as is `service`.
    pub(crate) response: Histogram<u64>,
    pub(crate) service: Histogram<u64>,
    pub(crate) first_byte: Histogram<u64>,
    pub(crate) lateness: Histogram<u64>,
    pub(crate) late_answers: Option<Box<LateAnswers>>,
    pub(crate) connection_wait: Histogram<u64>,
    pub(crate) session_wait: Histogram<u64>,
    pub(crate) connect: Histogram<u64>,
    pub(crate) course: Course,
    /// See [`crate::Outcome`].
    pub(crate) stalled: u64,
    pub(crate) oldest_cut: Option<Duration>,
    pub(crate) unanswered: Unanswered,
    /// Good answers in the order in which they came, where they are kept.
    answers: Option<Vec<Answered>>,
    started_ns: u64,
    /// Whole answers by status, from 0.
    by_status: Vec<u64>,
    endpoints: Vec<EndpointOutcome>,
    /// Index of each request's endpoint.
    endpoint_of: Vec<usize>,
    /// Method and path of each request.
    labels: Vec<String>,
    /// Of each request.
    recorded: Vec<Option<Recorded>>,
    objective_ns: Option<u64>,
    /// The planned end, until the window ends before it.
    window_end_ns: u64,
}

/// To the nearest microsecond.
fn micros(ns: u64) -> u64 {
    ns.saturating_add(500) / 1_000
}

impl Tally {
    /// Empty; [`Tally::begin`] sets the start of the run.
    pub(crate) fn new(plan: &Plan) -> Self {
        let names = plan.workload.names();
        let requests = plan.workload.requests();
        let endpoint_of = endpoint_indices(&plan.workload, &names);
        let is_recording = plan.workload.order().is_some();
        let mut endpoints: Vec<_> = names.into_iter().map(EndpointOutcome::new).collect();
        for (request, endpoint) in requests.iter().zip(&endpoint_of) {
            endpoints[*endpoint].wants_page &= request.is_safe() && !is_recording;
        }
        Self {
            counts: Counts::default(),
            errors: Errors::default(),
            first_error: None,
            violations: 0,
            to_https: false,
            response: new_histogram(),
            service: new_histogram(),
            first_byte: new_histogram(),
            lateness: new_histogram(),
            late_answers: None,
            connection_wait: new_histogram(),
            session_wait: new_histogram(),
            connect: new_histogram(),
            course: Course::new(),
            by_status: vec![0; 1_000],
            endpoint_of,
            endpoints,
            labels: requests
                .iter()
                .map(|r| format!("{} {}", r.method, r.path))
                .collect(),
            recorded: requests.iter().map(Recorded::of).collect(),
            objective_ns: plan
                .objective
                .map(|o| u64::try_from(o.as_nanos()).unwrap_or(u64::MAX)),
            window_end_ns: u64::MAX,
            stalled: 0,
            oldest_cut: None,
            unanswered: Unanswered::new(&plan.mode, nanos(plan.timeout)),
            answers: plan.keep_answers.then(Vec::new),
            started_ns: 0,
        }
    }

    /// The run begins, and its window is to end then.
    pub(crate) fn begin(&mut self, started_ns: u64, window_end_ns: u64) {
        self.course.begin(started_ns);
        self.started_ns = started_ns;
        self.window_end_ns = window_end_ns;
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

    /// As late as that, a request was found to be out of time.
    pub(crate) fn too_late(&mut self, by_ns: u64) {
        self.late(by_ns);
        // Less is no stall: it was about to run out of time anyway.
        self.stalled += u64::from(by_ns >= nanos(LATE));
    }

    pub(crate) fn waited(&mut self, for_ns: u64) {
        self.counts.waited += 1;
        self.connection_wait.saturating_record(micros(for_ns));
    }

    /// For the answer to the user's request before.
    pub(crate) fn session_waited(&mut self, for_ns: u64) {
        self.counts.session_waited += 1;
        self.session_wait.saturating_record(micros(for_ns));
    }

    pub(crate) fn connected(&mut self, took_ns: u64) {
        self.connect.saturating_record(micros(took_ns));
    }

    /// A whole answer.
    pub(crate) fn answered(
        &mut self,
        request: usize,
        timing: Timing,
        status: u16,
        path: &str,
        location: Option<&str>,
    ) {
        let judgement = Judgement {
            status,
            path,
            expected: self.recorded[request].is_some_and(|recorded| recorded.is(status)),
            location,
            rejected: None,
            detail: "",
        };
        self.judged(request, timing, judgement);
    }

    /// A whole answer that was looked at.
    pub(crate) fn judged(&mut self, request: usize, timing: Timing, judgement: Judgement<'_>) {
        let Judgement {
            status,
            rejected,
            detail,
            ..
        } = judgement;
        self.counts.completed += 1;
        self.unanswered.answered(timing.sent_ns, timing.done_ns);
        if let Some(count) = self.by_status.get_mut(usize::from(status)) {
            *count += 1;
        }
        if let Some(recorded) = self.recorded[request] {
            let endpoint = &mut self.endpoints[self.endpoint_of[request]];
            endpoint
                .recorded_statuses
                .see(&endpoint.name, recorded, status);
        }
        let since_sent = |at_ns: u64| micros(at_ns.saturating_sub(timing.sent_ns));
        self.course
            .interval
            .service
            .saturating_record(since_sent(timing.done_ns));
        self.first_byte
            .saturating_record(since_sent(timing.first_byte_ns));
        let response_ns = timing.done_ns.saturating_sub(timing.scheduled_ns);
        let recorded = self.recorded[request];
        let class = match recorded.is_some_and(|recorded| recorded.was_rejected(status)) {
            true => StatusClass::AsRecorded,
            false => StatusClass::of(status),
        };
        if class.failed() {
            self.failed_with(
                request,
                class,
                response_ns,
                &format_args!("answered {status}{detail}"),
                |errors| {
                    if status < 500 {
                        &mut errors.status_4xx
                    } else {
                        &mut errors.status_5xx
                    }
                },
            );
            return;
        }
        // Before the workload's expectations: a rejected redirect to https is one too.
        let location = judgement.location.filter(|_| !judgement.expected);
        if let Some(location) = to_https(status, location) {
            self.to_https = true;
            let endpoint = &mut self.endpoints[self.endpoint_of[request]];
            endpoint.to_https.get_or_insert_with(|| ToHttps {
                location: location.to_owned(),
                path: judgement.path.to_owned(),
            });
        }
        if let Some(rejected) = rejected {
            self.failed_with(
                request,
                StatusClass::Rejected,
                response_ns,
                &format_args!("{rejected}{detail}"),
                |errors| match rejected {
                    Rejected::Status { .. } => &mut errors.unexpected_status,
                    Rejected::Capture(_) => &mut errors.capture_failed,
                },
            );
            return;
        }
        let response_us = finite_us(response_ns);
        let violation = u64::from(self.objective_ns.is_some_and(|limit| response_ns > limit));
        let endpoint = &mut self.endpoints[self.endpoint_of[request]];
        endpoint.ok += 1;
        endpoint.violations += violation;
        endpoint.classes.record(class, response_us);
        if Redirect::is(status) {
            endpoint.redirected(status, judgement.expected, judgement.location);
        }
        self.violations += violation;
        self.counts.ok += 1;
        if timing.done_ns <= self.window_end_ns {
            self.counts.ok_in_window += 1;
        }
        self.course.answered(response_us, response_ns);
        if let Some(answers) = &mut self.answers {
            answers.push(Answered {
                due_ns: timing.scheduled_ns.saturating_sub(self.started_ns),
                took_ns: response_ns,
            });
        }
        if timing.late_ns >= nanos(LATE) {
            let late = self.late_answers.get_or_insert_with(|| {
                Box::new(LateAnswers {
                    counted: new_histogram(),
                    without: new_histogram(),
                })
            });
            let without_ns = response_ns.saturating_sub(timing.late_ns);
            late.counted.saturating_record(response_us);
            late.without.saturating_record(finite_us(without_ns));
        }
    }

    /// As `failed`, of a request that was sent then; 0: it was not.
    pub(crate) fn failed_after_sending(
        &mut self,
        request: usize,
        sent_ns: u64,
        after_ns: u64,
        failure: Failure,
    ) {
        if sent_ns > 0 && matches!(failure, Failure::Timeout | Failure::Drained) {
            self.unanswered.add(self.endpoint_of[request], sent_ns);
        }
        self.failed(request, after_ns, failure);
    }

    /// No whole answer, `after_ns` after the scheduled instant.
    pub(crate) fn failed(&mut self, request: usize, after_ns: u64, failure: Failure) {
        self.failed_with(
            request,
            StatusClass::None,
            after_ns,
            &failure,
            |errors| match failure {
                Failure::Refused => &mut errors.connect_refused,
                Failure::Connect(_) | Failure::Backlog => &mut errors.connect_failed,
                Failure::Tls(_) => &mut errors.tls_failed,
                Failure::Reset => &mut errors.reset,
                Failure::Timeout | Failure::Drained => &mut errors.timeout,
                Failure::Answer(ParseError::Truncated) => &mut errors.closed_early,
                Failure::Answer(ParseError::HeadTooLarge) => &mut errors.head_too_large,
                Failure::Answer(_) => &mut errors.malformed,
            },
        );
    }

    fn failed_with(
        &mut self,
        request: usize,
        class: StatusClass,
        after_ns: u64,
        what: &dyn std::fmt::Display,
        kind: impl Fn(&mut Errors) -> &mut u64,
    ) {
        let endpoint = &mut self.endpoints[self.endpoint_of[request]];
        *kind(&mut endpoint.errors) += 1;
        *kind(&mut self.errors) += 1;
        // Infinite latency, so over any objective.
        let violation = u64::from(self.objective_ns.is_some());
        endpoint.violations += violation;
        endpoint.classes.record(class, finite_us(after_ns));
        self.violations += violation;
        self.course.failed();
        endpoint.first_failure.get_or_insert_with(|| FirstFailure {
            request: self.labels[request].clone(),
            what: what.to_string(),
        });
        if self.first_error.is_none() {
            self.first_error = Some(format!("{}: {what}", self.labels[request]));
        }
    }

    /// Whether the next failure of this request is the one that messages show.
    pub(crate) fn shows_next_failure(&self, request: usize) -> bool {
        let endpoint = &self.endpoints[self.endpoint_of[request]];
        endpoint.first_failure.is_none()
    }

    /// What messages call the request from now on.
    pub(crate) fn set_label(&mut self, request: usize, label: String) {
        self.labels[request] = label;
    }

    /// Without an answer when the run was cancelled: in no histogram.
    pub(crate) fn cut(&mut self, request: usize, age: Duration) {
        self.counts.cut += 1;
        self.oldest_cut = self.oldest_cut.max(Some(age));
        self.endpoints[self.endpoint_of[request]].cut += 1;
    }

    /// Ends the slice under way, whose histograms stay in `course.interval` until
    /// [`Course::begin`]. `due`: requests that fell due since the start of the run.
    pub(crate) fn end_slice(&mut self, run_started_ns: u64, now_ns: u64, due: u64) -> Slice {
        let slice = self.course.end(run_started_ns, now_ns, due, &self.counts);
        let interval = &self.course.interval;
        for (sum, part) in [
            (&mut self.response, &interval.response),
            (&mut self.service, &interval.service),
        ] {
            sum.add(part).expect("all histograms have the same bounds");
        }
        slice
    }

    /// Whole answers by status.
    pub(crate) fn statuses(&self) -> BTreeMap<u16, u64> {
        (0..)
            .zip(&self.by_status)
            .filter(|(_, count)| **count > 0)
            .map(|(status, count)| (status, *count))
            .collect()
    }

    /// The good answers in the order in which they were due.
    pub(crate) fn answers(&mut self) -> Vec<Answered> {
        let mut answers = self.answers.take().unwrap_or_default();
        // Stable, so that those due at one instant stay as they ended.
        answers.small_sort_by_key(|answer| answer.due_ns);
        answers
    }

    /// The endpoints with their histograms, and the classes of all.
    pub(crate) fn endpoints(&mut self) -> (Vec<EndpointOutcome>, ByClass) {
        let mut classes = ByClass::default();
        let mut endpoints = std::mem::take(&mut self.endpoints);
        for endpoint in &mut endpoints {
            classes.add(&endpoint.classes);
            endpoint.response = endpoint.classes.response(&endpoint.errors);
        }
        (endpoints, classes)
    }
}

/// A response of an hour is finite; only failures reach the top.
fn finite_us(ns: u64) -> u64 {
    micros(ns).min(LONGEST_US)
}

fn endpoint_indices(workload: &Workload, names: &[&str]) -> Vec<usize> {
    let places: HashMap<&str, usize> = (names.iter().copied()).zip(0..).collect();
    let requests = workload.requests().iter();
    requests
        .map(|request| places.get(request.name.as_str()).copied().unwrap_or(0))
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

    /// A form's POST is answered by a redirect, and a name may stand for both.
    #[test]
    fn a_page_is_wanted_where_each_request_of_its_name_only_reads() {
        let workload = Workload::from_toml(
            "[[request]]\npath = '/'\n[[request]]\npath = '/a'\nname = 'both'\n\
             [[request]]\npath = '/a'\nname = 'both'\nmethod = 'POST'\n",
        );
        let plan = Plan::new(
            std::net::SocketAddr::from(([127, 0, 0, 1], 1)),
            workload.unwrap(),
            Mode::closed(1),
            Stop::after(Duration::from_secs(1)),
        );
        let endpoints = Tally::new(&plan).endpoints;
        let wanted: Vec<_> = endpoints
            .iter()
            .map(|page| (page.name.as_str(), page.wants_page))
            .collect();
        assert_eq!(wanted, [("GET /", true), ("both", false)]);
    }

    /// The loop may have slept through the end, and hear of the answer before it looks at the clock.
    #[test]
    fn an_answer_after_the_planned_end_is_not_of_the_window() {
        let plan = Plan::new(
            std::net::SocketAddr::from(([127, 0, 0, 1], 1)),
            Workload::get("/").unwrap(),
            Mode::closed(1),
            Stop::after(Duration::from_secs(1)),
        );
        let started_ns = 5_000_000_000;
        let mut tally = Tally::new(&plan);
        tally.begin(started_ns, 6_000_000_000);
        let mut answered_at = |done_ns| {
            let timing = Timing {
                scheduled_ns: started_ns,
                late_ns: 0,
                sent_ns: started_ns,
                first_byte_ns: done_ns,
                done_ns,
            };
            tally.answered(0, timing, 200, "/", None);
            (tally.counts.ok, tally.counts.ok_in_window)
        };
        assert_eq!(answered_at(6_000_000_000), (1, 1));
        assert_eq!(answered_at(6_000_000_001), (2, 1));
        tally.window_ended(5_500_000_000);
        let timing = Timing {
            scheduled_ns: started_ns,
            late_ns: 0,
            sent_ns: started_ns,
            first_byte_ns: 5_500_000_001,
            done_ns: 5_500_000_001,
        };
        tally.answered(0, timing, 200, "/", None);
        assert_eq!((tally.counts.ok, tally.counts.ok_in_window), (3, 1));
    }
}
