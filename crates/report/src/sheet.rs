//! The sheet that the page is written on: headings, prose that wraps, lines as they are.

use crate::Style;

/// Prose wider than this is hard to follow.
const WIDEST_PROSE: usize = 100;

/// Text as it grows.
#[derive(Debug)]
pub struct Sheet {
    text: String,
    style: Style,
    full: bool,
}

impl Sheet {
    /// An empty one.
    pub fn new(style: Style) -> Sheet {
        Sheet {
            text: String::new(),
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
    pub fn into_text(self) -> String {
        self.text
    }

    /// How it may look.
    pub fn style(&self) -> Style {
        self.style
    }

    /// A heading after an empty line.
    pub fn heading(&mut self, text: &str) {
        self.text.push('\n');
        self.bold(text);
    }

    /// Prose that stands out.
    pub fn bold(&mut self, text: &str) {
        let wrapped = self.wrapped("", text);
        let text = self.painted("1", &wrapped);
        self.line(&text);
    }

    /// Prose.
    pub fn prose(&mut self, text: &str) {
        self.labelled("", text);
    }

    /// Prose behind a label; its further lines are indented by as much.
    pub fn labelled(&mut self, label: &str, text: &str) {
        let wrapped = self.wrapped(label, text);
        self.line(&wrapped);
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
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Lines as they are.
    pub fn block(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// A line of a diff.
    pub fn diff_line(&mut self, line: &str) {
        let line = match line.as_bytes().first() {
            Some(b'+') => self.painted("32", line),
            Some(b'-') => self.painted("31", line),
            _ => line.to_owned(),
        };
        self.line(&line);
    }

    fn painted(&self, code: &str, text: &str) -> String {
        if self.style.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn wrapped(&self, label: &str, text: &str) -> String {
        let width = usize::from(self.style.width).min(WIDEST_PROSE);
        let indent = label.chars().count();
        let mut wrapped = label.to_owned();
        let mut column = indent;
        for word in text.split_whitespace() {
            let length = word.chars().count();
            if column > indent && column + 1 + length > width {
                wrapped.push('\n');
                wrapped.push_str(&" ".repeat(indent));
                column = indent;
            } else if column > indent {
                wrapped.push(' ');
                column += 1;
            }
            wrapped.push_str(word);
            column += length;
        }
        wrapped
    }
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
