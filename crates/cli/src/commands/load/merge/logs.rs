//! Logs of `load --hdr-log`, merged: the histograms of each second, without workload, statuses and throughput.

use super::decoded;
use super::windows::{Window, apart, covered_ns, never_together};
use super::{Input, all};
use crate::args::LoadMergeArgs;
use crate::commands::junit::{JunitFile, Suite};
use crate::commands::load::assertions::Limit;
use crate::commands::load::document::{instant, latency, of_assertions};
use crate::commands::load::doubts::Doubts;
use crate::commands::load::hdr_log::{self, Entry, SERVICE, WRITTEN_BY};
use crate::commands::load::{tell_assertions, with_files};
use crate::{Failure, output};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use load::{HIGHEST_US, INFINITE_FROM_US, Outcome, new_histogram};
use report::MergedLogs;
use run::Hdr;
use small_sort::SmallSort;
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

/// Intervals that began within so long a time are one of the merged log.
const SECOND_NS: u64 = 1_000_000_000;

/// A histogram of a log.
#[derive(Debug)]
struct Interval {
    /// Of its file, from 1.
    line: usize,
    window: Window,
    /// Of service times, otherwise of response times.
    service: bool,
    histogram: Hdr,
}

/// Merges, shows and judges.
pub fn merge(args: &LoadMergeArgs, inputs: &[Input], limits: &[Limit]) -> Result<u8, Failure> {
    let json = args.json.then(|| {
        "--json: logs hold neither workload nor statuses; merge documents of load --json, or write a log with --hdr-log"
            .to_owned()
    });
    let beyond = limits.iter().filter_map(Limit::beyond_histograms);
    let reasons = json.into_iter().chain(beyond).chain(twice(inputs));
    all(reasons.map(Err::<(), String>)).map_err(Failure::usage)?;
    let mut outcome = Outcome::empty();
    let logs = inputs.iter().map(|input| {
        let named = |why| format!("{}: {why}", input.name);
        let log = intervals(&input.bytes).map_err(named)?;
        outcome.add(&sum(&log).map_err(named)?);
        // The sum of all bounds that of any second.
        let bounded = decoded::few_enough(&outcome.response)
            .and_then(|()| decoded::few_enough(&outcome.service));
        bounded.map_err(named)?;
        Ok(log)
    });
    let logs: Vec<Vec<Interval>> = all(logs).map_err(Failure::usage)?;
    counted_twice(inputs, &logs).map_err(Failure::usage)?;
    let named = inputs.iter().map(|input| input.name.as_str());
    let extents = logs.iter().map(|log| extent(log));
    let windows: Vec<(&str, Window)> = named.clone().zip(extents).collect();
    let mut all: Vec<Interval> = logs.into_iter().flatten().collect();
    all.small_sort_by_key(|interval| interval.window.began_ns);
    let junit = JunitFile::asked(args.asserted.junit.as_deref())?;
    let logged = args
        .hdr_log
        .as_deref()
        .map_or(Ok(()), |path| hdr_log::written(path, seconds(&all)));
    let extents: Vec<Window> = windows.iter().map(|(_, window)| *window).collect();
    let why = no_answer(&outcome);
    let unanswered = outcome.counts.completed == 0;
    let doubts = Doubts {
        of_all: why.filter(|_| unanswered).map(str::to_owned),
        of_holding: why.or(never_together(&extents)).map(str::to_owned),
        ..Doubts::default()
    };
    let assertions: Vec<_> = limits.iter().map(|l| l.judge(&outcome, &doubts)).collect();
    let covered = covered_ns(&all.iter().map(|i| i.window).collect::<Vec<_>>());
    let note = apart(&windows);
    let page = MergedLogs {
        files: named.collect(),
        length_s: covered as f64 / 1e9,
        response: latency(&outcome.response),
        service: latency(&outcome.service),
        note: note.as_deref(),
        assertions: &assertions,
    };
    let shown = output::print(&report::merged_logs_page(&page, output::style()));
    note.iter().for_each(|note| output::error(note));
    tell_assertions(&assertions);
    if let Some(why) = why {
        output::error(why);
    }
    let code = match unanswered {
        true => 3,
        false => of_assertions(&assertions, outcome.counts.ok),
    };
    let suite = Suite {
        name: "load merge",
        started_at: &instant(all.first().map_or(0, |interval| interval.window.began_ns)),
        elapsed_s: page.length_s,
        assertions: &assertions,
    };
    let reported = junit.map_or(Ok(()), |file| file.write(&suite, None));
    let files = [shown.map_err(|failure| failure.message), logged, reported];
    Ok(with_files(code, &files, output::error))
}

fn no_answer(outcome: &Outcome) -> Option<&'static str> {
    match (outcome.counts.completed, outcome.counts.ok) {
        (0, _) => Some("no request was answered"),
        (_, 0) => Some("every request failed"),
        _ => None,
    }
}

/// The histograms of one log.
fn intervals(bytes: &[u8]) -> Result<Vec<Interval>, String> {
    let text = std::str::from_utf8(bytes).map_err(|e| format!("it is no text: {e}"))?;
    let mut comments = text.lines().filter_map(|line| line.strip_prefix('#'));
    if !comments.any(|comment| comment.starts_with(WRITTEN_BY)) {
        return Err(
            "it is no log of powerband load --hdr-log, so that the unit of its values is not known"
                .to_owned(),
        );
    }
    let mut base = Duration::ZERO;
    let mut found = Vec::new();
    for (line, text) in (1..).zip(text.split_inclusive('\n')) {
        let at_line = |what: &str| cut_off(&format!("line {line} {what}"));
        // A line holds one entry, or none.
        let entry = match IntervalLogIterator::new(text.as_bytes()).next() {
            Some(entry) => entry.map_err(|_| at_line("cannot be read"))?,
            None => continue,
        };
        let LogEntry::Interval(interval) = entry else {
            if let LogEntry::BaseTime(at) = entry {
                base = at;
            }
            continue;
        };
        let began = base.checked_add(interval.start_timestamp());
        let began_ns = began.and_then(|at| u64::try_from(at.as_nanos()).ok());
        let length_ns = u64::try_from(interval.duration().as_nanos()).ok();
        let (Some(began_ns), Some(length_ns)) = (began_ns, length_ns) else {
            return Err(at_line("has no time"));
        };
        let service = match interval.tag() {
            None => false,
            Some(tag) if tag.as_str() == SERVICE => true,
            Some(tag) => {
                return Err(format!(
                    "line {line} has a tag that load does not write, {:?}; merge logs of powerband load --hdr-log",
                    tag.as_str()
                ));
            }
        };
        found.push(Interval {
            line,
            window: Window {
                began_ns,
                length_ns,
            },
            service,
            histogram: Hdr::from_log(interval.encoded_histogram()),
        });
    }
    let services = found.iter().filter(|interval| interval.service).count();
    match found.len() {
        0 => Err("it has no interval".to_owned()),
        all if all != 2 * services => Err(cut_off(&format!(
            "the line after line {} is missing",
            text.lines().count()
        ))),
        _ => Ok(found),
    }
}

fn cut_off(what: &str) -> String {
    format!(
        "{what}; the run that wrote it was cut off, or the file was damaged: leave it out or run again"
    )
}

/// Copies would count twice.
fn twice(inputs: &[Input]) -> Vec<String> {
    let known = |(index, input): (usize, &Input)| {
        let mut earlier = inputs[..index].iter();
        let known = earlier.find(|i| i.bytes == input.bytes)?;
        Some(format!(
            "{} and {} are the same log; give it once",
            known.name, input.name
        ))
    };
    inputs.iter().enumerate().filter_map(known).collect()
}

/// The same values at the same instant in two logs are of one run, such as where a log was merged with a part of it.
fn counted_twice(inputs: &[Input], logs: &[Vec<Interval>]) -> Result<(), String> {
    let mut known: HashMap<(u64, bool, &Hdr), (usize, usize)> = HashMap::new();
    let all = logs
        .iter()
        .enumerate()
        .flat_map(|(log, intervals)| intervals.iter().map(move |interval| (log, interval)));
    for (log, interval) in all {
        let key = (
            interval.window.began_ns,
            interval.service,
            &interval.histogram,
        );
        let (first, line) = *known.entry(key).or_insert((log, interval.line));
        if first != log && !decoded::read(&interval.histogram)?.is_empty() {
            return Err(format!(
                "{} and {} have an interval with the same start and the same histogram (lines {line} and {}), so that one run \
                 would count twice; give each run once",
                inputs[first].name, inputs[log].name, interval.line
            ));
        }
    }
    Ok(())
}

/// From the first interval to the last.
fn extent(log: &[Interval]) -> Window {
    let began = log.iter().map(|i| i.window.began_ns).min();
    let ended = log.iter().map(|i| i.window.end_ns()).max();
    let (began_ns, ended_ns) = (began.unwrap_or(0), ended.unwrap_or(0));
    Window {
        began_ns,
        length_ns: ended_ns - began_ns,
    }
}

/// Response and service times.
fn added(all: &[Interval]) -> Result<[Histogram<u64>; 2], String> {
    let mut sums = [new_histogram(), new_histogram()];
    for interval in all {
        let found = decoded::read(&interval.histogram)
            .map_err(|why| format!("line {}: {why}", interval.line))?;
        let sum = &mut sums[usize::from(interval.service)];
        sum.add(&found).map_err(|e| e.to_string())?;
        decoded::few_enough(sum)?;
    }
    Ok(sums)
}

/// What the limits are held against.
fn sum(all: &[Interval]) -> Result<Outcome, String> {
    let [response, service] = added(all)?;
    let mut outcome = Outcome {
        response,
        service,
        ..Outcome::empty()
    };
    let ended = outcome.response.len();
    let failed = outcome.response.count_between(INFINITE_FROM_US, HIGHEST_US);
    outcome.counts.scheduled = ended;
    outcome.counts.completed = outcome.service.len();
    outcome.counts.ok = ended - failed;
    // A log does not say of which kind failures were, and limits ask for their number alone.
    outcome.errors.timeout = failed;
    Ok(outcome)
}

/// One entry for all intervals that began within one second, made as it is written: each holds two histograms of 184 KiB.
fn seconds(all: &[Interval]) -> impl Iterator<Item = Entry> {
    let began_ns = all.first().map_or(0, |interval| interval.window.began_ns);
    let second = move |interval: &Interval| (interval.window.began_ns - began_ns) / SECOND_NS;
    let together = all.chunk_by(move |a, b| second(a) == second(b));
    together.map(move |chunk| {
        let extent = extent(chunk);
        let [response, service] =
            added(chunk).expect("all intervals were decoded and added before");
        Entry {
            began: SystemTime::UNIX_EPOCH + Duration::from_nanos(began_ns),
            start: Duration::from_nanos(extent.began_ns - began_ns),
            length: Duration::from_nanos(extent.length_ns),
            response,
            service,
        }
    })
}

#[cfg(test)]
mod tests;
