//! Which line of a log says why a server does not start, or why a page of it fails. Pure.
//!
//! Ruby prints a message once, above a backtrace of a hundred lines, and each server prints it in a form of its own. A
//! server's own report of a failed boot is taken first, then what Ruby prints of an exception that nothing rescued, then
//! an exception that the application logged.

use std::sync::LazyLock;

use regex::Regex;

use crate::remedy::remedy;

/// Lines shown from the cause on.
const LINES_SHOWN: usize = 8;

/// Why something failed, as its log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    /// The exception and its message.
    pub(crate) said: String,
    /// Index of the line that says so.
    pub(crate) line: usize,
    /// What to do about it, where that is known.
    pub(crate) remedy: Option<String>,
}

/// A regular expression that is compiled once.
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("the pattern is a valid constant"));
    };
}

// What loggers put before a message: process ids, request ids, Ruby's Logger, Passenger's agents.
pattern!(
    PREFIX,
    r"^(?:App \d+ \w+: ?|\[ [A-Z] \d{4}-\d\d-\d\d [^\]]*\]: ?|[A-Z], \[[^\]]*\] +[A-Z]+ -- [^:]*: ?|\[[^\]\s]{1,64}\] ?)"
);
pattern!(
    NOT_LOADED,
    r"^! Unable to load application: ([A-Z][\w:]*): ?(.*)$"
);
pattern!(NO_WORKER, r"^! Unable to start worker$");
pattern!(
    SPAWN_FAILED,
    r"^Error: The application encountered the following error: (.*) \(([A-Z][\w:]*)\)$"
);
pattern!(
    PLAIN,
    r"^(?:Missing encryption key to decrypt|bundler: command not found: |Could not find .* in (?:locally installed gems|any of the (?:gem )?sources)).*$"
);
pattern!(
    UNCAUGHT,
    r"^[^\s:][^:]*(?::[^:\d][^:]*)*:\d+:(?:in [`'].+?':)? (.*) \(([A-Z][\w:]*)\)$"
);
// An exception as Falcon's logger writes it, in one line of JSON.
pattern!(
    OF_CONSOLE,
    r#""event":\{"type":"failure",.*?"class":"([A-Z][\w:]*)","message":("(?:[^"\\]|\\.)*")"#
);
pattern!(NAMED_LAST, r"^(.*) \(([A-Z]\w*(?:::[A-Z]\w*)*)\)$");
pattern!(RACK_APP, r"^.* Rack app .*: #<([A-Z][\w:]*): (.*)>$");
pattern!(
    LOGGED,
    r"^(?:[A-Z]\w*(?:::[A-Z]\w*)+|[A-Z]\w*(?:Error|Exception|NotFound|Interrupt))(?: \(.*|: \S.*)$"
);
pattern!(BLOCKED_HOST, r"Blocked hosts?: .*$");
pattern!(
    BACKTRACE,
    r"^(?:from )?(?:\S+:\d+:in [`']|<internal:|\(eval)"
);
pattern!(
    CONNECTION,
    r"^ActiveRecord::(?:DatabaseConnectionError|ConnectionNotEstablished)\b"
);
// A frame of a template, as Rails prints a backtrace: `app/views/products/index.html.erb:3`.
pattern!(
    TEMPLATE,
    r"^\S*(?:app/views/\S+?|\.(?:erb|haml|slim|jbuilder|builder|rabl)):\d+"
);
// Code that is neither the application's nor its configuration's.
pattern!(
    LIBRARY,
    r"/gems/|/vendor_ruby/|/lib/ruby/|/lib/powerband/|<internal:|/bin/\w+:\d+|/passenger/helper-scripts/"
);

/// A line without what loggers put before it.
pub(crate) fn bare(line: &str) -> &str {
    let mut rest = line;
    while let Some(found) = PREFIX.find(rest) {
        rest = &rest[found.end()..];
    }
    rest.trim()
}

/// Why it failed; `environment` is the value of `RAILS_ENV`, for the remedy.
pub(crate) fn of(lines: &[&str], environment: &str) -> Option<Cause> {
    let first = |read: &dyn Fn(usize) -> Option<String>| {
        let mut all = 0..lines.len();
        all.find_map(|line| Some((line, read(line)?)))
    };
    let (line, said) = first(&|line| of_a_server(lines, line))
        .or_else(|| first(&|line| uncaught(lines, line)))
        .or_else(|| first(&|line| logged(lines, line)))?;
    let after = lines[line + 1..].iter().copied();
    let after = after.take_while(|line| !line.contains("Started "));
    Some(Cause::new(line, said, after, environment))
}

impl Cause {
    /// `after`: what was logged of the same exception below it.
    fn new<'a>(
        line: usize,
        said: String,
        after: impl Iterator<Item = &'a str>,
        environment: &str,
    ) -> Cause {
        let said = with_detail(said, after);
        let remedy = remedy(&said, environment);
        Cause { said, line, remedy }
    }
}

/// An exception in a template with the template's file and line, which are the first such frame of the backtrace; a failed connection
/// of Active Record's with its cause, because the message itself has only the host's name.
fn with_detail<'a>(said: String, after: impl Iterator<Item = &'a str>) -> String {
    let after: Vec<&str> = after.map(bare).collect();
    // Rails logs an empty line and "Causes:" first, the latter without the request's id, then each cause in a line.
    let causes = || {
        let listed = after
            .iter()
            .skip_while(|line| line.is_empty() || **line == "Causes:");
        listed.map_while(|line| exception(line))
    };
    let in_template = said.starts_with("ActionView::");
    let connection = match in_template {
        true => causes().any(|cause| CONNECTION.is_match(&cause)),
        false => CONNECTION.is_match(&said),
    };
    let frame = after
        .iter()
        .filter(|_| in_template)
        .find_map(|line| TEMPLATE.find(line));
    let cause = causes().filter(|_| connection).last();
    said + &frame.map_or_else(String::new, |frame| format!(" in {}", frame.as_str()))
        + &cause.map_or_else(String::new, |cause| format!(", caused by {cause}"))
}

/// Why requests of a method for a path fail; nothing where the log does not connect the two.
pub(crate) fn of_page(lines: &[&str], request: &str, environment: &str) -> Option<Cause> {
    let (method, path) = request.split_once(' ')?;
    let path = path.split('?').next().unwrap_or(path);
    let routed = format!("[{method}] \"{path}\"");
    let begun = [
        format!("Started {method} \"{path}\""),
        format!("Started {method} \"{path}?"),
    ];
    let asked = format!("(\"{method} {path}");
    for (line, text) in lines.iter().enumerate() {
        if (text.contains(&routed) || text.contains(&asked))
            && let Some(said) = logged(lines, line)
        {
            return Some(Cause::new(line, said, std::iter::empty(), environment));
        }
        if !begun.iter().any(|begun| text.contains(begun)) {
            continue;
        }
        // With request ids the lines of one request can be distinguished from those between them.
        let id = text.rfind("] Started ").and_then(|end| {
            let start = text[..end].rfind('[')?;
            Some(&text[start..=end])
        });
        let rest = line + 1..lines.len();
        let mine = rest
            .take_while(|at| id.is_some() || !lines[*at].contains("Started "))
            .filter(|at| id.is_none_or(|id| lines[*at].contains(id)));
        let mine: Vec<usize> = mine.collect();
        let said = mine.iter().enumerate();
        let mut said = said.filter_map(|(nth, at)| Some((nth, logged(lines, *at)?)));
        if let Some((nth, said)) = said.next() {
            let after = mine[nth + 1..].iter().map(|at| lines[*at]);
            return Some(Cause::new(mine[nth], said, after, environment));
        }
    }
    None
}

/// What is worth showing from a line on: the line, then the application's own part of the backtrace.
pub(crate) fn shown_from<'a>(lines: &[&'a str], from: usize) -> Vec<&'a str> {
    let rest = lines[from + 1..]
        .iter()
        .filter(|line| !LIBRARY.is_match(line) && !bare(line).is_empty());
    std::iter::once(&lines[from])
        .chain(rest)
        .take(LINES_SHOWN)
        .copied()
        .collect()
}

/// Whether a worker of Puma's could not be started, and the log already says why: its master starts it again for ever.
pub(crate) fn never_boots(lines: &[&str]) -> bool {
    let told = lines.iter().rev().skip(2);
    told.into_iter().any(|line| NO_WORKER.is_match(bare(line)))
}

/// A server's own report.
fn of_a_server(lines: &[&str], at: usize) -> Option<String> {
    let line = bare(lines[at]);
    if let Some(found) = NOT_LOADED.captures(line) {
        return Some(match (&found[1], &found[2]) {
            ("SystemExit", "exit") => exited(lines, at),
            ("SystemExit", message) => message.to_owned(),
            (class, message) => named(class, message, &lines[at + 1..]),
        });
    }
    if NO_WORKER.is_match(line) {
        // Workers that fail together write between each other's lines: Puma marks each line with the worker's process id.
        let worker = PREFIX.find(lines[at]).map_or("", |found| found.as_str());
        let mut rest = lines[at + 1..].iter();
        let next = bare(rest.find(|line| line.starts_with(worker))?);
        return (!next.is_empty() && !BACKTRACE.is_match(next)).then(|| next.to_owned());
    }
    if let Some(found) = SPAWN_FAILED.captures(line) {
        return Some(named(&found[2], &found[1], &[]));
    }
    PLAIN.is_match(line).then(|| line.to_owned())
}

/// What the application printed before it ended the process itself.
fn exited(lines: &[&str], at: usize) -> String {
    let before = at.checked_sub(1).map_or("", |before| bare(lines[before]));
    let of_puma = before.starts_with('*') || before.starts_with("Puma starting");
    match before {
        "" => "the application ends its process while it boots".to_owned(),
        _ if of_puma => "the application ends its process while it boots".to_owned(),
        said => said.to_owned(),
    }
}

/// The head of an exception that nothing rescued, from Ruby, Unicorn or Falcon.
fn uncaught(lines: &[&str], at: usize) -> Option<String> {
    let raw = lines[at].trim();
    if let Some(found) = OF_CONSOLE.captures(raw) {
        let message: String = serde_json::from_str(&found[2]).unwrap_or_default();
        return Some(named(&found[1], &message, &[]));
    }
    let found = UNCAUGHT.captures(raw).or_else(|| {
        let of_a_logger = raw.contains(" ERROR -- : ") || raw.contains(" FATAL -- : ");
        NAMED_LAST.captures(bare(raw)).filter(|_| of_a_logger)
    });
    if let Some(found) = found {
        let message = found[1].strip_prefix("app error: ").unwrap_or(&found[1]);
        return Some(named(&found[2], message, &[]));
    }
    None
}

/// An exception that the application or Puma logged.
fn logged(lines: &[&str], at: usize) -> Option<String> {
    let line = bare(lines[at]);
    if let Some(found) = RACK_APP.captures(line) {
        return Some(named(&found[1], &found[2], &[]));
    }
    if let Some(found) = BLOCKED_HOST.find(line) {
        return Some(found.as_str().to_owned());
    }
    let is_unicorns = || uncaught(lines, at).filter(|_| line.starts_with("app error: "));
    exception(line).or_else(is_unicorns)
}

/// `CLASS (message)`, as Rails logs it.
fn exception(line: &str) -> Option<String> {
    LOGGED.is_match(line).then(|| {
        let said = line.strip_suffix(':').unwrap_or(line);
        let said = said.trim_end();
        // A message of several lines is closed on its last.
        let is_open = said.matches('(').count() > said.matches(')').count();
        format!("{said}{}", if is_open { ")" } else { "" })
    })
}

/// `CLASS: message`; a message that begins with empty lines is taken from the lines after it.
fn named(class: &str, message: &str, after: &[&str]) -> String {
    let message = match message.trim() {
        "" => {
            let mut after = after.iter().map(|line| bare(line));
            let first = after.find(|line| !line.is_empty()).unwrap_or_default();
            match BACKTRACE.is_match(first) {
                true => "",
                false => first,
            }
        }
        message => message,
    };
    match message {
        "" => class.to_owned(),
        message => format!("{class}: {message}"),
    }
}

#[cfg(test)]
mod tests;
