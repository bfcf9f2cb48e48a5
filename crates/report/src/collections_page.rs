//! The page of `powerband trace --gc`: a row for each collection.

use crate::Style;
use crate::figures::{bytes, counted, grouped};
use crate::inspect_page::{collection_name, ms, no_longer_logged};
use crate::sheet::Sheet;
use crate::tables::{NONE, in_parts};
use run::collections::{Collection, Document, Process};
use std::collections::BTreeSet;

/// The page.
pub fn collections_page(document: &Document, style: Style) -> String {
    sheet(document, style).into_text()
}

pub(crate) fn sheet(document: &Document, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    let pause_ms: f64 = document.collections.iter().map(|c| c.pause_ms).sum();
    let since = document.since.as_ref();
    let shown = with_rows(document);
    sheet.bold(&format!(
        "{} of {}{}, which stopped them for {} ms.",
        counted(document.collections.len(), "collection"),
        counted(shown.len(), "process"),
        since.map_or(String::new(), |since| format!(" since {since}")),
        ms(pause_ms)
    ));
    let lost: u64 = shown.iter().map(|p| p.lost).sum();
    if lost > 0 {
        sheet.prose(&no_longer_logged(lost));
    }
    sheet.line("");
    let head = [
        "began (UTC)",
        "process",
        "collection",
        "pause ms",
        "longest",
        "CPU ms",
        "live before",
        "after",
        "freed",
        "promoted",
        "heap",
        "malloc",
        "waited",
        "run by",
    ];
    let day = |one: &Collection| one.at.split_once('T').map(|(day, _)| day.to_owned());
    let first = document.collections.first().and_then(day);
    let one_day = document.collections.iter().all(|one| day(one) == first);
    if let Some(first) = first.filter(|_| one_day) {
        sheet.prose(&format!("All of them began on {first}."));
    }
    let began = |one: &Collection| match to_the_millisecond(&one.at).split_once('T') {
        Some((_, time)) if one_day => time.to_owned(),
        Some((day, time)) => format!("{day} {time}"),
        None => one.at.clone(),
    };
    let rows = document.collections.iter().map(|one| row(one, began(one)));
    let rows: Vec<_> = rows.collect();
    sheet.tables(in_parts(sheet.style(), &head, &rows));
    for file in &document.not_read {
        sheet.labelled("- ", &format!("{}: {}", file.file, file.reason));
    }
    sheet
}

/// The folder may hold logs of processes that ended before the period asked for.
fn with_rows(document: &Document) -> Vec<&Process> {
    let collections = document.collections.iter();
    let of_rows: BTreeSet<_> = collections.map(|one| (one.pid, one.worker)).collect();
    let processes = document.processes.iter();
    processes
        .filter(|process| of_rows.contains(&(process.pid, process.worker)))
        .collect()
}

/// Instants in documents have no zeros at their end.
fn to_the_millisecond(at: &str) -> String {
    let at = at.trim_end_matches('Z');
    let (seconds, digits) = at.split_once('.').unwrap_or((at, ""));
    format!("{seconds}.{digits:0<3}")
}

fn row(one: &Collection, began: String) -> Vec<String> {
    let count = |count: Option<u64>| count.map_or(NONE.to_owned(), grouped);
    let size = |size: Option<u64>| size.map_or(NONE.to_owned(), bytes);
    vec![
        began,
        one.worker.map_or_else(
            || one.pid.to_string(),
            |worker| format!("{worker} ({})", one.pid),
        ),
        collection_name(one.kind, one.major_by, one.cause),
        ms(one.pause_ms),
        ms(one.longest_pause_ms),
        ms(one.cpu_ms),
        count(one.live_before),
        count(one.live_after),
        count(one.freed),
        count(one.promoted),
        size(one.heap_after_bytes),
        size(one.malloc_bytes),
        count(one.waited),
        one.request.clone().unwrap_or_else(|| NONE.to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page(instants: [&str; 2]) -> String {
        let collections = instants.map(|at| {
            json!({"at": at, "pid": 7, "number": 1, "over": true, "pause_ms": 1.5, "pauses": 1, "longest_pause_ms": 1.5,
                   "sweeping_ms": 0.0, "lasted_ms": 1.5, "cpu_ms": 1.5})
        });
        let document = json!({
            "schema": run::collections::SCHEMA, "powerband_version": "0.1.0", "read_at": instants[1], "source": "flight",
            "processes": [
                {"pid": 7, "file": "a.flight", "written": 3, "lost": 1},
                {"pid": 8, "file": "b.flight", "written": 9, "lost": 4}
            ],
            "collections": collections, "not_read": []
        });
        let document = serde_json::from_value(document).unwrap();
        let style = Style {
            width: 160,
            colour: false,
        };
        collections_page(&document, style)
    }

    #[test]
    fn a_process_without_a_collection_in_the_period_is_not_counted() {
        let page = page(["2026-11-26T16:45:45.7Z", "2026-11-26T16:45:46Z"]);
        assert!(page.starts_with("2 collections of 1 process,"), "{page}");
        assert!(page.contains("1 older collection is no longer"), "{page}");
    }

    #[test]
    fn instants_have_their_milliseconds_and_the_day_where_there_are_several() {
        let one_day = page(["2026-11-26T16:45:45.7Z", "2026-11-26T16:45:46Z"]);
        assert!(
            one_day.contains("All of them began on 2026-11-26."),
            "{one_day}"
        );
        for time in [
            "\n16:45:45.700 ",
            "\n16:45:46.000 ",
            "1 older collection is no longer",
        ] {
            assert!(one_day.contains(time), "{time}: {one_day}");
        }
        let two_days = page(["2026-11-26T23:59:59.36Z", "2026-11-27T00:00:00.361Z"]);
        assert!(!two_days.contains("All of them"), "{two_days}");
        for time in ["\n2026-11-26 23:59:59.360 ", "\n2026-11-27 00:00:00.361 "] {
            assert!(two_days.contains(time), "{time}: {two_days}");
        }
    }
}
