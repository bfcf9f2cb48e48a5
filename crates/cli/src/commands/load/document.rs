//! The load document made of what the generator measured.

use super::HttpsTrouble;
use super::assertions::Limit;
use super::doubts::{self, Doubts, redirects};
use super::order::Order;
use hdrhistogram::Histogram;
use load::{
    ByClass, Counts, EndpointOutcome, Errors, HIGHEST_US, INFINITE_FROM_US, Outcome, Slice,
    StatusClass, finite_mean_us, quantile_us,
};
use run::load::{
    self as document, AssertionOutcome, Class, Document, Endpoint, Generator, Interval, Latency,
    State, least_values,
};
use run::{Hdr, LatencyObjective, Redirects};
use std::collections::BTreeMap;
use std::time::Duration;

/// What an outcome is held against.
#[derive(Debug)]
pub struct Judged<'a> {
    /// What was asked.
    pub asked: &'a document::Asked,
    /// `--slo`.
    pub objective: Option<LatencyObjective>,
    /// `--assert`.
    pub limits: &'a [Limit],
    /// The workload is a recording.
    pub recording: bool,
    /// Why no limit holds, whatever was measured.
    pub doubt: Option<&'a str>,
    /// Why no limit is decided, whatever was measured.
    pub no_answer: Option<&'a str>,
}

/// What was measured, and what it comes to. `signal` ended the run.
/// `https`: answers redirect to it. `late`: why the run did not begin when it should have.
pub fn document(
    order: &Order,
    outcome: &Outcome,
    https: Option<&HttpsTrouble>,
    late: Option<String>,
    signal: Option<u8>,
    reached: bool,
) -> Document {
    let state = match signal {
        Some(_) => State::Interrupted,
        None if reached => State::Done,
        None => State::Unreachable,
    };
    let judged = Judged {
        asked: &order.asked,
        objective: order.objective,
        limits: &order.limits,
        recording: order.plan.workload.order().is_some(),
        doubt: None,
        no_answer: https
            .filter(|https| https.avoidable)
            .map(|_| "they include redirects to https"),
    };
    let mut document = figures(&judged, outcome, state);
    if let Some(late) = late {
        let generator = &mut document.generator;
        (generator.ok, generator.only_late) = (false, false);
        generator.trouble = Some(match generator.trouble.take() {
            Some(trouble) => format!("{late}; {trouble}"),
            None => late,
        });
    }
    conclude(&mut document, &judged, outcome);
    if let Some(https) = https {
        document.warnings.insert(0, format!("{}.", https.said));
    }
    if order.plan.workload.lacks_statuses() {
        document
            .warnings
            .push(format!("Statuses: {}.", ::load::NO_STATUSES));
    }
    if let Some(signal) = signal {
        document.exit_code = 128 + signal;
    }
    document
}

/// All but the assertions and the exit code.
pub fn figures(judged: &Judged<'_>, outcome: &Outcome, state: State) -> Document {
    let endpoints: Vec<Endpoint> = outcome.endpoints.iter().map(endpoint).collect();
    let redirects = redirects(&endpoints);
    Document {
        schema: document::SCHEMA.to_owned(),
        powerband_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: instant(outcome.wall_started_ns),
        merged: Vec::new(),
        group: None,
        asked: judged.asked.clone(),
        state,
        window_s: outcome.window().as_secs_f64(),
        elapsed_s: (outcome.finished_ns - outcome.started_ns) as f64 / 1e9,
        counts: counts(&outcome.counts, &outcome.errors),
        errors: by_kind(&outcome.errors),
        first_error: outcome.first_error.clone(),
        statuses: outcome
            .statuses
            .iter()
            .map(|(status, count)| (status.to_string(), *count))
            .collect(),
        throughput_per_s: outcome.throughput_per_s(),
        response: latency(&outcome.response),
        service: latency(&outcome.service),
        first_byte: latency(&outcome.first_byte),
        connect: latency(&outcome.connect),
        connection_wait: latency(&outcome.connection_wait),
        lateness: latency(&outcome.lateness),
        objective: judged.objective.map(|objective| document::Objective {
            percentile: objective.percentile,
            limit_ms: objective.limit_ms,
            violations: outcome.violations,
            violation_rate: outcome.violation_rate(),
        }),
        assertions: Vec::new(),
        classes: classes(&outcome.classes),
        sessions: (outcome.counts.sessions > 0).then_some(document::Sessions {
            begun: outcome.counts.sessions,
            cut_short: outcome.counts.cut_short,
            abandoned: outcome.counts.abandoned,
            waited: outcome.counts.session_waited,
        }),
        recorded: judged.recording.then(|| recorded(outcome)),
        intervals: outcome.slices.iter().map(interval).collect(),
        intervals_dropped: outcome.slices_dropped,
        generator: generator(outcome),
        warnings: warnings(outcome, &redirects),
        endpoints,
        exit_code: 0,
    }
}

/// Judges the limits, and with them the exit code; see `exit_code` in the document.
pub fn conclude(document: &mut Document, judged: &Judged<'_>, outcome: &Outcome) {
    let mut doubts = Doubts::of(document);
    let of_all = judged.no_answer.map(str::to_owned);
    doubts.of_all = of_all.or(doubts.of_all);
    let of_holding = judged.doubt.map(str::to_owned);
    doubts.of_holding = of_holding.or(doubts.of_holding);
    let limits = judged.limits.iter();
    document.assertions = limits.map(|limit| limit.judge(outcome, &doubts)).collect();
    let unquotable = document.assertions.is_empty() && !document.generator.ok;
    document.exit_code = match doubts.of_all.is_some() || unquotable {
        true => 3,
        false => of_assertions(&document.assertions, document.counts.ok),
    };
}

fn generator(outcome: &Outcome) -> Generator {
    let trouble = outcome.generator_ok().err();
    Generator {
        ok: trouble.is_none(),
        only_late: trouble.as_ref().is_some_and(|t| t.only_adds()),
        trouble: trouble.map(|t| t.to_string()),
        cpu_s: outcome.generator_cpu.as_secs_f64(),
        cpu_share: outcome.generator_cpu_share(),
        cpu_us_per_request: outcome
            .generator_cpu_per_request()
            .map(|time| time.as_secs_f64() * 1e6),
        late_answers: outcome
            .late_answers
            .as_deref()
            .map(|late| document::LateAnswers {
                counted: Hdr::compressed(&late.counted),
                without: Hdr::compressed(&late.without),
            }),
    }
}

/// Whether there are assertions and all hold of figures to which a late generator has only added.
pub fn holds_although_late(document: &Document) -> bool {
    document.generator.only_late
        && doubts::no_figures(document).is_none()
        && !document.assertions.is_empty()
        && of_assertions(&document.assertions, document.counts.ok) == 0
}

/// Of figures that are an honest answer.
pub fn of_assertions(assertions: &[document::Assertion], ok: u64) -> u8 {
    let any = |wanted| assertions.iter().any(|a| a.outcome == wanted);
    if any(AssertionOutcome::Fails) {
        1
    } else if any(AssertionOutcome::Unknown) || ok == 0 {
        3
    } else {
        0
    }
}

fn recorded(outcome: &Outcome) -> document::Recorded {
    let statuses = outcome.recorded_statuses();
    let other_work = statuses.is_other_work();
    let warning = statuses.sentence().map(|said| match other_work {
        true => format!(
            "{said}; the figures are of other work than was recorded, not to be quoted as its own: {}",
            statuses.remedy()
        ),
        false => said,
    });
    document::Recorded {
        compared: statuses.compared,
        revalidated: statuses.revalidated,
        changed: statuses.changed(),
        other_work,
        warning,
        changes: statuses.changes.into_iter().map(change).collect(),
    }
}

fn change(change: ::load::StatusChange) -> document::StatusChange {
    document::StatusChange {
        endpoint: change.page,
        recorded: change.recorded,
        replayed: change.replayed,
        answers: change.answers,
    }
}

/// How the warning of a generator begins that was punctual up to the p99 alone.
pub const TOO_LATE_BEYOND: &str = "Do not quote the p99.9 and what is beyond";

fn warnings(outcome: &Outcome, redirects: &Redirects) -> Vec<String> {
    let mut warnings = Vec::new();
    // Of a single page the failures are those of the run.
    if outcome.endpoints.len() > 1 && outcome.counts.completed > 0 {
        warnings.extend(outcome.hanging.iter().map(|page| format!("{page}.")));
        let broken = outcome.broken_pages(outcome.hanging.as_ref());
        warnings.extend(broken.iter().map(|page| format!("Broken: {page}.")));
    }
    if let Some(oldest) = outcome.oldest_cut {
        warnings.push(left_out(outcome.counts.cut, oldest));
    }
    warnings.extend(redirects.warnings().into_iter().map(|said| said + "."));
    let p99_9_shown = outcome.response.len() >= least_values(99.9);
    if p99_9_shown
        && outcome.generator_ok().is_ok()
        && let Err(trouble) = outcome.generator_ok_at(0.999)
    {
        warnings.push(format!("{TOO_LATE_BEYOND}: {trouble}."));
    }
    warnings
}

/// An interrupted run that hung must not show good percentiles without a warning.
fn left_out(cut: u64, oldest: Duration) -> String {
    let requests = if cut == 1 { "request" } else { "requests" };
    format!(
        "The percentiles leave out {cut} {requests} without an answer when the run was interrupted, the oldest due {:.1} s before.",
        oldest.as_secs_f64()
    )
}

/// UTC, RFC 3339.
pub fn instant(unix_ns: u64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(unix_ns))
        .map(|at| at.to_string())
        .unwrap_or_default()
}

fn counts(counts: &Counts, errors: &Errors) -> document::Counts {
    document::Counts {
        asked: counts.scheduled,
        sent: counts.sent,
        answered: counts.completed,
        ok: counts.ok,
        failed: errors.total(),
        cut: counts.cut,
        sent_again: counts.reconnects,
        waited: counts.waited,
        connections: counts.connections,
        idle_closed: counts.idle_closed,
        surplus: counts.surplus,
    }
}

/// The kinds that occurred.
pub fn by_kind(errors: &Errors) -> BTreeMap<String, u64> {
    let all = serde_json::to_value(errors).unwrap_or_default();
    let kinds = all.as_object().into_iter().flatten();
    kinds
        .filter_map(|(kind, count)| Some((kind.clone(), count.as_u64().filter(|c| *c > 0)?)))
        .collect()
}

fn endpoint(endpoint: &EndpointOutcome) -> Endpoint {
    Endpoint {
        name: endpoint.name.clone(),
        asked: endpoint.scheduled,
        ok: endpoint.ok,
        failed: endpoint.errors.total(),
        errors: by_kind(&endpoint.errors),
        response: latency(&endpoint.response),
        classes: classes(&endpoint.classes),
        redirects: experiment::sending::redirects(endpoint),
    }
}

fn classes(found: &ByClass) -> Vec<Class> {
    let class = |(class, response): (StatusClass, &Histogram<u64>)| Class {
        class: class.label().to_owned(),
        response: latency(response),
    };
    found.iter().map(class).collect()
}

fn interval(slice: &Slice) -> Interval {
    let ended = slice.ok + slice.errors > 0;
    let finite = |us: u64| (ended && us < INFINITE_FROM_US).then(|| us as f64 / 1e3);
    Interval {
        start_s: slice.start_ns as f64 / 1e9,
        length_s: slice.length_ns as f64 / 1e9,
        asked: slice.due,
        sent: slice.sent,
        ok: slice.ok,
        failed: slice.errors,
        p50_ms: finite(slice.p50_us),
        p99_ms: finite(slice.p99_us),
    }
}

/// The quantiles that so many values support.
pub fn latency(histogram: &Histogram<u64>) -> Latency {
    let count = histogram.len();
    let infinite = histogram.count_between(INFINITE_FROM_US, HIGHEST_US);
    let at = |percentile: f64| {
        if count < least_values(percentile) {
            return None;
        }
        let us = quantile_us(histogram, percentile / 100.0).flatten()?;
        Some(us as f64 / 1e3)
    };
    let mean_us = finite_mean_us(histogram);
    let some = mean_us.is_some();
    Latency {
        count,
        infinite,
        mean_ms: mean_us.map(|us| us / 1e3),
        min_ms: some.then(|| histogram.min() as f64 / 1e3),
        p50_ms: at(50.0),
        p90_ms: at(90.0),
        p95_ms: at(95.0),
        p99_ms: at(99.0),
        p99_9_ms: at(99.9),
        p99_99_ms: at(99.99),
        max_ms: (some && infinite == 0).then(|| histogram.max() as f64 / 1e3),
        hdr: (count > 0).then(|| Hdr::compressed(histogram)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::new_histogram;

    #[test]
    fn quantiles_that_the_values_do_not_support_are_left_out() {
        let mut histogram = new_histogram();
        for us in 1..=999 {
            histogram.record(us * 1_000).unwrap();
        }
        let few = latency(&histogram);
        assert!(few.p99_ms.is_some() && few.p99_9_ms.is_none());
        histogram.record(1_000_000).unwrap();
        let enough = latency(&histogram);
        assert!(enough.p99_9_ms.is_some() && enough.p99_99_ms.is_none());
        assert_eq!(latency(&new_histogram()).p50_ms, None);
    }

    #[test]
    fn what_an_interrupted_run_leaves_out_is_said() {
        let said = left_out(31, Duration::from_millis(12_340));
        assert!(
            said.contains("31 requests") && said.contains("12.3 s"),
            "{said}"
        );
        assert!(left_out(1, Duration::ZERO).contains("1 request without"));
    }

    #[test]
    fn failures_are_infinite_and_leave_the_mean_alone() {
        let mut histogram = new_histogram();
        histogram.record_n(2_000, 95).unwrap();
        histogram.record_n(HIGHEST_US, 5).unwrap();
        let found = latency(&histogram);
        assert_eq!((found.count, found.infinite), (100, 5));
        assert_eq!((found.p99_ms, found.max_ms), (None, None));
        let mean = found.mean_ms.unwrap();
        assert!((mean / 2.0 - 1.0).abs() < 0.001, "{mean}");
        assert!(found.p90_ms.is_some());
    }
}
