//! Pages of run documents, on a terminal of 100 columns.

use super::support::{flat, within, without_noise};
use report::Style;
use run::Document;

pub const PLAIN: Style = Style {
    width: 100,
    colour: false,
};

/// A sample of the contract, by its name without `.json`.
pub fn sample(name: &str) -> Document {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/run/");
    let text = std::fs::read_to_string(format!("{folder}{name}.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The page, checked for its width and for words of programmers.
pub fn page(document: &Document) -> String {
    for width in [60, 80, 120, 160] {
        let style = Style { width, ..PLAIN };
        within(width, &report::page(document, style));
    }
    let page = report::page(document, PLAIN);
    within(PLAIN.width, &page);
    without_noise(&page);
    page
}

/// Fails where a phrase is missing. Line breaks do not count.
#[track_caller]
pub fn holds(page: &str, phrases: &[&str]) {
    let flat = flat(page);
    for phrase in phrases {
        assert!(flat.contains(phrase), "{phrase:?} is missing:\n{page}");
    }
}
