//! A run document as text for a terminal. Renders what the document holds and judges nothing anew.

mod answer;
mod figures;
mod listing;
mod page;
mod reading;
mod sheet;
mod tables;
mod tried;

pub use listing::listing;
pub use page::page;

/// How the page may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Terminal columns.
    pub width: u16,
    /// Whether bold and colour may be used.
    pub colour: bool,
}
