//! Environment files such as `.env`: one variable a line, read by shells, Docker, systemd, Foreman and dotenv.
//!
//! Values are quoted so that the shell and dotenv read the same. Docker's `--env-file` knows no quotes; what most
//! tuning variables hold needs none.

use crate::text::{Text, indent};
use crate::variable::{Wanted, is_name, is_plain};
use crate::{Change, Knobs, Note};

/// `RAILS_MAX_THREADS` (which sizes the connection pool in a Rails `database.yml` too) and `WEB_CONCURRENCY`
/// in an environment file; `before` is the file as it is, empty when there is none.
///
/// The diff shows lines of these two names alone: their neighbours are keys and passwords, and diffs are stored
/// and passed around.
pub fn environment_file(path: &str, before: &str, knobs: Knobs) -> Change {
    let wanted = [
        Wanted::is("RAILS_MAX_THREADS", knobs.threads),
        Wanted::is("WEB_CONCURRENCY", knobs.workers),
    ];
    write(path, before, &wanted, &mut Vec::new())
}

/// These variables in an environment file, each where it stands, else at the end.
pub fn write(path: &str, before: &str, wanted: &[Wanted], notes: &mut Vec<Note>) -> Change {
    let mut text = Text::of(before);
    let Some(found) = assignments(&text.lines) else {
        notes.push(Note::new(
            path,
            "a quote is not closed, so nobody knows where its value ends; close it, then ask again.",
        ));
        return Change::private(path, before, text.whole());
    };
    for variable in wanted {
        let mine: Vec<&Assigned> = found.iter().filter(|a| a.name == variable.name).collect();
        let places: Vec<Option<&Assigned>> = match mine.is_empty() {
            true => vec![None],
            false => mine.into_iter().map(Some).collect(),
        };
        for place in places {
            let existing = place.map(|a| a.value.as_deref().unwrap_or_default());
            let Some(value) = variable.over(existing) else {
                continue;
            };
            if place.is_some_and(|a| a.value.as_ref() == Some(&value)) {
                continue;
            }
            let Some(quoted) = quoted(&value) else {
                notes.push(Note::new(
                    path,
                    format!(
                        "{} holds both ' and \\, which readers of environment files take differently; set it by hand.",
                        variable.name
                    ),
                ));
                break;
            };
            let set = format!("{}={quoted}", variable.name);
            match place {
                Some(a) => text.lines[a.line] = format!("{}{set}{}", a.before, a.comment),
                None => text.lines.push(set),
            }
        }
    }
    Change::private(path, before, text.whole())
}

/// Read back as it is by a shell and by dotenv; `None` where they differ.
fn quoted(value: &str) -> Option<String> {
    if is_plain(value) {
        return Some(value.to_owned());
    }
    if !value.contains('\'') {
        return Some(format!("'{value}'"));
    }
    if value.contains('\\') {
        return None;
    }
    let mut quoted = String::from('"');
    for c in value.chars() {
        if matches!(c, '"' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    Some(quoted)
}

struct Assigned {
    line: usize,
    name: String,
    /// Indentation and `export`.
    before: String,
    /// `None` where it is computed or in pieces.
    value: Option<String>,
    /// With the space before it.
    comment: String,
}

/// Variables that stand on a line of their own. One whose quotes span lines is left alone with all that is in it.
/// `None` where a quote is never closed.
fn assignments(lines: &[String]) -> Option<Vec<Assigned>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        at += 1;
        let trimmed = line.trim_start();
        let start = trimmed.strip_prefix("export ").unwrap_or(trimmed);
        let Some((name, rest)) = start.split_once('=') else {
            continue;
        };
        let open = rest.trim_start();
        let quote = open.chars().next().filter(|c| matches!(c, '"' | '\''));
        if let Some(quote) = quote
            && closing(&open[1..], quote).is_none()
        {
            at += lines[at..]
                .iter()
                .position(|l| closing(l, quote).is_some())?
                + 1;
            continue;
        }
        let name = name.trim();
        if !is_name(name) {
            continue;
        }
        let (value, comment) = value_of(rest);
        let export = &trimmed[..trimmed.len() - start.len()];
        found.push(Assigned {
            line: at - 1,
            name: name.to_owned(),
            before: format!("{}{export}", indent(line)),
            value,
            comment,
        });
    }
    Some(found)
}

/// Where the quote ends.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            c if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// The value that stands behind `=`, and the comment behind that.
fn value_of(rest: &str) -> (Option<String>, String) {
    let open = rest.trim_start();
    let quote = open.chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some(quote) = quote
        && let Some(end) = closing(&open[1..], quote)
    {
        let (inner, tail) = (&open[1..=end], &open[end + 2..]);
        let whole = tail.trim().is_empty() || tail.starts_with([' ', '\t']);
        let comment = match tail.trim_start().starts_with('#') && whole {
            true => tail.trim_end().to_owned(),
            false => String::new(),
        };
        let alone = tail.trim().is_empty() || !comment.is_empty();
        let value = match quote {
            '"' => unescaped(inner),
            _ => Some(inner.to_owned()),
        };
        return (value.filter(|_| alone), comment);
    }
    let at = rest.find(" #").unwrap_or(rest.len());
    let value = rest[..at].trim();
    let certain = !value.contains(['$', '\\', '`', '\'', '"', ' ']);
    (certain.then(|| value.to_owned()), rest[at..].to_owned())
}

/// What stands between double quotes; `None` where something in it is computed.
fn unescaped(inner: &str) -> Option<String> {
    let mut value = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '$' | '`' => return None,
            '\\' => value.push(chars.next().filter(|c| "\"$`'".contains(*c))?),
            c => value.push(c),
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests;
