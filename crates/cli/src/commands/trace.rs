//! `trace`: what the threads of a server do, for Perfetto: asks its processes for their events, waits, writes; or its collections; or
//! which call sites' objects survive.

mod ask;
mod gc;
mod survivors;
mod write;

use crate::args::TraceArgs;
use crate::{Failure, output};
use experiment::config::{Asked, Problem, parse_duration, parse_size};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Above this a timeline is not readable, and the file grows past what viewers open.
const LONGEST: Duration = Duration::from_secs(600);
const LEAST_BYTES: u64 = 1 << 20;
const MOST_BYTES: u64 = 1 << 30;

/// What is wanted, checked.
struct Wanted {
    target: PathBuf,
    pids: Vec<u32>,
    duration: Duration,
    bytes: u64,
    output: PathBuf,
    svg: Option<PathBuf>,
    keep: bool,
    quiet: bool,
}

/// `powerband trace`.
pub fn trace(args: TraceArgs) -> Result<u8, Failure> {
    if args.gc {
        return gc::gc(args);
    }
    if args.survivors {
        return survivors::survivors(args);
    }
    let json = args.speech.json;
    let wanted = resolve(args)?;
    write::possible(std::iter::once(&wanted.output).chain(&wanted.svg))?;
    let recordings = if wanted.target.is_dir() {
        ask::processes(&wanted)?
    } else {
        ask::file(&wanted.target)?
    };
    let document = write::trace(&wanted, recordings)?;
    if json {
        output::json(&document)?;
        return Ok(0);
    }
    output::print(&write::page(&document))?;
    Ok(0)
}

fn resolve(args: TraceArgs) -> Result<Wanted, Failure> {
    let mut problems = Vec::new();
    if !args.gvl && !args.survivors {
        problems.push(Problem::with(
            "nothing to trace",
            "say what: --gvl records who holds Ruby's lock, --gc prints its garbage collections, --survivors samples which objects become old",
        ));
    }
    let asked = Asked::new(args.duration, "--for");
    let duration = parse_duration(&asked).unwrap_or_else(|problem| {
        problems.push(problem);
        LONGEST
    });
    if duration > LONGEST {
        problems.push(Problem::of(
            &asked,
            "longer than 10 minutes",
            "give a shorter time, such as 5s",
        ));
    }
    let asked = Asked::new(args.buffer, "--buffer");
    let bytes = parse_size(&asked).unwrap_or_else(|problem| {
        problems.push(problem);
        LEAST_BYTES
    });
    if !(LEAST_BYTES..=MOST_BYTES).contains(&bytes) {
        let remedy = "give a size from 1MiB to 1GiB";
        problems.push(Problem::of(&asked, "out of range", remedy));
    }
    let target = args.target.unwrap_or_else(super::flight_root::flight_root);
    let missing = (!target.exists()).then(|| {
        Problem::with(
            format!("{} is not there", target.display()),
            "start the server with powerband run -- CMD, or name the folder that its agent records into (POWERBAND_DIR)",
        )
    });
    match missing {
        // The command is valid, but nothing was recorded: exit code 3, as in inspect and predict.
        Some(missing) if problems.is_empty() => {
            return Err(Failure::no_answer(missing.to_string()));
        }
        missing => problems.extend(missing),
    }
    if !problems.is_empty() {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        return Err(Failure::usage(lines.join("\n")));
    }
    Ok(Wanted {
        target,
        pids: args.pid,
        duration,
        bytes,
        output: args.output,
        svg: args.svg,
        keep: args.keep,
        quiet: args.speech.quiet,
    })
}

fn unreadable(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("{}: {why}", path.display()))
}
