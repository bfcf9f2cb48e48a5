//! The before-after document from the hours of both periods.

use super::hours::Hours;
use super::periods::{LEAST_DAYS, Periods, Side};
use crate::judge::{instant, quantile, shown_p};
use crate::query::Family;
use run::before_after::{Change, Document, Outcome, Period, SCHEMA};
use run::production::Check;
use run::{change_with_interval, counted, first_of, grouped, rounded_change};
use stats::{Interrupted, interrupted};

/// Level of the test; the interval has one minus it as confidence. In simulations 3.9 to 4.4 % of the verdicts are false (docs/method.md).
const LEVEL: f64 = 0.04;
/// The least number of requests of an hour with a mean.
const LEAST_REQUESTS: f64 = 20.0;
/// The least share of hours with requests in both periods.
const LEAST_HOURS: f64 = 0.75;
/// Periods whose requests or instances differ by less are taken to be alike.
const ALIKE: f64 = 0.10;

/// The reading, and what the document quotes.
#[derive(Debug, Clone)]
pub struct BeforeAfterAsked {
    pub now_s: i64,
    /// Version of powerband.
    pub version: String,
    /// Address of Prometheus, without credentials.
    pub prometheus: String,
    pub matchers: String,
}

/// The comparison.
pub fn compared(periods: &Periods, hours: &Hours, asked: &BeforeAfterAsked) -> Document {
    let with_queue = queue_is_known(periods, hours);
    let all = (0..periods.hours()).filter_map(|hour| difference(hours, hour, with_queue));
    let pairs: Vec<f64> = all.collect();
    let enough = pairs.len() as f64 >= LEAST_HOURS * periods.hours() as f64;
    let found = interrupted(&pairs, cosines(pairs.len()), LEVEL)
        .filter(|_| enough && periods.days() >= LEAST_DAYS);
    let outcome = outcome(found.as_ref());
    let response_time = found.map(|found| Change {
        estimate: found.effect.exp(),
        low: found.interval.0.exp(),
        high: found.interval.1.exp(),
        p: found.p,
        confidence: 1.0 - LEVEL,
        freedom: found.freedom,
    });
    let [before, after] = Side::BOTH.map(|side| period(periods, hours, side, with_queue));
    let alike = alike(periods, &before, &after);
    Document {
        schema: SCHEMA.to_owned(),
        powerband_version: asked.version.clone(),
        read_at: instant(asked.now_s),
        prometheus: asked.prometheus.clone(),
        matchers: asked.matchers.clone(),
        sentence: sentence(
            outcome,
            response_time.as_ref(),
            &alike,
            pairs.len(),
            periods,
        ),
        promise: PROMISE.to_owned(),
        outcome,
        hours: pairs.len() as u64,
        response_time,
        detectable: found.map(|found| found.detectable(LEVEL).exp_m1()),
        notes: notes(periods, hours, pairs.len()),
        alike,
        before,
        after,
    }
}

/// The fastest of so many takes three days of pairs or more, because the level differs from day to day.
fn cosines(pairs: usize) -> u32 {
    (pairs / 36) as u32
}

/// Whether both periods have requests with a time in the queue. With one alone, the response time would contain the queue there only.
fn queue_is_known(periods: &Periods, hours: &Hours) -> bool {
    Side::BOTH
        .iter()
        .all(|side| sum(periods, hours, *side, Family::Queue) > 0.0)
}

fn sum(periods: &Periods, hours: &Hours, side: Side, family: Family) -> f64 {
    let known = (0..periods.hours()).filter_map(|hour| hours.number(side, family, hour));
    known.sum()
}

/// Requests of an hour and their seconds.
fn answered(hours: &Hours, side: Side, hour: usize, with_queue: bool) -> Option<(f64, f64)> {
    let requests = hours.number(side, Family::Requests, hour)?;
    let queue_s = match with_queue {
        true => hours.number(side, Family::Queue, hour)?,
        false => 0.0,
    };
    let seconds = hours.number(side, Family::Duration, hour)? + queue_s;
    (requests > 0.0 && seconds > 0.0).then_some((requests, seconds))
}

/// Of the logarithms of an hour's mean response times: after less before.
fn difference(hours: &Hours, hour: usize, with_queue: bool) -> Option<f64> {
    let [before, after] = Side::BOTH.map(|side| answered(hours, side, hour, with_queue));
    let ((requests_before, seconds_before), (requests_after, seconds_after)) = before.zip(after)?;
    (requests_before.min(requests_after) >= LEAST_REQUESTS)
        .then(|| (seconds_after / requests_after).ln() - (seconds_before / requests_before).ln())
}

fn outcome(found: Option<&Interrupted>) -> Outcome {
    match found.map(|found| found.interval) {
        None => Outcome::NotEnough,
        Some((_, high)) if high < 0.0 => Outcome::Shorter,
        Some((low, _)) if low > 0.0 => Outcome::Longer,
        Some(_) => Outcome::NoDifference,
    }
}

fn sentence(
    outcome: Outcome,
    change: Option<&Change>,
    alike: &[Check],
    pairs: usize,
    periods: &Periods,
) -> String {
    let says = match outcome {
        Outcome::Shorter => "Shorter after the change",
        Outcome::Longer => "Longer after the change",
        Outcome::NoDifference => "No difference found",
        Outcome::NotEnough => "Not enough for an answer",
    };
    let Some(change) = change else {
        if periods.days() < LEAST_DAYS {
            return format!(
                "{says}: {} before and after do not show how much days differ from one another; give {LEAST_DAYS} or more, best seven.",
                counted(periods.days(), "day")
            );
        }
        return format!(
            "{says}: {pairs} of {} have {LEAST_REQUESTS} requests in both periods; choose periods in which the fleet served and was scraped.",
            counted(periods.hours(), "hour")
        );
    };
    let mut text = format!(
        "{says}: mean response time {}, {}, without an experiment.",
        change_with_interval(change.estimate, Some(change.low), Some(change.high)),
        shown_p(change.p)
    );
    let other: Vec<&str> = alike
        .iter()
        .filter(|check| check.passed == Some(false))
        .map(|check| check.name.as_str())
        .collect();
    if !other.is_empty() {
        text += &format!(
            " The periods also differ in {}, which may be the reason.",
            other.join(", ")
        );
    }
    text
}

const PROMISE: &str = "Weaker than an experiment: anything else that changed between the periods (traffic, data, other services, another \
                       deployment) is in the difference, too. The interval covers the noise of hours and days within the periods alone.";

fn period(periods: &Periods, hours: &Hours, side: Side, with_queue: bool) -> Period {
    let of = periods.of(side);
    let known = (0..periods.hours()).filter_map(|hour| answered(hours, side, hour, with_queue));
    let (count, requests, seconds) = known.fold((0_u64, 0.0, 0.0), |sum, one| {
        (sum.0 + 1, sum.1 + one.0, sum.2 + one.1)
    });
    // Only hours that have both figures.
    let for_each_request = |family: Family| {
        let both = (0..periods.hours()).filter_map(|hour| {
            let requests = hours.number(side, Family::Requests, hour)?;
            Some((hours.number(side, family, hour)?, requests))
        });
        let (part, requests) = both.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (requests > 0.0).then(|| part / requests)
    };
    let mean = |family: Family| {
        let known = (0..periods.hours()).filter_map(|hour| hours.number(side, family, hour));
        let (sum, count) = known.fold((0.0, 0.0), |sum, one| (sum.0 + one, sum.1 + 1.0));
        (count > 0.0).then(|| sum / count)
    };
    let (bounds, counts) = hours.histogram(side);
    let percentile = |share: f64| quantile(&bounds, &counts, share).map(|seconds| seconds * 1e3);
    Period {
        from: instant(of.from_s),
        to: instant(of.to_s),
        hours: count,
        instances: mean(Family::Arms),
        requests: requests as u64,
        errors: for_each_request(Family::Errors),
        response_ms: (requests > 0.0).then(|| seconds / requests * 1e3),
        p95_ms: percentile(0.95),
        p99_ms: percentile(0.99),
        queue_ms: for_each_request(Family::Queue)
            .filter(|seconds| *seconds > 0.0)
            .map(|seconds| seconds * 1e3),
        gvl_wait_ms: for_each_request(Family::GvlWait).map(|seconds| seconds * 1e3),
        memory_bytes: mean(Family::Memory),
    }
}

fn alike(periods: &Periods, before: &Period, after: &Period) -> Vec<Check> {
    let within = |ratio: f64| (ratio.ln()).abs() <= ALIKE.ln_1p();
    let mut checks = Vec::new();
    let mut add = |name: &str, passed: bool, sentence: String| {
        checks.push(Check {
            name: name.to_owned(),
            passed: Some(passed),
            sentence,
        });
    };
    if before.requests > 0 && after.requests > 0 {
        let ratio = after.requests as f64 / before.requests as f64;
        let text = format!(
            "{} before, {} after ({})",
            grouped(before.requests),
            grouped(after.requests),
            rounded_change(ratio)
        );
        add("requests", within(ratio), text);
    }
    if let (Some(was), Some(is)) = (before.instances, after.instances) {
        let text = format!("{was:.1} before, {is:.1} after");
        add("instances", within(is / was), text);
    }
    let text = match periods.same_weekdays() {
        true => "each hour is compared with one of the same weekday".to_owned(),
        false => "hours are compared with those of another weekday; begin the periods one or more weeks apart".to_owned(),
    };
    add("weekdays", periods.same_weekdays(), text);
    checks
}

fn notes(periods: &Periods, hours: &Hours, pairs: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let out = periods.hours() - pairs;
    if out > 0 {
        notes.push(format!(
            "{} left out: one of the periods has fewer than {LEAST_REQUESTS} requests in it.",
            counted(out, "hour")
        ));
    }
    let [before, after] = Side::BOTH.map(|side| sum(periods, hours, side, Family::Queue) > 0.0);
    if before != after {
        notes.push(
            "The queue before the application is known in one of the periods alone, so that response times are without it."
                .to_owned(),
        );
    }
    if !hours.warnings.is_empty() {
        let warnings: Vec<&str> = hours.warnings.iter().map(String::as_str).collect();
        notes.push(format!(
            "Prometheus warns, so requests may be missing: {}.",
            first_of(&warnings, 3)
        ));
    }
    notes
}

#[cfg(test)]
mod tests;
