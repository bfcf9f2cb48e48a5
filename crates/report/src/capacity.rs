//! The page of `powerband capacity`: the answer, the curve as a table, what to know before believing it.

use crate::Style;
use crate::figures::{duration, number_of_ms, rate, share};
use crate::sheet::{Sheet, first_line};
use crate::tables::{NONE, table, trimmed};
use run::RatePoint;
use run::capacity::Document;

/// The whole page.
pub fn capacity_page(document: &Document, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.bold(&document.sentence);
    let search = &document.search;
    if let Some(saturated) = search.saturated_per_s {
        sheet.labelled(
            "Saturated   ",
            &format!(
                "{}/s answered for {} clients that ask again as soon as they are answered",
                rate(saturated),
                document.connections
            ),
        );
    }
    let what = match (&document.target.url, document.target.settings) {
        (Some(url), _) => url.clone(),
        (None, Some(settings)) => settings.to_string(),
        (None, None) => "the application".to_owned(),
    };
    let objective = search.objective;
    sheet.labelled("Server      ", &what);
    sheet.labelled(
        "Objective   ",
        &format!(
            "at most {} of the requests over {} ms or failed, as Poisson arrivals",
            share(objective.allowed_violation_rate()),
            objective.limit_ms
        ),
    );
    if !search.curve.is_empty() {
        sheet.heading("Offered against answered, requests per second");
        sheet.block(&curve(document, style));
    }
    sheet.heading("How it was measured");
    sheet.prose(&format!(
        "{} windows in {}; between two of them every answer was awaited, and the server was to be as quick again as at \
         first. A rate met the objective when the majority of its full-length windows did.",
        search.trials.len(),
        duration(document.elapsed_s)
    ));
    if !search.warnings.is_empty() {
        sheet.heading("Before you believe it");
        for warning in &search.warnings {
            sheet.labelled("- ", first_line(warning));
        }
    }
    sheet.into_text()
}

fn curve(document: &Document, style: Style) -> String {
    let head = [
        "asked",
        "offered",
        "in time",
        "late",
        "failed",
        "late or failed",
        "p50 ms",
        "p99 ms",
        "busy",
        "window s",
        "",
    ];
    let mut table = table(style, &head, 0);
    crate::tables::align_left(&mut table, head.len() - 1);
    for point in &document.search.curve {
        table.add_row(vec![
            rate(point.asked_per_s),
            rate(point.offered_per_s),
            rate(point.in_time_per_s),
            rate(point.late_per_s),
            rate(point.failed_per_s),
            share(point.violation_rate),
            number_of_ms(point.p50_ms),
            number_of_ms(point.p99_ms),
            point
                .utilisation
                .map_or_else(|| NONE.to_owned(), |u| format!("{:.0} %", u * 100.0)),
            format!("{:.0}", point.seconds),
            remark(document, point),
        ]);
    }
    trimmed(&table)
}

fn remark(document: &Document, point: &RatePoint) -> String {
    let search = &document.search;
    let is = |bound: Option<f64>| bound == Some(point.asked_per_s);
    let mut said = Vec::new();
    if is(search.met_per_s) {
        said.push("the highest that met it");
    }
    if is(search.low_per_s) {
        said.push("surely met it");
    }
    if is(search.high_per_s) {
        said.push("surely did not");
    } else if is(search.broke_per_s) {
        said.push("did not");
    }
    if !point.recovered {
        said.push("did not recover");
    }
    said.join(", ")
}
