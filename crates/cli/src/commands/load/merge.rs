//! `load merge`: what several machines measured of one server, as if one had sent all requests.

mod asked;
mod decoded;
mod documents;
mod group;
mod logs;
mod windows;

pub use asked::in_words;

use super::assertions::{self, Limit};
use crate::args::{AssertedArgs, LoadMergeArgs};
use crate::commands::topic;
use crate::{Failure, asked as request};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Of a file: a log of some hundred thousand seconds is smaller.
const MOST_BYTES: u64 = 1 << 30;

/// A file that was read.
#[derive(Debug)]
struct Input {
    /// As given.
    name: String,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Document,
    Log,
}

impl Kind {
    fn of(bytes: &[u8]) -> Option<Kind> {
        match bytes.iter().find(|byte| !byte.is_ascii_whitespace())? {
            b'{' => Some(Kind::Document),
            b'#' => Some(Kind::Log),
            _ => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Kind::Document => "a document of load --json",
            Kind::Log => "a log of load --hdr-log",
        }
    }
}

/// `powerband load merge`.
pub fn merge(args: &LoadMergeArgs) -> Result<u8, Failure> {
    let limits = limits(&args.asserted)?;
    if let Some(text) = args.files.iter().find_map(|file| topic::named(file)) {
        return group::merge(args, text, &limits);
    }
    if args.group.is_some() {
        return Err(Failure::usage(
            "--group means nothing here: it belongs to a topic; name one, kafka://HOST:PORT/TOPIC, or leave it out",
        ));
    }
    let inputs = all(args.files.iter().map(|file| read(file))).map_err(Failure::usage)?;
    match kind(&inputs).map_err(Failure::usage)? {
        Kind::Document => documents::merge(args, &inputs, &limits),
        Kind::Log => logs::merge(args, &inputs, &limits),
    }
}

/// All values, or every reason why one is missing, a line each.
fn all<T>(found: impl IntoIterator<Item = Result<T, String>>) -> Result<Vec<T>, String> {
    let (mut values, mut reasons) = (Vec::new(), Vec::new());
    for one in found {
        match one {
            Ok(value) => values.push(value),
            Err(why) => reasons.push(why),
        }
    }
    match reasons.is_empty() {
        true => Ok(values),
        false => Err(reasons.join("\n")),
    }
}

fn limits(asserted: &AssertedArgs) -> Result<Vec<Limit>, Failure> {
    let mut problems = Vec::new();
    let limits = assertions::limits(&asserted.assert, None, &mut problems);
    if !problems.is_empty() {
        return Err(request::failure(&problems));
    }
    super::junit_has_assertions(asserted, &limits)?;
    Ok(limits)
}

fn read(file: &Path) -> Result<Input, String> {
    let name = file.display().to_string();
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|e| format!("{name}: {e}; name a file that can be read"))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!(
            "{name}: it is larger than 1 GiB; give documents or logs of powerband load"
        ));
    }
    Ok(Input { name, bytes })
}

/// Documents and logs hold different things, so that their sum would be neither.
fn kind(inputs: &[Input]) -> Result<Kind, String> {
    let known = |input: &Input| {
        Kind::of(&input.bytes).ok_or_else(|| {
            format!(
                "{}: neither {} nor {}; give files that powerband load wrote",
                input.name,
                Kind::Document.words(),
                Kind::Log.words()
            )
        })
    };
    let kinds = all(inputs.iter().map(known))?;
    let wanted = *kinds.first().ok_or("no file; name those to merge")?;
    match inputs.iter().zip(&kinds).find(|(_, kind)| **kind != wanted) {
        None => Ok(wanted),
        Some((other, kind)) => Err(format!(
            "{} is {}, {} is {}; merge files of one kind",
            inputs[0].name,
            wanted.words(),
            other.name,
            kind.words()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(name: &str, bytes: &str) -> Input {
        Input {
            name: name.to_owned(),
            bytes: bytes.into(),
        }
    }

    #[test]
    fn documents_and_logs_are_not_merged_with_each_other() {
        let (document, log) = (input("a.json", "{}"), input("b.hlog", "#[Histogram"));
        let said = kind(&[document, log]).unwrap_err();
        assert_eq!(
            said,
            "a.json is a document of load --json, b.hlog is a log of load --hdr-log; merge files of one kind"
        );
        let rows = input("rows.csv", "start_s,length_s");
        let empty = input("empty", "");
        let said = kind(&[rows, empty]).unwrap_err();
        let lines: Vec<&str> = said.lines().collect();
        for (line, name) in lines.iter().zip(["rows.csv", "empty"]) {
            assert!(line.starts_with(&format!("{name}: neither")), "{said}");
            assert!(
                line.ends_with("; give files that powerband load wrote"),
                "{said}"
            );
        }
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn every_file_that_cannot_be_read_is_named() {
        let said = all(["/nowhere/a", "/nowhere/b"].map(|name| read(Path::new(name)))).unwrap_err();
        let lines: Vec<&str> = said.lines().collect();
        assert!(
            lines[0].starts_with("/nowhere/a: ") && lines[1].starts_with("/nowhere/b: "),
            "{said}"
        );
    }
}
