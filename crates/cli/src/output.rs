//! The one door to stdout and stderr.

use crate::Failure;
use run::Document;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};

/// A message on stderr.
pub fn error(message: &str) {
    for line in message.lines() {
        say(&format!("powerband: {line}"));
    }
}

/// A line of prose on stderr. When its reader is gone (`powerband tune 2>&1 | head`) the run goes on.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Text on stdout. A reader that went away is no error: `powerband report | head` is ordinary use.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::usage(format!(
            "stdout cannot be written: {e}; send it where there is room (powerband report prints a run again)"
        ))),
        _ => Ok(()),
    }
}

/// Stdout for a file that is written there (`-`).
pub fn stream() -> impl Write {
    std::io::stdout().lock()
}

/// Whether stdout is a person's screen.
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// A run as a page or as JSON.
pub fn document(document: &Document, as_json: bool, in_full: bool) -> Result<(), Failure> {
    if !as_json {
        return print(&match in_full {
            true => report::page_in_full(document, style()),
            false => report::page(document, style()),
        });
    }
    let mut slim = document.clone();
    slim.trials.iter_mut().for_each(run::Trial::drop_histograms);
    json(&slim)
}

/// One JSON document.
pub fn json(document: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document)
        .map_err(|e| Failure::usage(format!("the run cannot be written as JSON: {e}")))?;
    print(&(text + "\n"))
}

/// What `powerband capacity` found, as a page or as JSON.
pub fn capacity(found: &run::capacity::Document, json: bool) -> Result<(), Failure> {
    if !json {
        return print(&report::capacity_page(found, style()));
    }
    self::json(found)
}

/// What stdout can show.
pub fn style() -> report::Style {
    let terminal = std::io::stdout().is_terminal();
    let columns = std::env::var("COLUMNS").ok();
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    let of_terminal = size.ok().map(|size| size.ws_col).filter(|_| terminal);
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    report::Style {
        width: width(columns.as_deref(), of_terminal),
        colour,
    }
}

/// Columns at which lines of a list are cut: those of a terminal, or of `COLUMNS`. Another program has them whole.
pub fn line_width() -> u16 {
    let asked = std::env::var_os("COLUMNS").is_some();
    match asked || std::io::stdout().is_terminal() {
        true => style().width,
        false => u16::MAX,
    }
}

/// Columns of a page that is piped.
const PIPED: u16 = 100;
/// What tables need; a narrower terminal breaks their lines.
const NARROWEST: u16 = 60;

/// `COLUMNS`, else the terminal's. Any value other than a number above zero is ignored, as for other
/// programs.
fn width(columns: Option<&str>, of_terminal: Option<u16>) -> u16 {
    let wished = columns.and_then(|columns| columns.trim().parse().ok());
    let width = wished.filter(|&columns| columns > 0);
    let of_terminal = of_terminal.filter(|&columns| columns > 0);
    width.or(of_terminal).unwrap_or(PIPED).max(NARROWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_then_the_terminal_then_a_hundred() {
        assert_eq!(width(Some("72"), Some(200)), 72);
        assert_eq!(width(Some(" 160 "), None), 160);
        assert_eq!(width(None, Some(85)), 85);
        for nothing in ["", "0", "wide", "-3"] {
            assert_eq!(width(Some(nothing), Some(85)), 85, "{nothing}");
        }
        assert_eq!(width(None, None), 100);
        // A pseudo-terminal without a size.
        assert_eq!(width(None, Some(0)), 100);
        assert_eq!(width(Some("20"), None), 60);
    }
}
