//! The sheet that the page is written on: headings, prose that wraps, lines as they are.

use crate::Style;
use comfy_table::Table;
use std::borrow::Cow;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Prose wider than this is hard to follow.
const WIDEST_PROSE: u16 = 100;

/// What the page consists of.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Begins a part of the page.
    Heading(String),
    /// Prose that stands out; the first of a page is its answer.
    Bold(String),
    /// Prose, behind a label where that is not empty.
    Prose { label: String, text: String },
    /// A line as it is.
    Line(String),
    /// A line of a diff.
    Diff(String),
    /// A table.
    Table(Box<Table>),
}

/// The page as it grows.
#[derive(Debug)]
pub struct Sheet {
    pieces: Vec<Piece>,
    style: Style,
    full: bool,
}

impl Sheet {
    /// An empty one.
    pub fn new(style: Style) -> Sheet {
        Sheet {
            pieces: Vec::new(),
            style,
            full: false,
        }
    }

    /// The same with the parts that experts want.
    pub fn in_full(style: Style) -> Sheet {
        Sheet {
            full: true,
            ..Sheet::new(style)
        }
    }

    /// Whether these parts are wanted.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// What was written.
    pub fn into_pieces(self) -> Vec<Piece> {
        self.pieces
    }

    /// What was written, for a terminal.
    pub fn into_text(self) -> String {
        let pieces = self.pieces.iter();
        pieces.map(|piece| self.text_of(piece)).collect()
    }

    fn text_of(&self, piece: &Piece) -> String {
        match piece {
            Piece::Heading(text) => format!("\n{}\n", self.painted("1", &self.wrapped("", text))),
            Piece::Bold(text) => self.painted("1", &self.wrapped("", text)) + "\n",
            Piece::Prose { label, text } => self.wrapped(label, text) + "\n",
            Piece::Line(text) => format!("{text}\n"),
            Piece::Diff(line) => match line.as_bytes().first() {
                Some(b'+') => self.painted("32", line) + "\n",
                Some(b'-') => self.painted("31", line) + "\n",
                _ => format!("{line}\n"),
            },
            Piece::Table(table) => trimmed(table),
        }
    }

    /// How it may look.
    pub fn style(&self) -> Style {
        self.style
    }

    /// A heading after an empty line.
    pub fn heading(&mut self, text: &str) {
        self.pieces.push(Piece::Heading(text.to_owned()));
    }

    /// Prose that stands out.
    pub fn bold(&mut self, text: &str) {
        self.pieces.push(Piece::Bold(text.to_owned()));
    }

    /// Prose.
    pub fn prose(&mut self, text: &str) {
        self.labelled("", text);
    }

    /// Prose behind a label; its further lines are indented by as much.
    pub fn labelled(&mut self, label: &str, text: &str) {
        self.pieces.push(Piece::Prose {
            label: label.to_owned(),
            text: text.to_owned(),
        });
    }

    /// Sentences under a heading; without any, nothing.
    pub fn listed(&mut self, heading: &str, sentences: &[String]) {
        if sentences.is_empty() {
            return;
        }
        self.heading(heading);
        for sentence in sentences {
            self.labelled("- ", sentence);
        }
    }

    /// A line as it is.
    pub fn line(&mut self, text: &str) {
        self.pieces.push(Piece::Line(text.to_owned()));
    }

    /// A table.
    pub fn table(&mut self, table: Table) {
        self.pieces.push(Piece::Table(Box::new(table)));
    }

    /// The parts of a table, below each other.
    pub fn tables(&mut self, tables: Vec<Table>) {
        for (index, table) in tables.into_iter().enumerate() {
            if index > 0 {
                self.line("");
            }
            self.table(table);
        }
    }

    /// A line of a diff.
    pub fn diff_line(&mut self, line: &str) {
        self.pieces.push(Piece::Diff(line.to_owned()));
    }

    fn painted(&self, code: &str, text: &str) -> String {
        if self.style.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn wrapped(&self, label: &str, text: &str) -> String {
        let text: Vec<&str> = text.split_whitespace().collect();
        wrapped(label, &text.join(" "), self.style.width.min(WIDEST_PROSE)).join("\n")
    }
}

/// Lines that are not longer than the width where words allow it, the first behind the label and the others below its end.
#[must_use]
pub fn wrapped(label: &str, text: &str, width: u16) -> Vec<String> {
    let indent = " ".repeat(label.chars().count());
    let options = Options::new(usize::from(width))
        .initial_indent(label)
        .subsequent_indent(&indent)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .break_words(false);
    let lines = textwrap::wrap(text, options);
    lines.into_iter().map(Cow::into_owned).collect()
}

/// Without the padding that the table leaves at the ends of lines.
pub fn trimmed(table: &Table) -> String {
    table
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// The first line of a text that may quote a log.
pub fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_wraps_at_the_width_under_its_label() {
        let mut sheet = Sheet::new(Style {
            width: 20,
            colour: false,
        });
        sheet.labelled("- ", "one two three four five sixteen-letters");
        assert_eq!(
            sheet.into_text(),
            "- one two three four\n  five\n  sixteen-letters\n"
        );
    }
}
