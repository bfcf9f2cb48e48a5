//! The page of `powerband trace --gc`: a row for each collection.

use crate::Style;
use crate::figures::{bytes, counted, grouped};
use crate::inspect_page::{collection_name, ms, no_longer_logged};
use crate::sheet::Sheet;
use crate::tables::{NONE, in_parts};
use run::collections::{Collection, Document};

/// The page.
pub fn collections_page(document: &Document, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let pause_ms: f64 = document.collections.iter().map(|c| c.pause_ms).sum();
    let since = document.since.as_ref();
    sheet.bold(&format!(
        "{} of {}{}, which stopped them for {} ms.",
        counted(document.collections.len() as u64, "collection"),
        counted(document.processes.len() as u64, "process"),
        since.map_or(String::new(), |since| format!(" since {since}")),
        ms(pause_ms)
    ));
    let lost: u64 = document.processes.iter().map(|p| p.lost).sum();
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
    let began = |one: &Collection| {
        let at = one.at.trim_end_matches('Z');
        let time = at.split_once('T').filter(|_| one_day).map(|(_, time)| time);
        time.map_or_else(|| at.replace('T', " "), str::to_owned)
    };
    let rows = document.collections.iter().map(|one| row(one, began(one)));
    let rows: Vec<_> = rows.collect();
    sheet.tables(in_parts(sheet.style(), &head, &rows));
    for file in &document.not_read {
        sheet.labelled("- ", &format!("{}: {}", file.file, file.reason));
    }
    sheet.into_text()
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
