//! The page of `powerband calc`: what it means, the table, what the table takes for granted.

mod amdahl;
mod pool;
mod queue;
mod threads;
mod usl;

use crate::Style;
use crate::sheet::Sheet;
use run::calc::Document;

/// The whole page.
pub fn calc_page(document: &Document, style: Style) -> String {
    sheet(document, style).into_text()
}

pub(crate) fn sheet(document: &Document, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    sheet.bold(&document.sentence);
    if let Some(found) = &document.amdahl {
        amdahl::page(&mut sheet, found);
    }
    if let Some(found) = &document.threads {
        threads::page(&mut sheet, found);
    }
    if let Some(found) = &document.queue {
        queue::page(&mut sheet, found);
    }
    if let Some(found) = &document.usl {
        usl::page(&mut sheet, found);
    }
    if let Some(found) = &document.pool {
        pool::page(&mut sheet, found);
    }
    sheet.listed("Before you believe it", &document.warnings);
    sheet.listed("What this takes for granted", &document.assumptions);
    sheet
}
