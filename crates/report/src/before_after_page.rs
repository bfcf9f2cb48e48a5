//! The page of `powerband verdict --before … --after …`: the answer, what it does not promise, then the periods.

use crate::Style;
use crate::figures::{bytes, grouped, number_of_ms, plain, share};
use crate::sheet::Sheet;
use crate::tables::{NONE, in_parts};
use run::before_after::{Document, Outcome, Period};
use run::production::Check;

/// The whole page.
pub fn before_after_page(document: &Document, style: Style) -> String {
    sheet(document, style).into_text()
}

pub(crate) fn sheet(document: &Document, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    sheet.bold(&plain(&document.sentence));
    sheet.prose(&plain(&document.promise));
    let matchers = match document.matchers.as_str() {
        "" => "all instances".to_owned(),
        matchers => matchers.to_owned(),
    };
    sheet.labelled(
        "Read        ",
        &plain(&format!(
            "{} at {}, {matchers}",
            document.prometheus, document.read_at
        )),
    );
    sheet.heading("Before and after");
    let head = [
        "period",
        "instances",
        "requests",
        "failed",
        "mean, ms",
        "p95, ms",
        "p99, ms",
        "queue, ms",
        "GVL wait, ms",
        "memory",
        "hours",
    ];
    let rows = [("before", &document.before), ("after", &document.after)];
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|(name, period)| row(name, period))
        .collect();
    sheet.tables(in_parts(sheet.style(), &head, &rows));
    for (name, period) in [("Before", &document.before), ("After", &document.after)] {
        sheet.prose(&plain(&format!(
            "{name}: {} to {}.",
            period.from, period.to
        )));
    }
    if let Some(change) = document
        .detectable
        .filter(|_| document.outcome == Outcome::NoDifference)
    {
        sheet.prose(&format!(
            "Periods of this length and noise show a change of {:.1} % with a probability of 80 %.",
            change * 100.0
        ));
    }
    let alike: Vec<String> = document.alike.iter().map(check).collect();
    sheet.listed("Whether the periods are alike", &alike);
    let notes: Vec<String> = document.notes.iter().map(|note| plain(note)).collect();
    sheet.listed("Left out, and unusual", &notes);
    sheet
}

fn check(check: &Check) -> String {
    let state = match check.passed {
        Some(true) => "alike",
        Some(false) => "DIFFERENT",
        None => "not known",
    };
    plain(&format!("{}: {state}: {}", check.name, check.sentence))
}

fn row(name: &str, period: &Period) -> Vec<String> {
    let ms = |ms: Option<f64>| ms.map_or(NONE.to_owned(), |ms| number_of_ms(Some(ms)));
    vec![
        name.to_owned(),
        period
            .instances
            .map_or(NONE.to_owned(), |count| format!("{count:.1}")),
        grouped(period.requests),
        period.errors.map_or(NONE.to_owned(), share),
        ms(period.response_ms),
        ms(period.p95_ms),
        ms(period.p99_ms),
        ms(period.queue_ms),
        ms(period.gvl_wait_ms),
        period
            .memory_bytes
            .map_or(NONE.to_owned(), |of| bytes(of as u64)),
        grouped(period.hours),
    ]
}
