//! `--assert`: limits not to be exceeded, for scripts and continuous integration.

use super::doubts::Doubts;
use experiment::config::{Asked, Problem, parse_duration, parse_rate};
use hdrhistogram::Histogram;
use load::{Outcome, quantile_us};
use run::load::{Assertion, AssertionOutcome, least_values};

/// What may not be exceeded.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// As given.
    text: String,
    /// The requests that it is about, by the name that the workload gives them; all of them without one.
    endpoint: Option<String>,
    measure: Measure,
    /// ms, a share, or a rate per second.
    limit: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Measure {
    /// Of the response times.
    Percentile(f64),
    Max,
    /// Share of the requests that failed.
    Errors,
    /// The one that may not be fallen short of.
    MinThroughput,
}

/// Pages that a message names.
const MOST_NAMED: usize = 12;
/// One side of the interval within which a share is surely.
const TAIL: f64 = 0.025;

const REMEDY: &str = "write limits such as p99=250ms, max=2s, errors=0.1% or min-throughput=90/s, with commas between, and those of one page \
                      as GET /cart:p99=250ms";

/// Reads every `--assert`. `requests` is what -n asks for.
pub fn limits(given: &[String], requests: Option<u64>, problems: &mut Vec<Problem>) -> Vec<Limit> {
    let mut limits = Vec::new();
    for text in given.iter().flat_map(|list| separated(list)) {
        match limit(&Asked::new(text.trim(), "--assert"), requests) {
            Ok(limit) => limits.push(limit),
            Err(problem) => problems.push(problem),
        }
    }
    limits
}

/// The limits of pages that the workload does not have. `names`: its pages.
pub fn unknown_pages(limits: &[Limit], names: &[&str]) -> Vec<Problem> {
    let problem = |limit: &Limit| {
        let page = limit.endpoint.as_deref()?;
        (!names.contains(&page)).then(|| {
            Problem::of(
                &Asked::new(&limit.text, "--assert"),
                "no request has this name",
                format!("name one of: {}", run::first_of(names, MOST_NAMED)),
            )
        })
    };
    limits.iter().filter_map(problem).collect()
}

/// At the commas, except those within the name of a page: a piece without a limit belongs to the piece behind it.
fn separated(list: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut name = String::new();
    for piece in list.split(',') {
        name.push_str(piece);
        if ends_in_limit(piece) || !name.contains('/') {
            found.push(std::mem::take(&mut name));
        } else {
            name.push(',');
        }
    }
    if !name.is_empty() {
        found.push(name.trim_end_matches(',').to_owned());
    }
    found
}

/// The name of a page may contain `=` too, so a measure must precede it.
fn ends_in_limit(piece: &str) -> bool {
    let Some((name, _)) = piece.rsplit_once('=') else {
        return false;
    };
    let measure = name.rsplit_once(':').map_or(name, |(_, measure)| measure);
    let measure = measure.trim();
    matches!(measure, "errors" | "min-throughput") || latency(measure).is_some()
}

fn limit(asked: &Asked, requests: Option<u64>) -> Result<Limit, Problem> {
    let wrong = |what: &str| Problem::of(asked, what, REMEDY);
    let (name, value) = asked
        .text
        .rsplit_once('=')
        .ok_or_else(|| wrong("no limit"))?;
    let value = value.trim();
    let (endpoint, name) = match name.rsplit_once(':') {
        Some((endpoint, name)) => (Some(endpoint.trim().to_owned()), name),
        None => (None, name),
    };
    if endpoint.as_deref() == Some("") {
        return Err(wrong("no page before the colon"));
    }
    let (measure, limit) = match name.trim() {
        "errors" => (
            Measure::Errors,
            share(value).ok_or_else(|| wrong("no share from 0% to 100%"))?,
        ),
        "min-throughput" if endpoint.is_some() => {
            return Err(Problem::of(
                asked,
                "the throughput is that of the whole run",
                "assert p50, p99, any percentile, max or errors of a page",
            ));
        }
        "min-throughput" => (
            Measure::MinThroughput,
            parse_rate(&Asked::new(value, "")).map_err(|_| wrong("no rate a second"))?,
        ),
        name => {
            let measure =
                latency(name).ok_or_else(|| wrong("not a figure that can be asserted"))?;
            let limit = parse_duration(&Asked::new(value, ""))
                .map_err(|_| wrong("a latency needs a number and a unit"))?;
            (measure, limit.as_secs_f64() * 1e3)
        }
    };
    // How many of the requests are of one page is not known beforehand.
    if let (Measure::Percentile(p), Some(requests), None) = (measure, requests, &endpoint)
        && requests < least_values(p)
    {
        return Err(Problem::of(
            asked,
            format_args!("{requests} requests (-n) are too few for it"),
            format!("send at least {}", least_values(p)),
        ));
    }
    Ok(Limit {
        text: asked.text.clone(),
        endpoint,
        measure,
        limit,
    })
}

fn latency(name: &str) -> Option<Measure> {
    if name == "max" {
        return Some(Measure::Max);
    }
    let percentile = name.strip_prefix('p')?.parse::<f64>().ok()?;
    (1.0..=99.999)
        .contains(&percentile)
        .then_some(Measure::Percentile(percentile))
}

fn share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.0..=1.0).contains(&share).then_some(share)
}

/// The requests that a limit is about.
struct Seen<'a> {
    outcome: &'a Outcome,
    response: &'a Histogram<u64>,
    counted: u64,
    failed: u64,
}

impl Limit {
    /// Why the histograms of all requests do not decide it.
    pub fn beyond_histograms(&self) -> Option<String> {
        let lacking = match self.measure {
            _ if self.endpoint.is_some() => "the pages of its requests",
            Measure::MinThroughput => "how many answers came within the window",
            _ => return None,
        };
        Some(format!(
            "--assert {}: a log does not hold {lacking}; merge documents of load --json",
            self.text
        ))
    }

    /// Holds the limit against what was measured.
    pub fn judge(&self, outcome: &Outcome, doubts: &Doubts) -> Assertion {
        let (mut verdict, measured, mut words) = match self.seen(outcome) {
            Ok(seen) => self.judged(&seen),
            Err(words) => (AssertionOutcome::Fails, None, words),
        };
        if let Some(doubt) = doubts.why(verdict, self.endpoint.as_deref()) {
            verdict = AssertionOutcome::Unknown;
            words = format!("{words}, but {doubt}");
        }
        let word = match verdict {
            AssertionOutcome::Holds => "holds",
            AssertionOutcome::Fails => "fails",
            AssertionOutcome::Unknown => "unknown",
        };
        Assertion {
            assertion: self.text.clone(),
            endpoint: self.endpoint.clone(),
            limit: self.limit,
            measured,
            outcome: verdict,
            sentence: format!("{} {word}: {words}", self.text),
        }
    }

    /// The requests, or that there were none of that name.
    fn seen<'a>(&self, outcome: &'a Outcome) -> Result<Seen<'a>, String> {
        let Some(name) = &self.endpoint else {
            return Ok(Seen {
                outcome,
                response: &outcome.response,
                counted: outcome.counts.scheduled - outcome.counts.cut,
                failed: outcome.errors.total(),
            });
        };
        let occurred = || outcome.endpoints.iter().filter(|e| e.scheduled > 0);
        let endpoint = occurred().find(|e| e.name == *name).ok_or_else(|| {
            let names: Vec<&str> = occurred().map(|e| e.name.as_str()).collect();
            format!(
                "no request of that name was sent, only: {}",
                names.join(", ")
            )
        })?;
        Ok(Seen {
            outcome,
            response: &endpoint.response,
            counted: endpoint.ok + endpoint.errors.total(),
            failed: endpoint.errors.total(),
        })
    }

    fn judged(&self, seen: &Seen<'_>) -> (AssertionOutcome, Option<f64>, String) {
        let counted = seen.counted;
        let needed = match self.measure {
            Measure::Percentile(p) => least_values(p),
            _ => 1,
        };
        if counted < needed {
            return self.of_few(seen, needed);
        }
        let (measured, breaks, words) = match self.measure {
            Measure::Percentile(_) | Measure::Max => return self.latency(seen),
            Measure::Errors => {
                let share = seen.failed as f64 / counted as f64;
                let words = format!(
                    "{} of {} requests failed ({:.3} %)",
                    run::grouped(seen.failed),
                    run::grouped(counted),
                    share * 100.0
                );
                (share, share > self.limit, words)
            }
            Measure::MinThroughput => {
                let rate = seen.outcome.throughput_per_s();
                let words = format!("{rate:.1} requests a second were answered");
                (rate, rate < self.limit, words)
            }
        };
        if !breaks {
            return (AssertionOutcome::Holds, Some(measured), words);
        }
        let words = match self.measure {
            Measure::MinThroughput => format!("{words}, {:.1} too few", self.limit - measured),
            _ => format!("{words}, at most {} % may", percent(self.limit)),
        };
        (AssertionOutcome::Fails, Some(measured), words)
    }

    /// Of fewer requests than the percentile needs, so many may be over the limit that it is surely exceeded: the exact
    /// 95 % interval of their share lies above what may be.
    fn of_few(&self, seen: &Seen<'_>, needed: u64) -> (AssertionOutcome, Option<f64>, String) {
        let counted = seen.counted;
        let few = format!(
            "{} requests are too few to tell; {} or more are needed",
            run::grouped(counted),
            run::grouped(needed)
        );
        let Measure::Percentile(percentile) = self.measure else {
            return (AssertionOutcome::Unknown, None, few);
        };
        let may_be = 1.0 - percentile / 100.0;
        let limit_us = (self.limit * 1e3) as u64;
        let within = seen.response.count_between(0, limit_us);
        let over = seen.response.len() - within;
        let number = |count| u32::try_from(count).unwrap_or(u32::MAX);
        let by_chance = stats::binomial_at_least(number(over), number(counted), may_be);
        if by_chance >= TAIL {
            return (AssertionOutcome::Unknown, None, few);
        }
        let words = format!(
            "{} of {} requests took longer or failed, at most {} % may",
            run::grouped(over),
            run::grouped(counted),
            percent(may_be)
        );
        // The generator judges its p99 of enough requests only.
        match seen.outcome.generator_ok_at(percentile / 100.0) {
            Ok(()) => (AssertionOutcome::Fails, None, words),
            Err(trouble) => (
                AssertionOutcome::Unknown,
                None,
                format!("{words}, but {trouble}"),
            ),
        }
    }

    fn latency(&self, seen: &Seen<'_>) -> (AssertionOutcome, Option<f64>, String) {
        let quantile = match self.measure {
            Measure::Percentile(p) => p / 100.0,
            _ => 1.0,
        };
        let Some(us) = quantile_us(seen.response, quantile).flatten() else {
            let words = "so many requests failed that it is infinite".to_owned();
            return (AssertionOutcome::Fails, None, words);
        };
        let ms = us as f64 / 1e3;
        if ms <= self.limit {
            return (AssertionOutcome::Holds, Some(ms), format!("{ms:.1} ms"));
        }
        // A late generator only adds: a limit that was kept was kept. The p99 and what is below is judged with the run.
        if quantile > 0.99
            && let Err(trouble) = seen.outcome.generator_ok_at(quantile)
        {
            return (
                AssertionOutcome::Unknown,
                Some(ms),
                format!("{ms:.1} ms, but {trouble}"),
            );
        }
        let over = ms - self.limit;
        let words = match ms / self.limit {
            times if times > 10.0 => format!("{ms:.1} ms, {times:.0} times the limit"),
            times => format!(
                "{ms:.1} ms, {over:.1} ms ({:.0} %) over",
                (times - 1.0) * 100.0
            ),
        };
        (AssertionOutcome::Fails, Some(ms), words)
    }
}

/// To four decimals, those that are zero left out.
fn percent(share: f64) -> f64 {
    (share * 1e6).round() / 1e4
}

#[cfg(test)]
mod tests;
