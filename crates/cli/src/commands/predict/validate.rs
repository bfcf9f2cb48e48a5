//! `predict --validate`: predictions scored against what servers really do.

use crate::args::ValidateArgs;
use crate::commands::experiments::fallback_seed;
use crate::commands::run_folder::RunFolder;
use crate::commands::{installation, markdown};
use crate::progress::Terminal;
use crate::signals::Signals;
use crate::{Failure, asked, output};
use experiment::config::{
    Asked, Problem, parse_duration, parse_load, parse_whole, resolve, server_kind,
};
use experiment::validate::{self, Question};
use experiment::{Goal, ServerKind};
use jiff::Timestamp;
use run::validation;
use std::time::Duration;

/// Length of a window by default.
const WINDOW: Duration = Duration::from_secs(20);
/// How often each configuration is measured by default.
const BLOCKS: u32 = 2;
/// Length of the trace by default.
const TRACE: Duration = Duration::from_secs(60);
/// Its rate, as a share of what a closed loop shows, by default.
const TRACE_LOAD: f64 = 0.7;
/// Rates, as shares of the predicted capacity, by default.
const LOADS: [f64; 3] = [0.5, 0.7, 0.85];

pub fn validate(args: ValidateArgs) -> Result<u8, Failure> {
    let (mut request, mut problems) =
        asked::request(&args.experiment, None, args.baseline.as_ref())?;
    let given =
        |text: &Option<String>, flag: &str| text.as_ref().map(|text| Asked::new(text, flag));
    // What a file says of tuning is not said of this.
    request.threads = given(&args.threads, "--threads");
    request.workers = given(&args.workers, "--workers");
    request.blocks = None;
    request.calibrate = None;
    request.age = None;
    request.window = given(&args.experiment.window, "--window");
    for (flag, said, remedy) in [
        (
            "--resume",
            args.experiment.resume.is_some(),
            "a validation is not resumed; ask again without it",
        ),
        (
            "--budget",
            args.experiment.budget.is_some(),
            "give --window, --blocks, --threads, --workers or --loads instead",
        ),
        (
            "--calibrate",
            args.experiment.calibrate.is_some(),
            "nothing is compared here; leave it out",
        ),
        (
            "--age",
            args.experiment.age.is_some(),
            "no memory is compared here; leave it out",
        ),
        (
            "--generator-core",
            args.experiment.generator_core.is_some(),
            "the server has every core here; leave it out",
        ),
        (
            "server.kind",
            server_kind(&request) != ServerKind::Puma,
            "Puma alone is started here so far; leave it out",
        ),
    ] {
        if said {
            problems.push(Problem::with(
                format!("{flag} with predict --validate"),
                remedy,
            ));
        }
    }
    let of = &args.experiment;
    for (flag, text, variable, remedy) in [
        (
            "--margin",
            &of.margin,
            "POWERBAND_MARGIN",
            "predictions are scored by their errors; leave it out",
        ),
        (
            "--connections",
            &of.connections,
            "POWERBAND_CONNECTIONS",
            "requests arrive at given rates; leave it out",
        ),
    ] {
        if asked::is_typed(text.as_ref(), std::env::var(variable).ok().as_ref()) {
            let what = format!("{flag} with predict --validate");
            problems.push(Problem::with(what, remedy));
        }
    }
    problems.extend(asked::without_command(&mut request, "predict"));
    let question = question(&args, &mut problems);
    let now = Timestamp::now();
    // No run document is made, so that the goal is never looked at.
    let resolved =
        resolve(request, Goal::Tune, fallback_seed(now)).map_err(|found| problems.extend(found));
    let Some(experiment) = resolved.ok().filter(|_| problems.is_empty()) else {
        return Err(asked::failure(&problems));
    };
    let question = Question {
        window: experiment.window.unwrap_or(WINDOW),
        ..question
    };
    if let Some(path) = &args.markdown {
        markdown::try_to_write(path)?;
    }
    asked::tell_notes(&experiment.recording_notes);
    let signals = Signals::taken()?;
    let terminal = Terminal::new(signals.clone(), args.experiment.speech.quiet);
    let run = RunFolder::begin(&experiment, "validate", now, &terminal)?;
    let installation = installation(args.experiment.gem.as_ref());
    let started_at = now.to_string();
    let found = validate::validate(
        &experiment,
        &installation,
        run.folder.path(),
        &question,
        &started_at,
        &terminal,
    );
    terminal.finish();
    let mut document = match found {
        Ok(document) => document,
        Err(stopped) => return Err(run.failed(&stopped, &signals, true)),
    };
    document.command = markdown::typed();
    if let Some(signal) = signals.received() {
        document.exit_code = 128 + signal;
    }
    // The answer first: a disk that is full takes nothing from it.
    shown(&document, args.experiment.speech.json)?;
    run.folder
        .write_validation(&document)
        .map_err(|e| Failure::usage(e.to_string()))?;
    if let Some(path) = &args.markdown {
        markdown::write(path, &report::validation_markdown(&document))?;
    }
    run.say_kept(args.experiment.speech.quiet);
    Ok(document.exit_code)
}

fn question(args: &ValidateArgs, problems: &mut Vec<Problem>) -> Question {
    fn take<T>(
        text: Option<&String>,
        flag: &str,
        problems: &mut Vec<Problem>,
        parse: impl Fn(&Asked) -> Result<T, Problem>,
    ) -> Option<T> {
        let found = parse(&Asked::new(text?, flag));
        found.map_err(|problem| problems.push(problem)).ok()
    }
    let loads = args.loads.as_ref().map(|text| {
        let each = text.split(',').map(|part| part.trim().to_owned());
        each.filter_map(|part| take(Some(&part), "--loads", problems, parse_load))
            .collect()
    });
    let blocks = |asked: &Asked| parse_whole(asked, 1, 24, "blocks");
    Question {
        loads: loads.unwrap_or_else(|| LOADS.to_vec()),
        blocks: take(
            args.experiment.blocks.as_ref(),
            "--blocks",
            problems,
            blocks,
        )
        .map_or(BLOCKS, |blocks| blocks as u32),
        window: WINDOW,
        trace: take(args.trace.as_ref(), "--trace", problems, parse_duration).unwrap_or(TRACE),
        trace_load: take(
            args.trace_load.as_ref(),
            "--trace-load",
            problems,
            parse_load,
        )
        .unwrap_or(TRACE_LOAD),
    }
}

fn shown(document: &validation::Document, json: bool) -> Result<(), Failure> {
    if json {
        return output::json(document);
    }
    output::print(&report::validation_page(document, output::style()))
}
