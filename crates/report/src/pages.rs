//! Which pages of the workload differ between two configurations.

use crate::figures::{change_with_interval, counted, is_change_of, last_digit, percent};
use crate::markdown_table::{line, plain, rows};
use crate::reading::called_by_name;
use crate::sheet::Sheet;
use crate::tables::{self, NONE};
use run::{Document, Kind, PageTime, rounded_change};
use small_sort::SmallSort;

const HEADING: &str = "The response time of each page, p50 at the common rate";
/// Rows of a table at most.
const ROWS: usize = 20;
/// Pages of the sentence at most.
const NAMED: usize = 5;

/// The section; nothing where no pages were compared.
pub fn write(sheet: &mut Sheet, document: &Document) {
    let Some(shown) = Shown::of(document) else {
        return;
    };
    sheet.heading(HEADING);
    let mut table = tables::table(sheet.style(), &shown.head(), shown.words());
    for time in shown.rows() {
        table.add_row(shown.row(time));
    }
    sheet.table(table);
    for sentence in shown.notes() {
        sheet.prose(&sentence);
    }
}

/// The same in Markdown.
pub fn markdown(page: &mut String, document: &Document) {
    let Some(shown) = Shown::of(document) else {
        return;
    };
    page.push_str(&format!("\n### {HEADING}\n\n"));
    rows(page, &shown.head(), shown.words());
    for time in shown.rows() {
        line(page, &shown.row(time));
    }
    page.push_str(&format!("\n{}\n", plain(&shown.notes().join(" "))));
}

/// Which pages differ between the revisions of a check; `None` for other verbs, and where no page has an interval.
pub fn sentence(document: &Document) -> Option<String> {
    if document.kind != Kind::Check {
        return None;
    }
    let Some(shown) = Shown::of(document) else {
        return not_compared(document);
    };
    if shown.times.iter().all(|time| time.low.is_none()) {
        return None;
    }
    let margin = document.plan.margin;
    let differ: Vec<&&PageTime> = shown.times.iter().filter(|t| t.differs(margin)).collect();
    if differ.is_empty() {
        return Some(format!(
            "No difference of a single page beyond the margin of {} is shown.",
            percent(margin)
        ));
    }
    let named: Vec<String> = differ
        .iter()
        .take(NAMED)
        .map(|time| {
            format!(
                "{} {}, from {} to {}",
                time.page,
                change(time),
                milliseconds(time.baseline_ms),
                milliseconds(time.candidate_ms)
            )
        })
        .collect();
    let more = match differ.len() - named.len() {
        0 => String::new(),
        more => format!("; and {more} more, in the table"),
    };
    Some(format!(
        "Pages that differ (p50): {}{more}.",
        named.join("; ")
    ))
}

/// Why a check of several pages has no table of them.
fn not_compared(document: &Document) -> Option<String> {
    let asked = document.plan.workload.len() > 1 && !document.comparisons.is_empty();
    let withdrawn = (document.comparisons.iter()).any(|c| c.not_comparable.is_some());
    (asked && !withdrawn).then(|| {
        "Pages are not compared: no block has a latency of both revisions that counts (see below)."
            .to_owned()
    })
}

struct Shown<'d> {
    document: &'d Document,
    first: &'d PageTime,
    /// By candidate, of each the largest increase first.
    times: Vec<&'d PageTime>,
    /// Whether there is more than one candidate.
    several: bool,
}

impl<'d> Shown<'d> {
    fn of(document: &'d Document) -> Option<Self> {
        let first = document.pages.first()?;
        let place = |time: &PageTime| {
            let mut arms = document.arms.iter();
            arms.position(|arm| arm.name == time.candidate)
        };
        let mut times: Vec<&PageTime> = document.pages.iter().collect();
        times.small_sort_by(|a, b| {
            let places = place(a).cmp(&place(b));
            places.then(b.ratio.total_cmp(&a.ratio))
        });
        Some(Self {
            document,
            first,
            several: times.iter().any(|t| t.candidate != first.candidate),
            times,
        })
    }

    fn rows(&self) -> impl Iterator<Item = &PageTime> {
        self.times.iter().copied().take(ROWS)
    }

    /// Columns that are aligned left.
    fn words(&self) -> usize {
        if self.several { 2 } else { 1 }
    }

    fn head(&self) -> Vec<String> {
        let mut head = vec!["page".to_owned()];
        if self.several {
            head.extend(["configuration", "baseline p50", "its p50"].map(str::to_owned));
        } else {
            let both = [&self.first.baseline, &self.first.candidate];
            head.extend(both.map(|arm| called_by_name(self.document, arm)));
        }
        head.push("change".to_owned());
        head
    }

    fn row(&self, time: &PageTime) -> Vec<String> {
        let mut row = vec![time.page.clone()];
        if self.several {
            row.push(called_by_name(self.document, &time.candidate));
        }
        row.extend([time.baseline_ms, time.candidate_ms].map(milliseconds));
        row.push(change(time));
        row
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let more = self.times.len().saturating_sub(ROWS);
        if more > 0 {
            notes.push(format!("And {more} more: --json."));
        }
        let blocks = self.times.iter().map(|time| time.blocks).max().unwrap_or(0);
        if self.times.iter().any(|time| time.low.is_some()) {
            notes.push(format!(
                "In parentheses: intervals that hold for all pages together with 95 %, from up to {}. No verdict rests on this table. \
                 The queue is a part of these times: one slow page can delay the others.",
                counted(blocks, "block")
            ));
        } else {
            notes.push("One block gives no interval.".to_owned());
        }
        if self.rows().any(is_unknown) {
            notes.push(
                "Not known: the interval reaches from less than half to more than twice. More blocks narrow it."
                    .to_owned(),
            );
        }
        if !self.rows().all(gives_its_change) {
            notes.push(
                "Changes are means of the blocks' changes; the times are medians over the blocks, and need not give the same change."
                    .to_owned(),
            );
        }
        notes
    }
}

/// Whether the interval says nothing: from less than half to more than twice.
fn is_unknown(time: &PageTime) -> bool {
    let is_wide = time.low.is_some_and(|low| low < 0.5) && time.high.is_some_and(|high| high > 2.0);
    is_wide && time.baseline_ms.is_some() && time.candidate_ms.is_some()
}

/// Whether the times of a row, as shown, give the change next to them.
fn gives_its_change(time: &PageTime) -> bool {
    let both = time.candidate_ms.zip(time.baseline_ms);
    both.is_none_or(|both| is_change_of(time.ratio, both, last_digit))
}

/// Without a ratio where a page fails: it would be one to an hour.
fn change(time: &PageTime) -> String {
    match (time.baseline_ms, time.candidate_ms) {
        _ if is_unknown(time) => {
            format!("{} (not known)", rounded_change(time.ratio))
        }
        (Some(_), Some(_)) => change_with_interval(time.ratio, time.low, time.high),
        (Some(_), None) => "fails".to_owned(),
        (None, Some(_)) => "fails no more".to_owned(),
        (None, None) => NONE.to_owned(),
    }
}

fn milliseconds(ms: Option<f64>) -> String {
    match ms {
        Some(ms) if ms < 1.0 => format!("{ms:.2} ms"),
        ms => crate::figures::milliseconds(ms),
    }
}
