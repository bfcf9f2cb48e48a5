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
                    "{} of {counted} requests failed ({:.3} %)",
                    seen.failed,
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
        let few = format!("{counted} requests are too few to tell; {needed} or more are needed");
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
            "{over} of {counted} requests took longer or failed, at most {} % may",
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
mod tests {
    use super::*;

    fn read(text: &str, requests: Option<u64>) -> Result<Vec<Limit>, String> {
        let mut problems = Vec::new();
        let limits = limits(&[text.to_owned()], requests, &mut problems);
        if problems.is_empty() {
            return Ok(limits);
        }
        Err(problems.iter().map(|p| format!("{p}\n")).collect())
    }

    #[test]
    fn limits_are_read_with_their_units() {
        let limits = read(
            "p99=250ms, p99.9=1s,max=2s,errors=0.1%,min-throughput=90/s",
            None,
        )
        .unwrap();
        let expected = [
            (Measure::Percentile(99.0), 250.0),
            (Measure::Percentile(99.9), 1000.0),
            (Measure::Max, 2000.0),
            (Measure::Errors, 0.001),
            (Measure::MinThroughput, 90.0),
        ];
        let found: Vec<_> = limits.iter().map(|l| (l.measure, l.limit)).collect();
        assert_eq!(found.len(), expected.len());
        for ((measure, limit), (wanted, value)) in found.iter().zip(expected) {
            assert_eq!(*measure, wanted);
            assert!((limit - value).abs() < 1e-9, "{limit} is not {value}");
        }
    }

    #[test]
    fn a_limit_may_be_of_one_page() {
        let given =
            "GET /plain:p99=1s,errors=0%,GET /a,b:c:max=2s, search:errors=1%,GET /s?q=1,2:p99=1s";
        let found = read(given, Some(10));
        let found: Vec<_> = found
            .unwrap()
            .into_iter()
            .map(|l| (l.endpoint, l.measure))
            .collect();
        let page = |name: &str| Some(name.to_owned());
        assert_eq!(
            found,
            [
                (page("GET /plain"), Measure::Percentile(99.0)),
                (None, Measure::Errors),
                (page("GET /a,b:c"), Measure::Max),
                (page("search"), Measure::Errors),
                (page("GET /s?q=1,2"), Measure::Percentile(99.0)),
            ]
        );
        let wrong = read(":p99=1s,GET /:min-throughput=5/s,GET /:fast=1s,GET /", None).unwrap_err();
        assert_eq!(wrong.lines().count(), 3, "{wrong}");
        assert!(wrong.contains("GET /cart:p99=250ms"), "{wrong}");
    }

    #[test]
    fn what_is_no_limit_is_told_all_at_once() {
        let wrong = "p99=250,errors=,q99=1s,p100=1s,errors=101%,min-throughput=0,p99";
        let said = read(wrong, None).unwrap_err();
        assert_eq!(said.lines().count(), 7, "{said}");
        assert!(said.contains("such as p99=250ms"), "{said}");
    }

    /// So many requests over a second, of so many.
    fn slow(over: u64, of: u64) -> Outcome {
        let mut outcome = Outcome::empty();
        outcome.counts.scheduled = of;
        outcome.response.record_n(2_000_000, over).unwrap();
        outcome.response.record_n(1_000, of - over).unwrap();
        outcome
    }

    #[test]
    fn of_few_requests_so_many_may_be_slow_that_the_limit_is_surely_exceeded() {
        let judged = |over, of, limit| {
            let limits = read(limit, None).unwrap();
            limits[0].judge(&slow(over, of), &Doubts::default())
        };
        let fails = judged(30, 60, "p99=1s");
        assert_eq!(fails.outcome, AssertionOutcome::Fails, "{fails:?}");
        assert!(
            fails.sentence.contains("30 of 60 requests") && fails.sentence.contains("at most 1 %"),
            "{fails:?}"
        );
        // P(3 or more of 60 at 1 %) is 0.022, of 2 or more 0.12.
        for (over, outcome) in [
            (0, AssertionOutcome::Unknown),
            (2, AssertionOutcome::Unknown),
            (3, AssertionOutcome::Fails),
        ] {
            assert_eq!(judged(over, 60, "p99=1s").outcome, outcome, "{over}");
        }
        let unknown = judged(0, 0, "p99=1s");
        assert_eq!(unknown.outcome, AssertionOutcome::Unknown);
        assert!(unknown.sentence.contains("too few"), "{unknown:?}");
    }

    #[test]
    fn what_fails_is_said_by_what_may_be() {
        let said = |limit| {
            read(limit, None).unwrap()[0]
                .judge(&slow(200, 1_000), &Doubts::default())
                .sentence
        };
        let far = said("p99=1ms");
        assert!(far.contains("2000.9 ms, 2001 times the limit"), "{far}");
        let near = said("p99=1s");
        assert!(near.contains("1000.9 ms (100 %) over"), "{near}");
        let mut failed = slow(0, 1_000);
        failed.errors.status_5xx = 200;
        let said = read("errors=0.1%", None).unwrap()[0].judge(&failed, &Doubts::default());
        assert!(
            said.sentence
                .contains("200 of 1000 requests failed (20.000 %), at most 0.1 % may"),
            "{said:?}"
        );
    }

    #[test]
    fn few_requests_that_the_generator_delayed_decide_nothing() {
        let mut late = slow(30, 60);
        late.lateness.record_n(1_900_000, 30).unwrap();
        let limits = read("p99=1s", None).unwrap();
        let unknown = limits[0].judge(&late, &Doubts::default());
        assert_eq!(unknown.outcome, AssertionOutcome::Unknown, "{unknown:?}");
        assert!(unknown.sentence.contains("generator"), "{unknown:?}");
    }

    #[test]
    fn a_doubt_turns_the_outcome_that_it_is_about_into_unknown_and_no_other() {
        let said = |why: &str| Some(why.to_owned());
        let judged =
            |limit, doubts: &Doubts| read(limit, None).unwrap()[0].judge(&slow(30, 300), doubts);
        let of_holding = Doubts {
            of_holding: said("it redirects"),
            ..Doubts::default()
        };
        let unknown = judged("p50=1s", &of_holding);
        assert_eq!(unknown.outcome, AssertionOutcome::Unknown);
        assert_eq!(unknown.sentence, "p50=1s unknown: 1.0 ms, but it redirects");
        assert_eq!(
            judged("p99=1s", &of_holding).outcome,
            AssertionOutcome::Fails
        );
        let of_failing = Doubts {
            of_failing: said("the load generator was late"),
            ..Doubts::default()
        };
        let outcomes = |doubts| ["p50=1s", "p99=1s"].map(|limit| judged(limit, doubts).outcome);
        let (holds, unknown) = (AssertionOutcome::Holds, AssertionOutcome::Unknown);
        assert_eq!(outcomes(&of_failing), [holds, unknown]);
        let of_all = Doubts {
            of_all: said("the run was interrupted"),
            ..Doubts::default()
        };
        assert_eq!(outcomes(&of_all), [unknown, unknown]);
    }

    #[test]
    fn a_percentile_that_the_requests_cannot_show_is_refused_beforehand() {
        assert!(read("p99=1s", Some(100)).is_ok());
        let said = read("p99=1s", Some(99)).unwrap_err();
        assert!(said.contains("send at least 100"), "{said}");
    }
}
