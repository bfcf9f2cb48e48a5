//! The page of merged logs: what a histogram says without the run around it.

use crate::Style;
use crate::figures::{counted, grouped, rate};
use crate::load_page::{asserted, latency_table, merged};
use crate::sheet::Sheet;
use run::load::{Assertion, Latency};

/// Logs of `load --hdr-log` that were added up.
#[derive(Debug)]
pub struct MergedLogs<'a> {
    /// Their names.
    pub files: Vec<&'a str>,
    /// How long at least one of the runs was under way, seconds.
    pub length_s: f64,
    /// All response times.
    pub response: Latency,
    /// All service times.
    pub service: Latency,
    /// What a reader must know of the logs together.
    pub note: Option<&'a str>,
    /// Limits.
    pub assertions: &'a [Assertion],
}

/// What is judged of documents alone.
const NOT_HELD: &str = "A log does not say what was asked, whether the generator was punctual, or whether the run was interrupted; merge \
                        documents to have that judged.";

/// The whole page.
pub fn merged_logs_page(logs: &MergedLogs<'_>, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.bold(&merged(&logs.files, "log"));
    sheet.line("");
    let ended = logs.response.count;
    sheet.prose(&format!(
        "{} ended in {:.1} s, {} a second; {} failed.",
        counted(ended, "request"),
        logs.length_s,
        rate(ended as f64 / logs.length_s.max(1e-9)),
        grouped(logs.response.infinite)
    ));
    sheet.prose(NOT_HELD);
    if let Some(note) = logs.note {
        sheet.prose(&format!("{note}."));
    }
    if ended > 0 {
        sheet.line("");
        let rows = [
            (
                "response",
                &logs.response,
                "request due or begun to last byte: what users wait".to_owned(),
            ),
            (
                "service",
                &logs.service,
                "request sent to last byte".to_owned(),
            ),
        ];
        sheet.table(latency_table(style, rows));
    }
    if !logs.assertions.is_empty() {
        sheet.line("");
        asserted(&mut sheet, logs.assertions);
    }
    sheet.into_text()
}
