//! Chart of a comparison of shadows: the difference in mean response time, with its interval, by endpoint.

use super::{Chart, Kind, Mark, Row};
use run::duplex::{Comparison, Document, Figure, Purpose};

/// Endpoints of a comparison that are shown.
const MOST: usize = 12;

pub fn charts(document: &Document) -> Vec<Chart> {
    let answering = |one: &&Comparison| matches!(one.purpose, Purpose::Claim | Purpose::Between);
    let comparisons = document.comparisons.iter().filter(answering);
    let rows = comparisons.flat_map(|one| {
        let series = format!(
            "{} against {}",
            document.called(&one.candidate),
            document.called(&one.reference)
        );
        let endpoints = one.endpoints.iter().take(MOST);
        let named = endpoints.map(|of| (of.endpoint.as_str(), &of.times.mean));
        let all = std::iter::once(("all requests", &one.all.mean));
        let rows = all.chain(named).filter_map(|(name, mean)| row(name, mean));
        rows.map(|row| row.of(series.clone())).collect::<Vec<_>>()
    });
    vec![Chart {
        unit: "difference in mean response time, %",
        mark: Some(Mark {
            value: 0.0,
            name: "no difference".to_owned(),
        }),
        rows: rows.collect(),
        ..Chart::new(
            "differences",
            Kind::Intervals,
            "Difference in mean response time, by endpoint",
            "The typical difference of the stretches of time, with its 95 % interval. Left of 0 the first of the two is faster.",
        )
    }]
}

/// Without an interval nothing is shown: the estimate alone says too little.
fn row(name: &str, mean: &Figure) -> Option<Row> {
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    Some(Row {
        low: Some(percent(mean.low?)),
        high: Some(percent(mean.high?)),
        ..Row::new(name, percent(mean.ratio?))
    })
}
