//! A file's lines, each with its own ending, so that what is not ours stays byte for byte.

/// Lines without their endings, and the endings separately.
#[derive(Debug, Clone)]
pub struct Text {
    /// May be changed and added to freely: a line that came in takes the file's usual ending.
    pub lines: Vec<String>,
    endings: Vec<&'static str>,
    usual: &'static str,
}

/// How the lines of a file end: as its first does.
pub fn usual_ending(text: &str) -> &'static str {
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if first.ends_with("\r\n") {
        "\r\n"
    } else {
        "\n"
    }
}

impl Text {
    pub fn of(text: &str) -> Text {
        let usual = usual_ending(text);
        let mut lines = Vec::new();
        let mut endings = Vec::new();
        for whole in text.split_inclusive('\n') {
            let (line, ending) = match whole.strip_suffix("\r\n") {
                Some(line) => (line, "\r\n"),
                None => (
                    whole.strip_suffix('\n').unwrap_or(whole),
                    if whole.ends_with('\n') { "\n" } else { usual },
                ),
            };
            lines.push(line.to_owned());
            endings.push(ending);
        }
        Text {
            lines,
            endings,
            usual,
        }
    }

    pub fn insert(&mut self, at: usize, line: impl Into<String>) {
        self.endings.insert(at.min(self.endings.len()), self.usual);
        self.lines.insert(at, line.into());
    }

    pub fn remove(&mut self, at: usize) {
        self.endings.remove(at);
        self.lines.remove(at);
    }

    /// The file again, its last line ended like the others.
    pub fn whole(&self) -> String {
        let mut whole = String::new();
        for (at, line) in self.lines.iter().enumerate() {
            whole.push_str(line);
            whole.push_str(self.endings.get(at).copied().unwrap_or(self.usual));
        }
        whole
    }
}

/// The white space that a line begins with.
pub fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_stay_and_new_lines_take_the_usual_one() {
        let mut text = Text::of("a\r\nb\nc");
        assert_eq!(text.whole(), "a\r\nb\nc\r\n");
        text.insert(1, "new");
        text.lines.push("last".to_owned());
        assert_eq!(text.whole(), "a\r\nnew\r\nb\nc\r\nlast\r\n");
        assert_eq!(Text::of("").whole(), "");
    }
}
