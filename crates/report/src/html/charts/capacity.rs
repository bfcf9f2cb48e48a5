//! Charts of `capacity`: response time, and what became of the requests, at each rate.

use super::{Chart, Kind, Mark, Row};
use run::capacity::Document;
use run::load::least_values;
use run::{RatePoint, RateSearch};

pub fn charts(document: &Document) -> Vec<Chart> {
    vec![latency(&document.search), requests(&document.search)]
}

fn answer(search: &RateSearch) -> Option<Mark> {
    search.met_per_s.map(|met| Mark {
        value: met,
        name: "highest that met it".to_owned(),
    })
}

fn row(point: &RatePoint, value: f64, series: &str) -> Row {
    let rate = point.asked_per_s;
    Row::new(format!("{rate:.1}/s"), value).of(series).at(rate)
}

fn latency(search: &RateSearch) -> Chart {
    let of = |percentile: f64, ms: fn(&RatePoint) -> Option<f64>| {
        let known = search
            .curve
            .iter()
            .filter(move |p| p.requests >= least_values(percentile));
        known.filter_map(move |point| Some(row(point, ms(point)?, &format!("p{percentile}"))))
    };
    let objective = search.objective;
    Chart {
        unit: "ms",
        at_unit: Some("requests a second"),
        mark: Some(Mark::limit(objective.percentile, objective.limit_ms)),
        at_mark: answer(search),
        rows: of(50.0, |p| p.p50_ms)
            .chain(of(99.0, |p| p.p99_ms))
            .collect(),
        ..Chart::new(
            "latency",
            Kind::Lines,
            "Response time at each rate",
            "The rate at which the lines turn upwards is the knee. A rate at which so many requests failed that a percentile is infinite \
             has no point.",
        )
    }
}

fn requests(search: &RateSearch) -> Chart {
    let of = |series: &'static str, per_s: fn(&RatePoint) -> f64| {
        search
            .curve
            .iter()
            .map(move |point| row(point, per_s(point), series))
    };
    Chart {
        unit: "requests a second",
        at_unit: Some("requests a second that arrived"),
        at_mark: answer(search),
        rows: of("in time", |p| p.in_time_per_s)
            .chain(of("late", |p| p.late_per_s))
            .chain(of("failed", |p| p.failed_per_s))
            .collect(),
        ..Chart::new(
            "requests",
            Kind::Lines,
            "What became of the requests at each rate",
            "In time is within the limit. Beyond the capacity of the server the requests in time become fewer.",
        )
    }
}
