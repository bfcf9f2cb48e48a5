//! `memory`: reads what servers hold again and again, and says whether it grows.

mod compare;
mod rows;
mod times;
mod watched;

use crate::args::MemoryArgs;
use crate::signals::{LOOK, Signals};
use crate::time_bar::TimeBar;
use crate::{Failure, output};
use ::memory::{Asked, Reader, Recorded, document};
use host::{GroupMemory, Roots, group_memory};
use report::Readable;
use run::counted;
use run::memory::Ending;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};
use times::Times;
use watched::Subject;

/// `powerband memory`.
pub fn memory(args: &MemoryArgs) -> Result<u8, Failure> {
    if let [before, after] = args.compare.as_slice() {
        return compare::compare(before, after, args.speech.json);
    }
    let times = times::of(args)?;
    let csv = args.csv.as_deref().map(rows::Rows::open).transpose()?;
    if args.speech.json && csv.as_ref().is_some_and(rows::Rows::is_stdout) {
        return Err(Failure::usage(
            "--csv = \"-\": standard output is the JSON document's; name a file, or leave --json out",
        ));
    }
    let signals = Signals::taken()?;
    let mut subject = Subject::of(args)?;
    let started_at = jiff::Timestamp::now().to_string();
    let read = read(&mut subject, &times, &signals, args.speech.quiet);
    let ended = subject.end();
    let read = read?;
    let mut not_known: Vec<String> = read.not_known;
    not_known.extend(ended);
    let document = document(
        &read.recorded,
        Asked {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at,
            interval: read.interval,
            sources: subject.named(),
            ending: read.ending,
            group: read.group,
            not_known,
        },
    );
    let to_stdout = csv.as_ref().is_some_and(rows::Rows::is_stdout);
    // A disk that is full takes nothing from the page.
    let written = csv.map_or(Ok(()), |csv| csv.write(&document));
    let readable = Readable::Memory(Box::new(document));
    if args.speech.json {
        output::json(&readable)?;
    } else if !to_stdout {
        output::print(&readable.page(false, output::style()))?;
    }
    written?;
    Ok(signals.received().map_or(0, |signal| 128 + signal))
}

struct Read {
    recorded: Recorded,
    /// At the end.
    interval: Duration,
    ending: Ending,
    group: Option<(GroupMemory, GroupMemory)>,
    not_known: Vec<String>,
}

fn read(
    subject: &mut Subject,
    times: &Times,
    signals: &Signals,
    quiet: bool,
) -> Result<Read, Failure> {
    let failed = |e: host::HostError| Failure::no_answer(e.to_string());
    let mut reader = Reader::of(subject.watched(), times.length);
    let mut recorded = Recorded::default();
    let bar = TimeBar::new(times.length, quiet);
    let mut group = None;
    let mut pids = Vec::new();
    let mut interval = times.interval;
    let began = Instant::now();
    let ending = loop {
        let at = began.elapsed();
        let over = times.length.is_some_and(|length| at >= length);
        let interrupted = signals.received().is_some();
        let reading = reader
            .read(at, mono_ns(), over || interrupted)
            .map_err(failed)?;
        let count = reading.processes.len();
        let begins = pids.is_empty() && count > 0;
        if count > 0 {
            pids = reading.processes.iter().map(|p| p.pid).collect();
        }
        if begins {
            group = group_of(&pids);
            if !bar.is_drawn() && !quiet {
                output::say(&said(count, times.length));
            }
        }
        recorded.add(&reading);
        if recorded.readings() > times::MOST_READINGS {
            recorded.halve();
            interval *= 2;
        }
        bar.show(at, || {
            let bytes: u64 = reading
                .processes
                .iter()
                .map(|p| p.status.memory.rss_bytes)
                .sum();
            format!(
                "{}, RSS {}",
                counted(count, "process"),
                report::bytes(bytes)
            )
        });
        if interrupted {
            break Ending::Interrupted;
        }
        if over {
            break Ending::TimeOver;
        }
        if count == 0 && (!pids.is_empty() || subject.just_ended(Duration::ZERO)?) {
            break Ending::ProcessesEnded;
        }
        // Readings that are overdue are left out.
        let due = at + interval;
        while signals.received().is_none() {
            let left = due.saturating_sub(began.elapsed());
            if left.is_zero() || subject.just_ended(left.min(LOOK))? {
                break;
            }
        }
    };
    drop(bar);
    if pids.is_empty() {
        return Err(subject.nothing_read());
    }
    Ok(Read {
        recorded,
        interval,
        ending,
        // The processes may have ended, and then their group cannot be found.
        group: group.map(|first| (first, group_of(&pids).unwrap_or(first))),
        not_known: reader.not_known().cloned().collect(),
    })
}

fn group_of(pids: &[u32]) -> Option<GroupMemory> {
    group_memory(&Roots::default(), pids).ok().flatten()
}

fn said(count: usize, length: Option<Duration>) -> String {
    let of = counted(count, "process");
    match length {
        Some(length) => format!(
            "reading the memory of {of} for {}",
            humantime::format_duration(length)
        ),
        None => format!("reading the memory of {of} until the command ends"),
    }
}

fn mono_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
