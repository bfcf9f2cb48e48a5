//! The page of `powerband trace --gc`: a row for each collection.

use crate::Style;
use crate::figures::{bytes, counted, grouped};
use crate::inspect_page::{collection_name, ms};
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
        sheet.prose(&format!(
            "{} no longer in the logs, which hold the latest of each process.",
            match lost {
                1 => "1 older collection is".to_owned(),
                _ => format!("{} older collections are", grouped(lost)),
            }
        ));
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
    let rows: Vec<_> = document.collections.iter().map(row).collect();
    sheet.tables(in_parts(sheet.style(), &head, &rows));
    for file in &document.not_read {
        sheet.labelled("- ", &format!("{}: {}", file.file, file.reason));
    }
    sheet.into_text()
}

fn row(one: &Collection) -> Vec<String> {
    let count = |count: Option<u64>| count.map_or(NONE.to_owned(), grouped);
    let size = |size: Option<u64>| size.map_or(NONE.to_owned(), bytes);
    vec![
        // The day is in the first line where it was asked for, and in the document.
        one.at
            .split_once('T')
            .map_or(one.at.as_str(), |(_, time)| time)
            .trim_end_matches('Z')
            .to_owned(),
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
