//! `capacity`: the highest rate that meets an objective, on the application or on a server that runs already.

use super::experiments::fallback_seed;
use super::installation;
use super::run_folder::RunFolder;
use crate::args::CapacityArgs;
use crate::progress::Terminal;
use crate::signals::Signals;
use crate::{Failure, asked, output};
use experiment::config::{Asked, Problem, parse_rate, resolve};
use experiment::rates::{self, Curve, LEAST_BUDGET, Wanted};
use experiment::{Goal, Watcher};
use jiff::Timestamp;
use load::{Target, TlsOptions};
use std::path::Path;
use std::time::Duration;

/// Time that a search takes by default.
const DEFAULT_BUDGET: Duration = Duration::from_secs(300);

/// Flags that would change nothing.
fn useless(args: &CapacityArgs) -> Vec<Problem> {
    let of = &args.experiment;
    let compares = "capacity searches the highest rate of one configuration and compares none";
    let chooses =
        "capacity chooses its rates; --at-least RATE checks one, and --at adds some to the curve";
    let runs = "the server at the URL runs already, with its own settings";
    let baseline = args.baseline.clone().filter(|_| args.url.is_some());
    asked::refused(&[
        ("--blocks", &of.blocks, "POWERBAND_BLOCKS", compares),
        (
            "--calibrate",
            &of.calibrate,
            "POWERBAND_CALIBRATE",
            compares,
        ),
        ("--margin", &of.margin, "POWERBAND_MARGIN", compares),
        (
            "--window",
            &of.window,
            "POWERBAND_WINDOW",
            "capacity chooses its windows by --budget",
        ),
        (
            "--connections",
            &of.connections,
            "POWERBAND_CONNECTIONS",
            "capacity chooses its clients: requests of the search do not wait for one",
        ),
        ("--rate", &of.rate, "POWERBAND_RATE", chooses),
        (
            "--max-memory",
            &of.max_memory,
            "POWERBAND_MAX_MEMORY",
            "capacity checks no memory; tune does",
        ),
        (
            "--age",
            &of.age,
            "POWERBAND_AGE",
            "capacity compares no memory; tune, compare, sweep and check do",
        ),
        ("--baseline", &baseline, "POWERBAND_BASELINE", runs),
    ])
}

/// `powerband capacity`.
pub fn capacity(args: CapacityArgs) -> Result<u8, Failure> {
    let (mut request, mut problems) =
        asked::request(&args.experiment, None, args.baseline.as_ref())?;
    let target = match &args.url {
        None => None,
        Some(url) => {
            let (target, path) = Target::from_url(url, &TlsOptions::default())
                .map_err(|e| Failure::usage(e.to_string()))?;
            // A path in the URL is the workload, unless one was given.
            let given = args.experiment.workload.is_some() || args.experiment.path.is_some();
            if path != "/" && !given {
                request.workload_file = None;
                request.workload_inline = None;
                request.path = Some(Asked::new(path, "URL"));
            }
            Some(target)
        }
    };
    if request.slo.is_none() {
        problems.push(Problem::with(
            "no objective",
            "say what must be kept, such as --slo p99=250ms: at most 1 % of the requests may take longer or fail",
        ));
    }
    problems.extend(useless(&args));
    problems.extend(asked::without_command(&mut request, "capacity"));
    if args.experiment.resume.is_some() {
        problems.push(Problem::with(
            "--resume: a search is not resumed",
            "ask again without it",
        ));
    }
    let curve = curve(args.at.as_deref(), &mut problems);
    let at_least = args.at_least.as_ref().and_then(|text| {
        let read = parse_rate(&Asked::new(text.clone(), "--at-least"));
        read.map_err(|problem| problems.push(problem)).ok()
    });
    let now = Timestamp::now();
    let budget_asked = request.budget.clone();
    // No run document is made, so that the goal is never looked at.
    let resolved =
        resolve(request, Goal::Tune, fallback_seed(now)).map_err(|found| problems.extend(found));
    let resolved = resolved.ok();
    let budget = resolved.as_ref().and_then(|e| e.budget);
    if let (Some(asked), true) = (&budget_asked, budget.is_some_and(|b| b < LEAST_BUDGET)) {
        problems.push(Problem::of(
            asked,
            "too short for a search",
            format!("give {} s or more", LEAST_BUDGET.as_secs()),
        ));
    }
    let objective = resolved.as_ref().and_then(|e| e.objective.latency);
    let (Some(experiment), Some(objective), true) = (resolved, objective, problems.is_empty())
    else {
        return Err(asked::failure(&problems));
    };
    let budget = budget.unwrap_or(DEFAULT_BUDGET);
    if let Some(path) = &args.svg {
        // Minutes before the chart is there, and without emptying what stands there now.
        let mut options = std::fs::OpenOptions::new();
        let tried = options.append(true).create(true).open(path);
        tried.map_err(|e| unwritable(path, &e))?;
    }
    asked::tell_notes(&experiment.recording_notes);
    let signals = Signals::taken()?;
    let terminal = Terminal::new(signals.clone(), args.experiment.speech.quiet);
    let run = RunFolder::begin(&experiment, "capacity", now, &terminal)?;
    let wanted = Wanted {
        objective,
        budget,
        curve,
        at_least,
    };
    let found = match &target {
        Some(target) => rates::of_server(target, &experiment, &wanted, &terminal),
        None => {
            let installation = installation(args.experiment.gem.as_ref());
            rates::of_application(
                &experiment,
                &installation,
                run.folder.path(),
                &wanted,
                &terminal,
            )
        }
    };
    terminal.finish();
    let found = match found {
        Ok(found) => found,
        Err(stopped) => return Err(run.failed(&stopped, &signals, target.is_none())),
    };
    let elapsed = terminal.elapsed();
    let started_at = now.to_string();
    let mut document = rates::document(&experiment, found, args.url, &started_at, elapsed, budget);
    if let Some(signal) = signals.received() {
        document.exit_code = 128 + signal;
    }
    let chart = report::chart(&document);
    // The answer first: a disk that is full takes nothing from it.
    output::capacity(&document, args.experiment.speech.json)?;
    run.folder
        .write_capacity(&document, &chart)
        .map_err(|e| Failure::usage(e.to_string()))?;
    if let Some(path) = &args.svg {
        std::fs::write(path, &chart).map_err(|e| unwritable(path, &e))?;
    }
    if !args.experiment.speech.quiet {
        output::say(&format!(
            "chart: {}",
            run.folder.path().join("capacity.svg").display()
        ));
    }
    Ok(document.exit_code)
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!(
        "--svg = {:?}: {error}; name a file that can be written",
        path.display().to_string()
    ))
}

fn curve(at: Option<&str>, problems: &mut Vec<Problem>) -> Curve {
    let Some(at) = at else {
        return Curve::Wide;
    };
    let mut rates = Vec::new();
    for text in at.split(',') {
        match parse_rate(&Asked::new(text.trim(), "--at")) {
            Ok(rate) => rates.push(rate),
            Err(problem) => problems.push(problem),
        }
    }
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    Curve::At(rates)
}
