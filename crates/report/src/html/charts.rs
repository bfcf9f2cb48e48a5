//! What the page's charts show, for `web/src/draw.ts`: figures of the document under the names of the tables.

mod capacity;
mod duplex;
mod inspect;
mod load;
mod memory;
mod of_run;
mod predict;

use crate::readable::Readable;
use serde::Serialize;

/// Rows of a chart: more than a screen has columns, so that there is something to zoom into, in a page of at most 2 MiB.
const MOST_ROWS: usize = 6_000;

/// Groups of neighbours on one of so many lines, so that the chart has at most [`MOST_ROWS`] rows. It shows the largest value of each
/// group, so that no peak is lost.
fn thinned<T>(points: &[T], lines: usize) -> impl Iterator<Item = &[T]> {
    let most = MOST_ROWS / lines.max(1);
    points.chunks(points.len().div_ceil(most).max(1))
}

/// One chart.
#[derive(Debug, Serialize, PartialEq)]
pub struct Chart {
    pub id: &'static str,
    pub kind: Kind,
    pub title: String,
    /// How to read it.
    pub note: String,
    /// Of each row's value.
    pub unit: &'static str,
    /// Of each row's position.
    #[serde(rename = "atUnit", skip_serializing_if = "Option::is_none")]
    pub at_unit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// The same on the axis of positions.
    #[serde(rename = "atMark", skip_serializing_if = "Option::is_none")]
    pub at_mark: Option<Mark>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<Band>,
    pub rows: Vec<Row>,
}

impl Chart {
    /// Without marks, band and rows.
    fn new(
        id: &'static str,
        kind: Kind,
        title: impl Into<String>,
        note: impl Into<String>,
    ) -> Chart {
        Chart {
            id,
            kind,
            title: title.into(),
            note: note.into(),
            unit: "",
            at_unit: None,
            mark: None,
            at_mark: None,
            band: None,
            rows: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A dot a trial, and the median.
    Trials,
    /// A dot a block.
    Blocks,
    /// Parts of a whole.
    Parts,
    /// Predicted against measured.
    Predictions,
    /// A line a series.
    Lines,
    /// The same over percentiles, with more room for the last ones.
    Percentiles,
    /// A cell for each pair of name and series.
    Heat,
    /// An estimate and its interval a name.
    Intervals,
}

/// A value to draw a line at.
#[derive(Debug, Serialize, PartialEq)]
pub struct Mark {
    pub value: f64,
    pub name: String,
}

impl Mark {
    /// The limit of a percentile of response times, ms.
    fn limit(percentile: f64, limit_ms: f64) -> Mark {
        Mark {
            value: limit_ms,
            name: format!("limit of p{percentile}"),
        }
    }
}

/// An interval to draw a band for.
#[derive(Debug, Serialize, PartialEq)]
pub struct Band {
    pub low: f64,
    pub high: f64,
}

#[derive(Debug, Serialize, PartialEq)]
pub struct Row {
    pub name: String,
    pub value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// Ends of the interval of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl Row {
    fn new(name: impl Into<String>, value: f64) -> Row {
        Row {
            name: name.into(),
            value,
            series: None,
            at: None,
            low: None,
            high: None,
        }
    }

    fn of(self, series: impl Into<String>) -> Row {
        Row {
            series: Some(series.into()),
            ..self
        }
    }

    fn at(self, at: f64) -> Row {
        Row {
            at: Some(at),
            ..self
        }
    }
}

const MIB: f64 = 1_048_576.0;

/// Those that the document has figures for.
pub fn charts(document: &Readable) -> Vec<Chart> {
    let charts = match document {
        Readable::Run(run) => of_run::charts(run),
        Readable::Load(load) => load::charts(load),
        Readable::Capacity(capacity) => capacity::charts(capacity),
        Readable::Inspect(inspect) => inspect::charts(inspect),
        Readable::Memory(memory) => memory::charts(memory),
        Readable::MemoryComparison(compared) => memory::compared(compared),
        Readable::Predict(predict) => predict::charts(predict),
        Readable::Duplex(duplex) => duplex::charts(duplex),
        Readable::Advise(_)
        | Readable::Calc(_)
        | Readable::Capture(_)
        | Readable::Collections(_)
        | Readable::Survivors(_)
        | Readable::Doctor(_)
        | Readable::Drift(_)
        | Readable::Leak(_)
        | Readable::Validation(_)
        | Readable::Verdict(_)
        | Readable::BeforeAfter(_) => Vec::new(),
    };
    let finite = |chart: Chart| {
        let rows = chart.rows.into_iter().filter(|row| row.value.is_finite());
        Chart {
            rows: rows.collect(),
            ..chart
        }
    };
    let charts = charts.into_iter().map(finite);
    charts.filter(|chart| !chart.rows.is_empty()).collect()
}
