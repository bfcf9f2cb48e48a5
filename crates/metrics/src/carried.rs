//! What removed flight files had counted: the text that the program that removes one leaves next to
//! the others.

use std::collections::{BTreeMap, BTreeSet};

use flight::BUCKETS;

use crate::row::{Buckets, COUNTERS, Edged, Row};
use crate::sums::{Kind, PROCESS, Sums};

const FIRST: &str = "powerband-carried 1";

/// A carried text that is not what the contract says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the file of carried sums is damaged at {line:?}; remove it, and counters begin anew")]
pub struct Damaged {
    pub line: String,
}

/// The sums of removed files, by application.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Carried {
    /// One more with each writing; 0 where nothing was ever removed.
    pub generation: u64,
    /// Names of flight files whose counts are in here although they may still be there.
    pub files: BTreeSet<String>,
    pub applications: BTreeMap<String, Sums>,
}

impl Carried {
    /// Reads the text of the file `carried`.
    ///
    /// # Errors
    /// When it is not what the contract says.
    pub fn parse(text: &str) -> Result<Self, Damaged> {
        let mut lines = text.strip_suffix('\n').unwrap_or("").split('\n');
        let first = lines.next().unwrap_or("");
        if first != FIRST {
            return Err(damaged(first));
        }
        let second = lines.next().unwrap_or("");
        let generation = second
            .strip_prefix("generation ")
            .ok_or_else(|| damaged(second))?;
        let mut carried = Self {
            generation: number(generation)?,
            ..Self::default()
        };
        let mut application = None;
        for line in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "file" => {
                    carried.files.insert(unescape(rest));
                }
                "application" => application = Some(unescape(rest)),
                _ => {
                    let name = application.clone().ok_or_else(|| damaged(line))?;
                    add(carried.applications.entry(name).or_default(), word, rest)?;
                }
            }
            if let Some(name) = &application {
                carried.applications.entry(name.clone()).or_default();
            }
        }
        Ok(carried)
    }
}

fn add(sums: &mut Sums, word: &str, rest: &str) -> Result<(), Damaged> {
    match word {
        "process" => {
            let pairs = pairs(rest)?;
            let mut process = [None; PROCESS.len()];
            for (value, name) in process.iter_mut().zip(PROCESS) {
                *value = pairs.get(name).copied().map(number).transpose()?;
            }
            sums.add_process(process);
        }
        "totals" => sums.totals.add(&row(&pairs(rest)?)?),
        "request" | "job" => {
            let (numbers, name) = rest.split_once("name=").ok_or_else(|| damaged(rest))?;
            let kind = if word == "job" {
                Kind::Job
            } else {
                Kind::Request
            };
            let pairs = pairs(numbers)?;
            let mut row = row(&pairs)?;
            row.wall = buckets(pairs.get("wall"))?;
            row.gvl_wait = buckets(pairs.get("gvl_wait"))?;
            row.queue = buckets(pairs.get("queue"))?;
            row.edged = edged(&pairs, &row)?;
            sums.row(kind, &unescape(name)).add(&row);
        }
        _ => {}
    }
    Ok(())
}

fn pairs(text: &str) -> Result<BTreeMap<&str, &str>, Damaged> {
    let words = text.split(' ').filter(|word| !word.is_empty());
    words
        .map(|word| word.split_once('=').ok_or_else(|| damaged(word)))
        .collect()
}

fn row(pairs: &BTreeMap<&str, &str>) -> Result<Row, Damaged> {
    let mut row = Row::default();
    for (value, (name, _)) in row.counters.iter_mut().zip(COUNTERS) {
        *value = pairs.get(name).copied().map(number).transpose()?;
    }
    Ok(row)
}

/// A part of the row's wall times.
fn edged(pairs: &BTreeMap<&str, &str>, row: &Row) -> Result<Option<Edged>, Damaged> {
    let (Some(counts), Some(sum)) = (pairs.get("edged"), pairs.get("edged_ns")) else {
        return Ok(None);
    };
    let wall = buckets(Some(counts))?.unwrap_or([0; BUCKETS]);
    let wall_ns = number(sum)?;
    let all = row.wall.unwrap_or([0; BUCKETS]);
    let is_part = wall.iter().zip(all).all(|(part, all)| *part <= all)
        && wall_ns <= row.counter("wall_ns").unwrap_or(0);
    match is_part {
        true => Ok(Some(Edged { wall, wall_ns })),
        false => Err(damaged(&format!("edged={counts}"))),
    }
}

fn buckets(text: Option<&&str>) -> Result<Option<Buckets>, Damaged> {
    let Some(text) = text else { return Ok(None) };
    let mut counts = [0_u64; BUCKETS];
    for pair in text.split(',').filter(|pair| !pair.is_empty()) {
        let (bucket, count) = pair.split_once(':').ok_or_else(|| damaged(pair))?;
        let bucket = usize::try_from(number(bucket)?).unwrap_or(usize::MAX);
        let slot = counts.get_mut(bucket).ok_or_else(|| damaged(pair))?;
        *slot = slot.saturating_add(number(count)?);
    }
    Ok(Some(counts))
}

fn number(text: &str) -> Result<u64, Damaged> {
    if text.is_empty() || text.len() > 20 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(damaged(text));
    }
    // Twenty digits may be more than 64 bits hold.
    Ok(text.parse().unwrap_or(u64::MAX))
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let escaped = match (c, rest.peek()) {
            ('\\', Some('n')) => Some('\n'),
            ('\\', Some('\\')) => Some('\\'),
            _ => None,
        };
        if escaped.is_some() {
            rest.next();
        }
        plain.push(escaped.unwrap_or(c));
    }
    plain
}

fn damaged(line: &str) -> Damaged {
    Damaged {
        line: line.chars().take(80).collect(),
    }
}
