//! Which pages of the workload differ between two configurations.

use crate::Style;
use crate::figures::{change_with_interval, milliseconds};
use crate::markdown_table::{line, plain, rows};
use crate::reading::called_by_name;
use crate::sheet::Sheet;
use crate::tables;
use comfy_table::Table;
use run::{Document, PageTime};

/// The section; nothing where no pages were compared.
pub fn write(sheet: &mut Sheet, document: &Document) {
    if document.pages.is_empty() {
        return;
    }
    sheet.heading("The response time of each page, p50 at the common rate");
    sheet.table(table(document, sheet.style()));
    sheet.prose(&meaning(document));
}

/// The same in Markdown.
pub fn markdown(page: &mut String, document: &Document) {
    if document.pages.is_empty() {
        return;
    }
    page.push_str("\n### The response time of each page, p50 at the common rate\n\n");
    rows(page, &head(document), 1);
    for time in sorted(document) {
        line(page, &row(document, time));
    }
    page.push('\n');
    page.push_str(&plain(&meaning(document)));
    page.push('\n');
}

/// Which pages differ, in a sentence; `None` where no pages were compared.
pub fn sentence(document: &Document) -> Option<String> {
    if document.pages.is_empty() {
        return None;
    }
    let differ: Vec<String> = sorted(document)
        .into_iter()
        .filter(|time| time.differs())
        .map(|time| {
            let of = match several(document) {
                true => format!(" with {}", called_by_name(document, &time.candidate)),
                false => String::new(),
            };
            format!(
                "{}{of} from {} to {}",
                time.page,
                milliseconds(Some(time.baseline_ms)),
                milliseconds(Some(time.candidate_ms))
            )
        })
        .collect();
    Some(match differ.as_slice() {
        [] => "No page by itself differs by more than the blocks scatter.".to_owned(),
        pages => format!("Pages that differ (p50): {}.", pages.join("; ")),
    })
}

fn several(document: &Document) -> bool {
    let mut candidates = document.pages.iter().map(|time| &time.candidate);
    let first = candidates.next();
    candidates.any(|other| Some(other) != first)
}

/// The slowest change first.
fn sorted(document: &Document) -> Vec<&PageTime> {
    let mut times: Vec<&PageTime> = document.pages.iter().collect();
    times.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    times
}

fn head(document: &Document) -> Vec<String> {
    let both = document
        .pages
        .first()
        .map(|time| [&time.baseline, &time.candidate].map(|arm| called_by_name(document, arm)));
    let mut head = vec!["page".to_owned()];
    match both {
        Some(both) if !several(document) => head.extend(both),
        _ => head.extend(["configuration", "baseline", "p50"].map(str::to_owned)),
    }
    head.push("change".to_owned());
    head
}

fn row(document: &Document, time: &PageTime) -> Vec<String> {
    let mut row = vec![time.page.clone()];
    if several(document) {
        row.push(called_by_name(document, &time.candidate));
    }
    row.extend([time.baseline_ms, time.candidate_ms].map(|ms| milliseconds(Some(ms))));
    row.push(change_with_interval(time.ratio, time.low, time.high));
    row
}

fn table(document: &Document, style: Style) -> Table {
    let head = head(document);
    let names: Vec<&str> = head.iter().map(String::as_str).collect();
    let left = if several(document) { 2 } else { 1 };
    let mut table = tables::table(style, &names, left);
    for time in sorted(document) {
        table.add_row(row(document, time));
    }
    table
}

fn meaning(document: &Document) -> String {
    let blocks = document.pages.iter().map(|time| time.blocks).max();
    format!(
        "In brackets intervals that hold for all pages together with 95 %, from up to {}. They explain and decide nothing.",
        run::counted(blocks.unwrap_or(0), "block")
    )
}
