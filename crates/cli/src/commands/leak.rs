//! `leak`: which line and endpoint leak memory, and what keeps it, in a server that is started for it.

use super::experiments::fallback_seed;
use super::installation;
use super::run_folder::RunFolder;
use crate::args::LeakArgs;
use crate::progress::Terminal;
use crate::signals::Signals;
use crate::{Failure, asked, output};
use experiment::Goal;
use experiment::config::{Asked, Problem, parse_whole, resolve};
use experiment::leak::{self, LEAST_REQUESTS, MOST_REQUESTS, Question};
use jiff::Timestamp;
use report::Readable;

/// Requests by default: five hundred a round, so that an endpoint with a hundredth of the traffic is asked thirty times.
const REQUESTS: u64 = 3_000;

/// Flags that would change nothing.
fn useless(args: &LeakArgs) -> Vec<Problem> {
    let of = &args.experiment;
    let compares = "leak compares no configurations";
    let paces = "leak sends one request after the other; --requests says how many";
    let limits = "leak checks no limit; tune does";
    let mut problems = asked::refused(&[
        ("--blocks", &of.blocks, "POWERBAND_BLOCKS", compares),
        (
            "--calibrate",
            &of.calibrate,
            "POWERBAND_CALIBRATE",
            compares,
        ),
        ("--margin", &of.margin, "POWERBAND_MARGIN", compares),
        ("--rate", &of.rate, "POWERBAND_RATE", paces),
        ("--window", &of.window, "POWERBAND_WINDOW", paces),
        ("--budget", &of.budget, "POWERBAND_BUDGET", paces),
        (
            "--connections",
            &of.connections,
            "POWERBAND_CONNECTIONS",
            paces,
        ),
        ("--age", &of.age, "POWERBAND_AGE", paces),
        ("--slo", &of.slo, "POWERBAND_SLO", limits),
        (
            "--max-memory",
            &of.max_memory,
            "POWERBAND_MAX_MEMORY",
            limits,
        ),
        (
            "--generator-core",
            &of.generator_core,
            "POWERBAND_GENERATOR_CORE",
            "leak measures no time",
        ),
    ]);
    if of.resume.is_some() {
        problems.push(Problem::with(
            "--resume: a search for a leak cannot be resumed",
            "leave it out to start a new one",
        ));
    }
    problems
}

/// `powerband leak`.
pub fn leak(args: LeakArgs) -> Result<u8, Failure> {
    let (mut request, mut problems) = asked::request(&args.experiment, None, None)?;
    problems.extend(useless(&args));
    problems.extend(asked::without_command(&mut request, "leak"));
    // What a file says of tuning is not said of this.
    (request.budget, request.age, request.max_memory) = (None, None, None);
    let requests = args.requests.as_ref().map_or(Ok(REQUESTS), |text| {
        let asked = Asked::new(text, "--requests");
        parse_whole(&asked, LEAST_REQUESTS, MOST_REQUESTS, "requests")
    });
    let requests = requests.map_err(|problem| problems.push(problem)).ok();
    let now = Timestamp::now();
    // No run document is made, so that the goal is never looked at.
    let resolved =
        resolve(request, Goal::Tune, fallback_seed(now)).map_err(|found| problems.extend(found));
    let (Some(experiment), Some(requests), true) = (resolved.ok(), requests, problems.is_empty())
    else {
        return Err(asked::failure(&problems));
    };
    asked::tell_notes(&experiment.recording_notes);
    let signals = Signals::taken()?;
    let terminal = Terminal::new(signals.clone(), args.experiment.speech.quiet);
    let run = RunFolder::begin(&experiment, "leak", now, &terminal)?;
    let installation = installation(args.experiment.gem.as_ref());
    let question = Question {
        requests,
        keep: args.keep_dump,
    };
    let started_at = now.to_string();
    let found = leak::search(
        &experiment,
        &installation,
        run.folder.path(),
        question,
        &started_at,
        &terminal,
    );
    terminal.finish();
    let document = match found {
        Ok(document) => document,
        Err(stopped) => return Err(run.failed(&stopped, &signals, true)),
    };
    let code = document.exit_code;
    // The answer first: a disk that is full takes nothing from it.
    let written = run.folder.write_leak(&document);
    let readable = Readable::Leak(Box::new(document));
    if args.experiment.speech.json {
        output::json(&readable)?;
    } else {
        output::print(&readable.page(args.experiment.full, output::style()))?;
    }
    written.map_err(|e| Failure::usage(e.to_string()))?;
    run.say_kept(args.experiment.speech.quiet);
    Ok(code)
}
