//! The tables as Markdown, to be kept next to the code that they are about.

use super::{from, rows};
use crate::figures::{counted, duration};
use crate::sheet::first_line;
use run::validation::Document;
use std::fmt::Write;

/// The whole page.
pub fn validation_markdown(document: &Document) -> String {
    let mut page = format!("{}\n\n{}\n", about(document), document.sentence);
    for rows in rows::all(document) {
        let _ = write!(page, "\n### {}\n\n", rows.title);
        line(&mut page, rows.head.iter().copied());
        let rule = (0..rows.head.len()).map(|nth| if nth < rows.words { "---" } else { "---:" });
        line(&mut page, rule);
        for row in &rows.rows {
            line(&mut page, row.iter().map(String::as_str));
        }
        let _ = write!(page, "\n{}\n", rows.meaning);
    }
    page.push_str("\n### What it was predicted from\n\n");
    for words in from(document) {
        let _ = writeln!(page, "- {words}");
    }
    if !document.warnings.is_empty() {
        page.push_str("\n### Before you believe it\n\n");
        for warning in &document.warnings {
            let _ = writeln!(page, "- {}", first_line(warning));
        }
    }
    page
}

/// When, on what, and how to do it again.
fn about(document: &Document) -> String {
    let host = &document.host;
    let version = |name: &str| document.versions.get(name).map_or("?", String::as_str);
    let day = document
        .started_at
        .get(..10)
        .unwrap_or(&document.started_at);
    format!(
        "{day}, {} cores ({}), Linux {}, Ruby {}, {}; {}, windows of {:.0} s, {} in all; load average before it {:.2}; seed {}.\n\n```sh\n{}\n```",
        host.effective_cores,
        host.cpu_model,
        host.kernel,
        version("ruby"),
        version("server"),
        counted(document.blocks, "block"),
        document.window_s,
        duration(document.elapsed_s),
        host.load_average,
        document.seed,
        document.command,
    )
}

fn line<'a>(page: &mut String, cells: impl Iterator<Item = &'a str>) {
    for cell in cells {
        let _ = write!(page, "| {} ", cell.replace('|', "\\|"));
    }
    page.push_str("|\n");
}
