//! `load merge`: what several machines measured of one server, as if one had sent all requests.

mod asked;
mod decoded;
mod documents;
mod logs;
mod windows;

use super::assertions::{self, Limit};
use crate::args::{AssertedArgs, LoadMergeArgs};
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
    let inputs: Result<Vec<Input>, Failure> = args.files.iter().map(|file| read(file)).collect();
    let inputs = inputs?;
    match kind(&inputs)? {
        Kind::Document => documents::merge(args, &inputs, &limits),
        Kind::Log => logs::merge(args, &inputs, &limits),
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

fn read(file: &Path) -> Result<Input, Failure> {
    let name = file.display().to_string();
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|e| Failure::usage(format!("{name}: {e}; name a file that can be read")))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Failure::usage(format!(
            "{name}: it is larger than 1 GiB; give documents or logs of powerband load"
        )));
    }
    Ok(Input { name, bytes })
}

/// Documents and logs hold different things, so that their sum would be neither.
fn kind(inputs: &[Input]) -> Result<Kind, Failure> {
    let mut first: Option<(&Input, Kind)> = None;
    for input in inputs {
        let kind = Kind::of(&input.bytes).ok_or_else(|| {
            Failure::usage(format!(
                "{}: neither {} nor {}; give files that powerband load wrote",
                input.name,
                Kind::Document.words(),
                Kind::Log.words()
            ))
        })?;
        let (of_first, wanted) = *first.get_or_insert((input, kind));
        if kind != wanted {
            return Err(Failure::usage(format!(
                "{} is {}, {} is {}; merge files of one kind",
                of_first.name,
                wanted.words(),
                input.name,
                kind.words()
            )));
        }
    }
    let (_, kind) = first.ok_or_else(|| Failure::usage("no file; name those to merge"))?;
    Ok(kind)
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
        assert_eq!(said.code, 2);
        assert_eq!(
            said.message,
            "a.json is a document of load --json, b.hlog is a log of load --hdr-log; merge files of one kind"
        );
        let rows = input("rows.csv", "start_s,length_s");
        let said = kind(&[rows]).unwrap_err();
        assert!(said.message.starts_with("rows.csv: neither"));
        assert!(
            said.message
                .ends_with("; give files that powerband load wrote")
        );
    }
}
