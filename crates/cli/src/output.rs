//! The one door to stdout and stderr.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use run::Document;
use std::io::{IsTerminal, Write};

/// A message on stderr.
pub fn error(message: &str) {
    for line in message.lines() {
        eprintln!("powerband: {line}");
    }
}

/// A line of prose on stderr.
pub fn say(line: &str) {
    eprintln!("{line}");
}

/// Text on stdout. A reader that went away is no error: `powerband report | head` is ordinary use.
pub fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// A run as a page or as JSON.
pub fn document(document: &Document, json: bool) {
    if json {
        let mut slim = document.clone();
        slim.trials.iter_mut().for_each(run::Trial::drop_histograms);
        let text = serde_json::to_string_pretty(&slim).unwrap_or_default();
        print(&(text + "\n"));
    } else {
        print(&report::page(document, style()));
    }
}

/// What stdout can show.
fn style() -> report::Style {
    let terminal = std::io::stdout().is_terminal();
    let width = rustix::termios::tcgetwinsize(std::io::stdout())
        .map(|size| size.ws_col)
        .unwrap_or(0);
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    report::Style {
        width: if terminal && width >= 60 { width } else { 120 },
        colour,
    }
}
