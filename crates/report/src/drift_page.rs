//! The page of `powerband drift`: the outcome, then each assumption of the run next to the fleet's value.

use crate::Style;
use crate::figures::{bytes, duration, plain, share};
use crate::sheet::Sheet;
use crate::tables::{NONE, align_left, table};
use run::drift::{Checked, Document, Figure};

/// The whole page.
pub fn drift_page(document: &Document, style: Style) -> String {
    sheet(document, style).into_text()
}

pub(crate) fn sheet(document: &Document, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    sheet.bold(&plain(&document.sentence));
    sheet.labelled(
        "Run         ",
        &plain(&format!(
            "{} of {}, whose answer is {}",
            document.run, document.started_at, document.settings
        )),
    );
    let matchers = match document.matchers.as_str() {
        "" => String::new(),
        matchers => format!(", {matchers}"),
    };
    sheet.labelled(
        "Read        ",
        &plain(&format!(
            "{} at {}{matchers}, the {} before",
            document.prometheus,
            document.read_at,
            duration(document.period_s as f64)
        )),
    );
    sheet.heading("What the run assumed");
    let head = ["", "in the run", "holds within", "now", ""];
    let mut table = table(sheet.style(), &head, 1);
    align_left(&mut table, 4);
    for one in &document.assumptions {
        let state = match one.holds {
            Some(true) => "holds",
            Some(false) => "DIFFERS",
            None => "not known",
        };
        table.add_row([
            one.figure.label().to_owned(),
            value(one.figure, one.assumed),
            limits(one),
            one.now
                .map_or(NONE.to_owned(), |now| value(one.figure, now)),
            state.to_owned(),
        ]);
    }
    sheet.table(table);
    sheet.prose(
        "A test machine and a fleet differ in processors and in load, so a difference is a reason to measure again and no proof.",
    );
    let notes: Vec<String> = document.notes.iter().map(|note| plain(note)).collect();
    sheet.listed("Warnings of Prometheus", &notes);
    sheet
}

fn value(figure: Figure, value: f64) -> String {
    match figure {
        Figure::Mix | Figure::IoShare => share(value),
        Figure::Held | Figure::LockWait => format!("{value:.2} ms"),
        Figure::Rate => format!("{value:.1}"),
        Figure::Memory => bytes(value as u64),
        Figure::Settings => format!("{value:.0}"),
    }
}

fn limits(one: &Checked) -> String {
    let high = value(one.figure, one.high);
    match one.low {
        Some(low) => format!("{} to {high}", value(one.figure, low)),
        None => format!("up to {high}"),
    }
}
