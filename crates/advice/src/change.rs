//! A file as it is and as it should be, and what is said instead where that cannot be written.

use crate::text::usual_ending;

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
        let diff = similar::TextDiff::from_lines(&whole, &after)
            .unified_diff()
            .context_radius(context)
            .header(&format!("a/{path}"), &format!("b/{path}"))
            .to_string();
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
}

/// The value of a line that goes away, hidden when it is a URL with somebody's name in it.
fn without_credentials(line: &str) -> String {
    let hidden = line.starts_with('-')
        && !line.starts_with("--- ")
        && line
            .split_once("://")
            .is_some_and(|(_, rest)| rest.contains('@'));
    match line.split_once('=') {
        Some((name, _)) if hidden => format!("{name}=[not shown]\n"),
        _ => line.to_owned(),
    }
}
