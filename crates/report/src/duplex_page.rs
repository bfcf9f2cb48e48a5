//! The page of `powerband compare --shadow-log`: which shadow is better, what is behind it, and in what answers differ.

mod differences;
mod servers;
mod times;

use crate::Style;
use crate::figures::{counted, duration, grouped};
use crate::sheet::Sheet;
use run::duplex::{Comparison, Document, Purpose};

/// The whole page, with at most so many endpoints of each comparison.
pub fn duplex_page(document: &Document, endpoints: usize, style: Style) -> String {
    sheet(document, endpoints, style).into_text()
}

pub(crate) fn sheet(document: &Document, endpoints: usize, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    sheet.bold(&document.sentence);
    sheet.prose(&reach(document));
    sheet.listed("Before you believe it", &document.warnings);
    for comparison in answering(document) {
        times::comparison(&mut sheet, document, comparison, endpoints);
    }
    times::background(&mut sheet, document);
    for answers in &document.answers {
        differences::answers(&mut sheet, document, answers);
    }
    servers::counts(&mut sheet, document);
    servers::inside(&mut sheet, document);
    if !document.not_read.is_empty() {
        sheet.heading("Not read");
        for part in &document.not_read {
            sheet.labelled("- ", &format!("{}: {}", part.file, part.reason));
        }
    }
    sheet
}

/// Those that answer what was asked; the others are background.
fn answering(document: &Document) -> impl Iterator<Item = &Comparison> {
    let asked = |one: &&Comparison| matches!(one.purpose, Purpose::Claim | Purpose::Between);
    document.comparisons.iter().filter(asked)
}

fn reach(document: &Document) -> String {
    let mut text = format!(
        "{} compared, in {}",
        counted(document.requests, "request"),
        duration(document.span_s)
    );
    if document.without_primary > 0 {
        text.push_str(&format!(
            ", {} without an answer of the primary",
            grouped(document.without_primary)
        ));
    }
    text.push('.');
    if let Some(twin) = document.shadows.iter().find(|shadow| shadow.twin) {
        text.push_str(&format!(
            " The twin, {}, runs what the primary runs: where they differ, the way in which shadows get their requests does it.",
            twin.name
        ));
    }
    text
}
