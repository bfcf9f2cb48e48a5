//! Documents of `load --json`, merged.

use super::asked::{Of, different, objective, together};
use super::decoded;
use super::windows::{Window, apart, covered_ns, never_together};
use super::{Input, all};
use crate::args::LoadMergeArgs;
use crate::commands::junit::JunitFile;
use crate::commands::load::assertions::Limit;
use crate::commands::load::document::{Judged, TOO_LATE_BEYOND, conclude, figures};
use crate::commands::load::doubts::redirects;
use crate::commands::load::hdr_log::{self, Entry};
use crate::commands::load::{ended, no_answer, show};
use crate::{Failure, output};
use jiff::Timestamp;
use load::{MAX_NAMES, Outcome};
use run::load::{Document, Generator, Part, SCHEMA, State};
use serde_json::Value;
use small_sort::SmallSort;
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

/// Larger files are none of load: a document of 256 pages with full histograms is smaller.
const MOST_BYTES: usize = 64 << 20;

/// One document. Its histograms are decoded only while they are added.
#[derive(Debug)]
pub struct One {
    /// Of its file.
    pub name: String,
    /// What it says.
    pub document: Document,
}

/// The sum.
#[derive(Debug)]
pub struct Merged {
    /// Its document.
    pub document: Document,
    /// What was measured.
    pub outcome: Outcome,
    /// Warnings of the document that are about the runs together.
    pub notes: Vec<String>,
    /// Why the figures are those of no whole run.
    pub broken_off: Option<String>,
}

/// Merges, shows and judges.
pub fn merge(args: &LoadMergeArgs, inputs: &[Input], limits: &[Limit]) -> Result<u8, Failure> {
    let read = |input: &Input| {
        One::read(&input.name, &input.bytes).map_err(|why| format!("{}: {why}", input.name))
    };
    let read = all(inputs.iter().map(read));
    let merged = (read.and_then(|read| merged(read, limits))).map_err(Failure::usage)?;
    shown(args, merged)
}

/// Shows the sum, and what it is judged to be.
pub fn shown(args: &LoadMergeArgs, merged: Merged) -> Result<u8, Failure> {
    let junit = JunitFile::asked(args.asserted.junit.as_deref())?;
    let document = &merged.document;
    let logged = args.hdr_log.as_deref().map_or(Ok(()), |path| {
        hdr_log::written(path, std::iter::once(whole(document, &merged.outcome)))
    });
    let shown = show(document, args.json, false);
    merged.notes.iter().for_each(|note| output::error(note));
    let why = merged.broken_off.or_else(|| no_answer(document, None));
    Ok(ended(document, shown, why, junit, vec![logged]))
}

/// Of a merged document the whole run is one interval.
fn whole(document: &Document, outcome: &Outcome) -> Entry {
    let began = Duration::from_nanos(outcome.wall_started_ns);
    Entry {
        began: SystemTime::UNIX_EPOCH + began,
        start: Duration::ZERO,
        length: Duration::from_secs_f64(document.elapsed_s),
        response: outcome.response.clone(),
        service: outcome.service.clone(),
    }
}

impl One {
    /// Reads a document.
    pub fn read(name: &str, bytes: &[u8]) -> Result<One, String> {
        if bytes.len() > MOST_BYTES {
            return Err(
                "it is larger than 64 MiB; give a document of powerband load --json".to_owned(),
            );
        }
        let value = serde_json::from_slice(bytes).map_err(|e| unreadable(&e))?;
        One::of(name, value)
    }

    /// Takes a document that was part of a larger text, such as a generator's result.
    pub fn of(name: &str, mut value: Value) -> Result<One, String> {
        plain(&mut value);
        let schema = value["schema"].as_str();
        if let Some(schema) = schema.filter(|schema| *schema != SCHEMA) {
            return Err(other_schema(schema));
        }
        // From bytes, as elsewhere: serde_json's reader of a `Value` would be compiled once more.
        let document = serde_json::to_vec(&value).and_then(|bytes| serde_json::from_slice(&bytes));
        let document: Document = document.map_err(|e| unreadable(&e))?;
        if document.endpoints.len() > MAX_NAMES {
            return Err(format!(
                "it has {} endpoints, and load writes {MAX_NAMES} at most; give a document of powerband load --json",
                document.endpoints.len()
            ));
        }
        let name = name.to_owned();
        Ok(One { name, document })
    }

    /// The runs that it is of.
    fn parts(&self) -> Vec<Part> {
        let document = &self.document;
        if !document.merged.is_empty() {
            return document.merged.clone();
        }
        vec![Part {
            file: self.name.clone(),
            url: document.asked.url.clone(),
            started_at: document.started_at.clone(),
            window_s: document.window_s,
            elapsed_s: document.elapsed_s,
            seed: document.asked.seed,
        }]
    }
}

/// A terminal and the log of a CI system show what the file says: nothing in it that they would obey.
fn plain(value: &mut Value) {
    match value {
        Value::String(text) => *text = report::plain(text),
        Value::Array(values) => values.iter_mut().for_each(plain),
        Value::Object(fields) => {
            let named = std::mem::take(fields).into_iter();
            *fields = named
                .map(|(name, mut value)| {
                    plain(&mut value);
                    (report::plain(&name), value)
                })
                .collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn unreadable(error: &serde_json::Error) -> String {
    format!("{error}; write it again with powerband load --json")
}

fn other_schema(schema: &str) -> String {
    format!("its schema is {schema:?} and not {SCHEMA:?}; write it with powerband load --json")
}

/// When a part began, and for how long it lasted.
fn window(part: &Part, length_s: f64) -> Result<Window, String> {
    let began: Result<Timestamp, _> = part.started_at.parse();
    let began = began
        .ok()
        .and_then(|at| u64::try_from(at.as_nanosecond()).ok());
    let length = Duration::try_from_secs_f64(length_s).ok();
    let length = length.and_then(|length| u64::try_from(length.as_nanos()).ok());
    match (began, length) {
        (Some(began_ns), Some(length_ns)) => Ok(Window {
            began_ns,
            length_ns,
        }),
        _ => Err(format!(
            "{}: started_at = {:?} and {length_s} s are no window; the file was damaged after it was written",
            part.file, part.started_at
        )),
    }
}

/// The sum of runs, judged as one run is.
pub fn merged(all: Vec<One>, limits: &[Limit]) -> Result<Merged, String> {
    summed(all, limits, Of::Runs)
}

/// The sum of all, judged as one run is.
pub fn summed(mut all: Vec<One>, limits: &[Limit], of: Of) -> Result<Merged, String> {
    let differ = all.split_first().and_then(|(first, others)| {
        let first = (first.name.as_str(), &first.document);
        let differs = |other: &One| different(first, (&other.name, &other.document), of);
        let reasons: Vec<String> = others.iter().filter_map(differs).collect();
        (!reasons.is_empty()).then(|| reasons.join("\n"))
    });
    all.small_sort_by_key(|one| one.document.started_at.parse::<Timestamp>().ok());
    let mut parts: Vec<Part> = all.iter().flat_map(One::parts).collect();
    parts.small_sort_by_key(|part| part.started_at.parse::<Timestamp>().ok());
    let windows = parts.iter().map(|part| {
        let due = window(part, part.window_s)?;
        Ok((due, window(part, part.elapsed_s)?))
    });
    let (windows, outcome) = (super::all(windows), sum(&all));
    let reasons = [
        differ,
        twice(&parts),
        windows.as_ref().err().cloned(),
        outcome.as_ref().err().cloned(),
    ];
    super::all(reasons.into_iter().flatten().map(Err::<(), String>))?;
    let (due, under_way): (Vec<Window>, Vec<Window>) = windows?.into_iter().unzip();
    let mut outcome = outcome?;
    outcome.wall_started_ns = due.iter().map(|w| w.began_ns).min().unwrap_or(0);
    outcome.ended_ns = covered_ns(&due);
    outcome.finished_ns = covered_ns(&under_way).max(outcome.ended_ns);
    let documents: Vec<&Document> = all.iter().map(|one| &one.document).collect();
    let judged = Judged {
        asked: &together(&documents, outcome.window().as_secs_f64()),
        objective: objective(documents[0]),
        limits,
        recording: documents.iter().any(|d| d.recorded.is_some()),
        doubt: never_together(&due),
        no_answer: None,
    };
    let mut document = figures(&judged, &outcome, state(&documents));
    document.generator = generator(&all, &document);
    conclude(&mut document, &judged, &outcome);
    let named = parts.iter().map(|p| p.file.as_str()).zip(due);
    let apart = apart(&named.collect::<Vec<_>>()).filter(|_| of == Of::Runs);
    let bursts = bursts(&document, &parts).filter(|_| of == Of::Runs);
    let notes: Vec<String> = [apart, urls(&parts), bursts]
        .into_iter()
        .flatten()
        .collect();
    let sentences = notes.iter().map(|note| format!("{note}."));
    let of_sum = std::mem::take(&mut document.warnings);
    document.warnings = sentences.chain(of_sum).chain(of_each(&all)).collect();
    document.merged = parts;
    Ok(Merged {
        broken_off: broken_off(&all, of),
        document,
        outcome,
        notes,
    })
}

/// Runs that are in two files would count twice.
fn twice(parts: &[Part]) -> Option<String> {
    let known = |(index, part): (usize, &Part)| {
        let same = |p: &&Part| (&p.started_at, p.seed) == (&part.started_at, part.seed);
        let known = parts[..index].iter().find(same)?;
        Some(match known.file == part.file {
            true => format!(
                "{} (started at {}, seed {}) is given twice; give each run once",
                part.file, part.started_at, part.seed
            ),
            false => format!(
                "{} and {} are the same run (started at {}, seed {}); give each once",
                known.file, part.file, part.started_at, part.seed
            ),
        })
    };
    let reasons: Vec<String> = parts.iter().enumerate().filter_map(known).collect();
    (!reasons.is_empty()).then(|| reasons.join("\n"))
}

fn sum(all: &[One]) -> Result<Outcome, String> {
    let mut sum = Outcome::empty();
    let added = all.iter().map(|one| {
        let unknown = sum.first_error.is_none();
        let outcome =
            decoded::outcome(&one.document).map_err(|why| format!("{}: {why}", one.name))?;
        sum.add(&outcome);
        if let (true, Some(said)) = (unknown, &sum.first_error) {
            sum.first_error = Some(format!("{}: {said}", one.name));
        }
        Ok(())
    });
    super::all(added)?;
    Ok(sum)
}

fn state(documents: &[&Document]) -> State {
    let any = |state| documents.iter().any(|d| d.state == state);
    if any(State::Interrupted) {
        State::Interrupted
    } else if any(State::Unreachable) {
        State::Unreachable
    } else {
        State::Done
    }
}

fn broken_off(all: &[One], of: Of) -> Option<String> {
    let said = all.iter().filter_map(|one| {
        let what = match one.document.state {
            State::Done => return None,
            State::Interrupted => "the run was interrupted",
            State::Unreachable => "the run was given up, because every connection failed",
        };
        Some(format!("{}: {what}", one.name))
    });
    let said: Vec<String> = said.collect();
    let remedy = match of {
        Of::Runs => "run it again or leave it out",
        Of::Group => "give all generators another --group to replay the topic again",
    };
    (!said.is_empty()).then(|| format!("{}; {remedy}", said.join("; ")))
}

/// A generator that was too late for itself is so in the sum, and the sum may have a p99 where its parts had none.
fn generator(all: &[One], of_sum: &Document) -> Generator {
    let each = || all.iter().map(|one| &one.document.generator);
    let troubles = all.iter().filter_map(|one| {
        let trouble = one.document.generator.trouble.as_ref()?;
        Some(format!("{}: {trouble}", one.name))
    });
    let troubles: Vec<String> = troubles.collect();
    let trouble = match troubles.is_empty() {
        true => of_sum.generator.trouble.clone(),
        false => Some(troubles.join("; ")),
    };
    let cpu_s: f64 = each().map(|g| g.cpu_s).sum();
    let sent = of_sum.counts.sent;
    Generator {
        ok: trouble.is_none() && each().all(|g| g.ok),
        only_late: only_late(each(), &of_sum.generator),
        trouble,
        cpu_s,
        cpu_share: each().map(|g| g.cpu_share).fold(0.0, f64::max),
        cpu_us_per_request: (sent > 0).then(|| cpu_s * 1e6 / sent as f64),
        late_answers: of_sum.generator.late_answers.clone(),
    }
}

/// Every generator with a trouble was late and nothing else; so was their sum where none had one.
fn only_late<'a>(each: impl Iterator<Item = &'a Generator>, of_sum: &Generator) -> bool {
    let troubled: Vec<&Generator> = each.filter(|g| !g.ok).collect();
    match troubled.is_empty() {
        true => of_sum.only_late,
        false => troubled.iter().all(|g| g.only_late),
    }
}

fn urls(parts: &[Part]) -> Option<String> {
    let first = parts.first()?;
    let other = parts.iter().find(|part| part.url != first.url)?;
    Some(format!(
        "{} asked {}, {} asked {}: the figures are those of one server only where both lead to it",
        first.file, first.url, other.file, other.url
    ))
}

/// Machines that send at the same offsets: arrivals in bursts in place of independent ones.
fn bursts(document: &Document, parts: &[Part]) -> Option<String> {
    let machines = parts.len();
    if machines < 2 {
        return None;
    }
    match document.asked.arrivals.as_deref()? {
        "constant" => Some(format!(
            "the requests of each of {machines} machines are evenly spaced, so that machines which start together send in bursts, \
             whatever their seeds; use --arrivals poisson"
        )),
        "recorded" => Some(format!(
            "each of {machines} machines sent every request of the recording, and those which start together send in bursts; send \
             it from one machine, faster (--speed)"
        )),
        _ => seeds(parts),
    }
}

fn seeds(parts: &[Part]) -> Option<String> {
    parts.iter().enumerate().find_map(|(index, part)| {
        let known = parts[..index].iter().find(|p| p.seed == part.seed)?;
        Some(format!(
            "{} and {} have the same seed ({}): their requests were due at the same times after the start; \
             give each machine its own --seed",
            known.file, part.file, part.seed
        ))
    })
}

/// What the documents say that is not judged anew of the sum: once where all say it, else by name.
fn of_each(all: &[One]) -> Vec<String> {
    let own = |one: &One| -> Vec<String> {
        let redirects = redirects(&one.document.endpoints).warnings();
        let anew = |said: &String| {
            said.starts_with(TOO_LATE_BEYOND) || redirects.iter().any(|r| *said == format!("{r}."))
        };
        let said = one.document.warnings.iter();
        said.filter(|said| !anew(said)).cloned().collect()
    };
    let each: Vec<Vec<String>> = all.iter().map(own).collect();
    let by_all = |said: &String| each.iter().all(|own| own.contains(said));
    let mut seen = BTreeSet::new();
    let named = all.iter().zip(&each).flat_map(|(one, own)| {
        let line = |said: &String| match by_all(said) {
            true => said.clone(),
            false => format!("{}: {said}", one.name),
        };
        own.iter().map(line).collect::<Vec<String>>()
    });
    named.filter(|line| seen.insert(line.clone())).collect()
}

#[cfg(test)]
mod tests;
