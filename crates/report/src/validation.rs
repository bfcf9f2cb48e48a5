//! What became of predictions: the scores, each configuration's errors, and where predictions came from. On the terminal and
//! as Markdown, from the same tables.

mod markdown;
mod rows;

use crate::Style;
use crate::figures::{counted, duration, rate};
use crate::sheet::{Sheet, first_line};
use crate::tables::{align_left, table};
use comfy_table::Table;
use rows::Rows;
use run::validation::{Document, Moving};

pub use markdown::validation_markdown;

/// The whole page.
pub fn validation_page(document: &Document, style: Style) -> String {
    sheet(document, style).into_text()
}

pub(crate) fn sheet(document: &Document, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    sheet.bold(&document.sentence);
    for rows in rows::all(document) {
        sheet.heading(rows.title);
        sheet.table(drawn(&rows, style));
        sheet.prose(rows.meaning);
    }
    sheet.heading("What it was predicted from");
    for line in from(document) {
        sheet.prose(&line);
    }
    if let Some(sending) = &document.sending {
        sheet.prose(&format!(
            "{}.",
            sending.sentence(2 * u64::from(document.trace.settings.concurrency()))
        ));
    }
    if !document.warnings.is_empty() {
        sheet.heading("Before you believe it");
        for warning in &document.warnings {
            sheet.labelled("- ", first_line(warning));
        }
    }
    sheet
}

fn drawn(rows: &Rows, style: Style) -> Table {
    let mut table = table(style, rows.head, rows.words);
    if rows.words == 0 {
        align_left(&mut table, 0);
    }
    for row in &rows.rows {
        table.add_row(row);
    }
    table
}

/// What pinning a worker to a core could be worth is in the first two figures.
fn moving(found: &Moving) -> String {
    format!(
        "In closed loops a request took {:.2} ms of the server's CPU time with every core, {:.2} ms with each process kept on one, \
         and {:.2} ms one at a time: a stretch takes {:.2} ms longer where the GVL was handed over while another core was idle, \
         {:.2} ms where its thread woke up.",
        found.crowded_ms,
        found.pinned_ms,
        found.alone_ms,
        found.cost.hand_over_ms,
        found.cost.wake_ms,
    )
}

/// The trace, in sentences.
fn from(document: &Document) -> Vec<String> {
    let trace = &document.trace;
    let with_bursts = match trace.with_bursts {
        all if all == trace.requests => "each with its sequence of running and waiting".to_owned(),
        some => format!("{some} of them with their sequence of running and waiting"),
    };
    let mut lines = vec![
        format!(
            "A trace of {} at {} a second for {}: {}, {with_bursts}; its GVLs {:.0} % busy, its threads {:.0} %. \
             Outside the server each request took {:.2} ms of CPU time, which predictions take off the {} cores.",
            trace.settings,
            rate(trace.rate_per_s),
            duration(trace.seconds),
            counted(trace.requests, "request"),
            100.0 * trace.utilisation_gvl,
            100.0 * trace.utilisation_threads,
            trace.generator_ms + trace.services_ms,
            trace.cores,
        ),
        format!(
            "Predicted under its own arrivals it has a mean of {:.2} ms and a p99 of {:.1} ms; recorded were {:.2} and {:.1}.",
            trace.predicted.mean_ms,
            trace.predicted.p99_ms,
            trace.recorded.mean_ms,
            trace.recorded.p99_ms,
        ),
    ];
    lines.extend(trace.moving.as_ref().map(moving));
    lines.extend(
        trace
            .assumptions
            .iter()
            .map(|words| format!("Taken for granted: {words}.")),
    );
    lines
}
