//! The page of a run of commands as Markdown, to keep in the repository of the application.

use crate::command_page::{
    COMPARISONS_HEAD, MEMORY_HEAD, RUNS_HEAD, comparison_rows, how, memory_heading, memory_row,
    runs_row, side_by_side,
};
use crate::markdown_table::{line, rows, sets};
use run::{CommandRuns, Document};
use std::fmt::Write;

/// Writes what stands between the answer and the warnings.
pub fn write(page: &mut String, document: &Document, command: &CommandRuns) {
    let _ = write!(page, "\n{}\n", how(document, command));
    let _ = write!(page, "\n### {}\n\n", memory_heading(command));
    rows(page, &MEMORY_HEAD, 1);
    for arm in &command.arms {
        line(page, &memory_row(arm));
    }
    page.push_str("\n### Medians of the runs\n\n");
    rows(page, &RUNS_HEAD, 1);
    for arm in &command.arms {
        line(page, &runs_row(arm));
    }
    if !command.comparisons.is_empty() {
        page.push_str("\n### The comparisons, side by side\n\n");
        rows(page, &COMPARISONS_HEAD, 2);
        for row in comparison_rows(command) {
            line(page, &row);
        }
        let _ = write!(page, "\n{}\n", side_by_side(document, command));
    }
    page.push_str("\n### The configurations\n\n");
    rows(page, &["configuration", "sets"], 2);
    for arm in &command.arms {
        line(page, &[arm.called.clone(), sets(&arm.environment)]);
    }
}
