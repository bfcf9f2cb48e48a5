//! `predict`: simulates other configurations from flight files, and prints what they would answer; or scores such
//! predictions against real servers.

mod ask;
mod document;
mod earlier;
mod memory;
mod unused;
mod validate;
mod words;

use crate::args::PredictArgs;
use crate::count_bar::CountBar;
use crate::{Failure, asked, output, resumed};
use ::predict::{Application, Bench, Machine, PredictError, Question, WhatIf};
use ask::Wanted;
use std::path::{Path, PathBuf};

/// Draws of the trace behind each interval: each costs a simulation.
const DRAWS: u32 = 8;

/// `powerband predict`.
pub fn predict(args: PredictArgs) -> Result<u8, Failure> {
    if args.validate {
        return validate::validate(args.validation);
    }
    unused::refuse(&args.validation)?;
    let speech = args.validation.experiment.speech;
    let wanted = Wanted::read(&args).map_err(|problems| asked::failure(&problems))?;
    let (sources, application) = application(&args, &wanted)?;
    let measured = memory::measured(&application, &wanted);
    let traced_on = Machine {
        cores: wanted.cores,
        quota: wanted.quota,
        keep_alive: args.validation.experiment.kept.asked(),
    };
    let bench = Bench::new(application, traced_on).map_err(refused)?;
    let machine_cores = wanted.cores + wanted.what_if.cores;
    if machine_cores <= 0.0 {
        return Err(Failure::usage(format!(
            "--what-if: {} cores and {:+} are none; leave some",
            wanted.cores, wanted.what_if.cores
        )));
    }
    let as_it_is = bench;
    let bench = as_it_is.what_if(wanted.what_if);
    let traced_rate = bench.application().traced().rate_per_s;
    let chosen = [1.0, 1.5, 2.0].map(|times| times * traced_rate);
    let rates = wanted.rates_per_s.clone().unwrap_or(chosen.to_vec());
    let more = rates.iter().map(|rate| rate * wanted.what_if.traffic);
    let processes = wanted
        .processes
        .clone()
        .unwrap_or_else(|| bench.usual_processes());
    let threads = wanted
        .threads
        .clone()
        .unwrap_or_else(|| bench.usual_threads());
    let asks_what_if = wanted.what_if != WhatIf::default();
    let traced = bench.traced_point();
    let mut points = bench.points(&processes, &threads);
    if asks_what_if {
        points.retain(|point| *point != traced);
        points.insert(0, traced);
    }
    let question = Question {
        points,
        rates_per_s: more.collect(),
        objective: wanted.objective,
        requests: wanted.requests,
        draws: DRAWS,
        seed: wanted.seed,
    };
    // The page has no predictions where the self-check failed; documents have.
    let are_shown = speech.json || !bench.self_check().failed();
    let surveyed = match are_shown {
        true => survey(&bench, &question, speech.quiet)?,
        false => Vec::new(),
    };
    let today = match asks_what_if && are_shown {
        true => as_it_is.survey(
            &Question {
                points: vec![traced],
                rates_per_s: rates,
                ..question.clone()
            },
            1,
            || (),
        ),
        false => Ok(Vec::new()),
    };
    let found = document::Found {
        points: surveyed,
        today: today.map_err(refused)?.pop(),
        memory: measured?,
    };
    let mut document = document::document(&sources, &bench, &wanted, &question, &found);
    if !asks_what_if && !document.self_check.failed {
        let runs = resumed::runs_folder(&args.validation.experiment);
        let earlier = earlier::sentence(&document, bench.application(), &runs);
        document.warnings.extend(earlier);
    }
    if speech.json {
        output::json(&document)?;
    } else {
        output::print(&report::predict_page(&document, output::style()))?;
    }
    Ok(document.exit_code)
}

/// What the trace was read from.
fn shown(named: &[PathBuf], root: &Path, uid: u32) -> String {
    match named {
        [] => ::inspect::folder_of_user(root, uid).display().to_string(),
        named => named
            .iter()
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// The trace, and where there is a second one, with I/O that grows as between both.
fn application(
    args: &PredictArgs,
    wanted: &Wanted,
) -> Result<(Vec<PathBuf>, Application), Failure> {
    let (root, uid) = (
        super::flight_root::flight_root(),
        rustix::process::getuid().as_raw(),
    );
    let read = |named: &[PathBuf]| {
        let files = ::inspect::files(named, &root, uid).map_err(|e| match e.is_usage() {
            true => Failure::usage(e.to_string()),
            false => Failure::no_answer(e.to_string()),
        })?;
        Application::read(&files, &wanted.selection).map_err(|e| match e {
            PredictError::TooFew { .. } | PredictError::NoRequests { .. } => {
                Failure::no_answer(format!("{}: {e}", shown(named, &root, uid)))
            }
            e => refused(e),
        })
    };
    let Some((second, first)) = args
        .sources
        .split_last()
        .filter(|(_, first)| !first.is_empty())
    else {
        let sources = match args.sources.is_empty() {
            true => vec![::inspect::folder_of_user(&root, uid)],
            false => args.sources.clone(),
        };
        return Ok((sources, read(&args.sources)?));
    };
    let application = read(first)?;
    let grown = application.with_growth_from(&read(std::slice::from_ref(second))?);
    Ok((args.sources.clone(), grown.map_err(refused)?))
}

fn survey(
    bench: &Bench,
    question: &Question,
    quiet: bool,
) -> Result<Vec<::predict::Surveyed>, Failure> {
    let bar = CountBar::new(question.points.len(), "configurations", quiet);
    if !bar.is_drawn() && !quiet {
        output::say(&format!(
            "simulating {} at {}",
            run::counted(question.points.len() as u64, "configuration"),
            run::counted(question.rates_per_s.len() as u64, "rate")
        ));
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    bench
        .survey(question, threads, || bar.step())
        .map_err(refused)
}

/// No honest answer, but for what is asked wrongly.
fn refused(error: PredictError) -> Failure {
    match error {
        PredictError::Capacity(_) => Failure::usage(error.to_string()),
        PredictError::OtherApplications { .. } => {
            Failure::usage(format!("--application = {error}"))
        }
        PredictError::UnknownServer { .. } => Failure::no_answer(format!(
            "{error}; where another server is meant, name the folder of its flight files: powerband predict DIR"
        )),
        _ => Failure::no_answer(error.to_string()),
    }
}
