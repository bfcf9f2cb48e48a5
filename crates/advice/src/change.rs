//! A file as it is and as it should be, and what is said instead where that cannot be written.

use crate::text::usual_ending;
use crate::unified::unified;

/// Replaces credentials in a diff.
const HIDDEN: &str = "[not shown]";

/// A file as it is and as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its path, for the diff's header.
    pub path: String,
    /// As it should be.
    pub text: String,
    /// Unified diff; empty when nothing changes.
    pub diff: String,
}

/// What is left to a person, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The file or the variable that it is about.
    pub about: String,
    /// A sentence or two.
    pub text: String,
}

impl Note {
    pub(crate) fn new(about: impl Into<String>, text: impl Into<String>) -> Note {
        Note {
            about: about.into(),
            text: text.into(),
        }
    }
}

impl Change {
    /// `context` is how many unchanged lines the diff shows on each side of a change.
    pub(crate) fn between(path: &str, before: &str, after: String, context: usize) -> Change {
        // A last line without its newline would count as changed, and be shown, as soon as another follows it.
        let whole = match before {
            "" => String::new(),
            text if text.ends_with('\n') => text.to_owned(),
            text => format!("{text}{}", usual_ending(text)),
        };
        if whole == after {
            return Change {
                path: path.to_owned(),
                text: before.to_owned(),
                diff: String::new(),
            };
        }
        // From the root on, as `git apply` takes it there.
        let name = path.trim_start_matches('/');
        let diff = unified(name, &whole, &after, context);
        Change {
            path: path.to_owned(),
            text: after,
            diff,
        }
    }

    /// A change whose neighbours may be keys and passwords, and diffs are stored and passed around: no line is shown
    /// but those that change, and of these no credentials inside a URL.
    pub(crate) fn private(path: &str, before: &str, after: String) -> Change {
        let mut change = Change::between(path, before, after, 0);
        let lines = change.diff.split_inclusive('\n').map(without_credentials);
        change.diff = lines.collect();
        change
    }

    /// The lines that the diff adds, without credentials where it has none.
    pub(crate) fn added(&self) -> impl Iterator<Item = &str> {
        let lines = self.diff.lines().filter(|line| !line.starts_with("+++"));
        lines.filter_map(|line| line.strip_prefix('+'))
    }

    /// Whether a removed line is hidden, so that `git apply` does not find it in the file.
    #[must_use]
    pub fn hides_a_line(&self) -> bool {
        let mut lines = self.diff.lines();
        lines.any(|line| line.starts_with('-') && line.ends_with(HIDDEN))
    }
}

/// The value of a line that goes away, hidden when it is a URL with a user's name in it.
fn without_credentials(line: &str) -> String {
    let hidden = line.starts_with('-')
        && !line.starts_with("--- ")
        && line
            .split_once("://")
            .is_some_and(|(_, rest)| rest.contains('@'));
    let Some(at) = line.find("://").filter(|_| hidden) else {
        return line.to_owned();
    };
    // After the name: a Dockerfile's old form has a space there, and a URL may hold a `=` of its own.
    let name = line[..at].find('=').or(line[..at].rfind([' ', '\t']));
    let kept = name.map_or(1, |name| name + 1);
    format!("{}{HIDDEN}\n", &line[..kept])
}

#[cfg(test)]
mod tests {
    use super::{Change, without_credentials};

    #[test]
    fn a_change_that_hides_a_line_says_so() {
        let of = |before: &str| Change::private(".env", before, "A=memory\n".to_owned());
        assert!(of("A=redis://me:pw@h/0\n").hides_a_line());
        assert!(!of("A=redis://h/0\n").hides_a_line());
        assert!(!of("").hides_a_line());
    }

    #[test]
    fn credentials_in_a_url_are_hidden_however_it_is_set() {
        for (line, shown) in [
            ("-A=redis://me:pw@h/0\n", "-A=[not shown]\n"),
            ("-ENV A redis://me:pw@h/0\n", "-ENV A [not shown]\n"),
            ("-ENV A redis://me:pw@h/0?x=1\n", "-ENV A [not shown]\n"),
            ("-redis://me:pw@h/0\n", "-[not shown]\n"),
            ("-A=redis://h/0\n", "-A=redis://h/0\n"),
            ("+A=redis://me:pw@h/0\n", "+A=redis://me:pw@h/0\n"),
        ] {
            assert_eq!(without_credentials(line), shown);
        }
    }
}
