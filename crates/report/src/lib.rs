//! Documents as text for a terminal and as pages of HTML, and the chart of a capacity document. Renders what the document holds and judges
//! nothing again.

mod advise_page;
mod aged;
mod answer;
mod before_after_page;
mod beyond_cores;
mod calc_page;
mod capacity;
mod capture_page;
mod chart;
mod collections_page;
mod command_markdown;
mod command_page;
mod doctor_page;
mod drift_page;
mod duplex_page;
mod experiment_markdown;
mod figures;
mod fleet;
mod growth;
mod headroom;
mod html;
mod inspect_page;
mod leak_page;
mod listing;
mod load_page;
mod markdown_table;
mod memory_comparison_page;
mod memory_page;
mod merged_logs_page;
mod no_latency;
mod page;
mod pages;
mod pod;
mod predict_page;
mod predicted;
mod proof;
mod rates;
mod readable;
mod reading;
mod request_time;
mod sheet;
mod shell;
mod since;
mod smallest;
mod so_far;
mod steps;
mod survivors_page;
mod tables;
mod templates;
mod tried;
mod validation;
mod verdict_page;
mod why_not;
mod windows;
mod worth;

pub use advise_page::advise_page;
pub use before_after_page::before_after_page;
pub use calc_page::calc_page;
pub use capacity::capacity_page;
pub use capture_page::capture_page;
pub use chart::chart;
pub use collections_page::collections_page;
pub use doctor_page::doctor_page;
pub use drift_page::drift_page;
pub use duplex_page::duplex_page;
pub use experiment_markdown::experiment_markdown;
pub use figures::{bytes, duration, plain, rate};
pub use inspect_page::{USUAL_ENDPOINTS, inspect_page, inspect_page_in_full};
pub use listing::listing;
pub use load_page::load_page;
pub use merged_logs_page::{MergedLogs, merged_logs_page};
pub use page::{page, page_in_full, page_while_running};
pub use predict_page::predict_page;
pub use readable::Readable;
pub use sheet::wrapped;
pub use shell::{shell_word, typed, with_settings};
pub use survivors_page::survivors_page;
pub use templates::WATCH_PAGE;
pub use validation::{validation_markdown, validation_page};
pub use verdict_page::verdict_page;

/// How the page may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Terminal columns.
    pub width: u16,
    /// Whether bold and colour may be used.
    pub colour: bool,
}
