//! Charts of `load`: response times by percentile and over time, and what was asked against what was answered.

use super::{Chart, Kind, Mark, Row, thinned};
use run::load::{Document, Interval, Latency, least_values};

pub fn charts(document: &Document) -> Vec<Chart> {
    vec![
        percentiles(document),
        over_time(document),
        answered(document),
    ]
}

fn limit(document: &Document) -> Option<Mark> {
    let objective = document.objective.as_ref()?;
    Some(Mark::limit(objective.percentile, objective.limit_ms))
}

fn percentiles(document: &Document) -> Chart {
    let of = |name: &'static str, latency: &Latency| {
        let known = [
            (50.0, latency.p50_ms),
            (90.0, latency.p90_ms),
            (95.0, latency.p95_ms),
            (99.0, latency.p99_ms),
            (99.9, latency.p99_9_ms),
            (99.99, latency.p99_99_ms),
        ];
        let count = latency.count;
        let known = known
            .into_iter()
            .filter(move |(percentile, _)| count >= least_values(*percentile));
        known.filter_map(move |(percentile, ms)| {
            Some(
                Row::new(format!("p{percentile}"), ms?)
                    .of(name)
                    .at(percentile),
            )
        })
    };
    let response = of("response time", &document.response);
    Chart {
        unit: "ms",
        at_unit: Some("percentile"),
        mark: limit(document),
        rows: response
            .chain(of("service time", &document.service))
            .collect(),
        ..Chart::new(
            "percentiles",
            Kind::Percentiles,
            "Time of the answers by percentile",
            "Response time counts from the moment a request was due, service time from its sending. A percentile of too few requests \
             is left out.",
        )
    }
}

fn over_time(document: &Document) -> Chart {
    let of = |name: &'static str, ms: fn(&Interval) -> Option<f64>| {
        thinned(&document.intervals, 2).filter_map(move |joined| {
            let longest = joined.iter().filter_map(ms).reduce(f64::max)?;
            Some(point(joined, longest).of(name))
        })
    };
    Chart {
        unit: "ms",
        at_unit: Some("seconds from the start"),
        mark: limit(document),
        rows: of("p50", |i| i.p50_ms)
            .chain(of("p99", |i| i.p99_ms))
            .collect(),
        ..Chart::new(
            "over-time",
            Kind::Lines,
            "Response time over the run",
            "Of the requests that ended in each interval; the p99 of few requests is the longest of them. The warm-up is not counted.",
        )
    }
}

fn answered(document: &Document) -> Chart {
    let of = |name: &'static str, count: fn(&Interval) -> u64| {
        thinned(&document.intervals, 3).map(move |joined| {
            let seconds: f64 = joined.iter().map(|i| i.length_s).sum();
            let requests: u64 = joined.iter().map(count).sum();
            point(joined, requests as f64 / seconds).of(name)
        })
    };
    let failed = document.counts.failed > 0;
    Chart {
        unit: "requests a second",
        at_unit: Some("seconds from the start"),
        rows: of("due", |i| i.asked)
            .chain(of("answered", |i| i.ok))
            .chain(of("failed", |i| i.failed).filter(|_| failed))
            .collect(),
        ..Chart::new(
            "answered",
            Kind::Lines,
            "Requests that were due, and what came of them",
            "Where fewer are answered than are due, requests wait or fail.",
        )
    }
}

fn point(joined: &[Interval], value: f64) -> Row {
    let start_s = joined.first().map_or(0.0, |i| i.start_s);
    Row::new(format!("{start_s:.1} s"), value).at(start_s)
}
