//! `tune`, `compare` and `sweep`: from arguments to a run folder and its page.

use super::{cache_dir, guard_program, markdown};
use crate::args::{CompareArgs, ExperimentArgs, SideBySideArgs, SweepArgs, TuneArgs};
use crate::progress::Terminal;
use crate::signals::Signals;
use crate::{Failure, asked, output};
use experiment::config::{self, Asked, Problem, Request, parse_baseline, resolve, server_kind};
use experiment::{Arm, Experiment, Goal, Installation, Stopped, Store, Watcher};
use jiff::Timestamp;
use run::Kind;
use std::path::{Path, PathBuf};

/// `powerband tune`.
pub fn tune(args: TuneArgs) -> Result<u8, Failure> {
    let (request, problems) =
        asked::request(&args.experiment, Some(&args), args.baseline.as_ref())?;
    conduct(
        &args.experiment,
        request,
        Kind::Tune,
        Ok(Goal::Tune),
        problems,
        &SideBySideArgs::default(),
    )
}

/// `powerband compare`.
pub fn compare(args: CompareArgs) -> Result<u8, Failure> {
    if !args.log.shadow_log.is_empty() {
        return super::duplex::compare(&args);
    }
    super::duplex::refuse_what_is_of_a_log(&args.log)?;
    let (mut request, mut problems) = asked::request(&args.experiment, None, None)?;
    request = of_command(&args.side_by_side).or(request);
    request.rehearse = rehearsal(&args.side_by_side);
    let goal = asked::compared(&args.arms, &request.arms, &otherwise(&request));
    let typed = args.arms.iter().map(|arm| Asked::new(arm, "SETTINGS"));
    // What is typed takes the place of the file's.
    let named = request.arms.iter().filter(|_| args.arms.is_empty());
    let named = named.map(|arm| arm.knobs.clone());
    problems.extend(of_servers(&request, typed.chain(named)));
    conduct(
        &args.experiment,
        request,
        Kind::Compare,
        goal,
        problems,
        &args.side_by_side,
    )
}

/// `powerband sweep`.
pub fn sweep(args: SweepArgs) -> Result<u8, Failure> {
    let (mut request, mut problems) =
        asked::request(&args.experiment, None, args.baseline.as_ref())?;
    request = of_command(&args.side_by_side).or(request);
    request.rehearse = rehearsal(&args.side_by_side);
    let asked = [Asked::new(&args.sweep, "sweep")];
    problems.extend(of_servers(&request, asked.into_iter()));
    let goal = asked::swept(&args.sweep, &otherwise(&request));
    conduct(
        &args.experiment,
        request,
        Kind::Sweep,
        goal,
        problems,
        &args.side_by_side,
    )
}

fn rehearsal(args: &SideBySideArgs) -> Option<Asked> {
    args.rehearse.then(|| Asked::new("true", "--rehearse"))
}

/// The command that is run instead of a server; with it a file's requests are not asked.
fn of_command(args: &SideBySideArgs) -> Request {
    let given = |value: &Option<String>, flag: &str| {
        value.as_ref().map(|text| Asked::new(text.clone(), flag))
    };
    Request {
        workload_command: given(&args.workload_command, "--workload-command"),
        command_timeout: given(&args.command_timeout, "--command-timeout"),
        ..Request::default()
    }
}

/// What only a server has in these configurations, where none is started.
fn of_servers(request: &Request, arms: impl Iterator<Item = Asked>) -> Vec<Problem> {
    match request.workload_command {
        Some(_) => arms.flat_map(|arm| config::of_servers(&arm)).collect(),
        None => Vec::new(),
    }
}

/// The knobs that an arm does not name. A baseline or a server that makes no sense is told of by `resolve`.
fn otherwise(request: &Request) -> Arm {
    let defaults = Arm::of(server_kind(request).defaults());
    let baseline = request.baseline.as_ref();
    baseline
        .and_then(|asked| parse_baseline(asked, &defaults).ok())
        .unwrap_or(defaults)
}

fn conduct(
    args: &ExperimentArgs,
    request: Request,
    kind: Kind,
    goal: Result<Goal, Vec<Problem>>,
    mut problems: Vec<Problem>,
    side_by_side: &SideBySideArgs,
) -> Result<u8, Failure> {
    // What is wrong with the arms is told together with what is wrong elsewhere.
    let goal = goal.unwrap_or_else(|found| {
        problems.extend(found);
        let arms = Vec::new();
        Goal::Arms { kind, arms }
    });
    let now = Timestamp::now();
    let resolved =
        resolve(request, goal, fallback_seed(now)).map_err(|found| problems.extend(found));
    let Some(mut experiment) = resolved.ok().filter(|_| problems.is_empty()) else {
        return Err(asked::failure(&problems));
    };
    if let Some(path) = &side_by_side.markdown {
        markdown::try_to_write(path)?;
    }
    asked::tell_left_out(experiment.left_out.as_deref());
    let signals = Signals::listen()
        .map_err(|e| Failure::usage(format!("signals cannot be handled here: {e}")))?;
    let store = match &args.resume {
        Some(run) => {
            let folder = find(&experiment.runs_dir, run);
            experiment::resume(&mut experiment, &folder)
        }
        None => experiment::begin(
            &experiment,
            &now.to_string(),
            &id(now, kind.verb(), experiment.seed),
        ),
    };
    let store = store.map_err(|stopped| explain(&stopped))?;
    let folder = store.folder().path().to_owned();
    let terminal = Terminal::new(signals.clone(), args.speech.quiet);
    terminal.on(experiment::Event::Note(format!(
        "run folder: {}",
        folder.display()
    )));
    let installation = Installation {
        guard: guard_program(),
        gem: args.gem.clone(),
        cache: cache_dir(),
    };
    let (store, result) = experiment::conduct(&experiment, store, &installation, &terminal);
    terminal.finish();
    match result {
        Ok(()) => {
            // The answer first: a disk that is full takes nothing from it.
            let code = shown(&store, args.speech.json)?;
            if let Some(path) = &side_by_side.markdown {
                let page = report::experiment_markdown(&store.document, &markdown::typed());
                markdown::write(path, &page)?;
            }
            Ok(code)
        }
        Err(Stopped::Interrupted) => {
            let signal = signals.received().unwrap_or(2);
            let goes_on = match store.document.command {
                Some(_) => String::new(),
                None => format!(
                    "; go on with: powerband {} … --resume {}",
                    kind.verb(),
                    folder.display()
                ),
            };
            output::say(&format!(
                "interrupted; what was measured is in {}{goes_on}",
                folder.display()
            ));
            Ok(128 + signal)
        }
        Err(stopped) => {
            if args.resume.is_none() {
                drop_if_empty(&experiment, &store, &folder);
            }
            Err(explain(&stopped))
        }
    }
}

fn shown(store: &Store, json: bool) -> Result<u8, Failure> {
    let document = &store.document;
    output::document(document, json)?;
    let verdict = document.verdict.as_ref();
    Ok(verdict.map_or(3, |verdict| verdict.exit_code))
}

pub fn explain(stopped: &Stopped) -> Failure {
    match stopped {
        Stopped::Interrupted => Failure {
            message: "interrupted".to_owned(),
            code: 130,
        },
        Stopped::Configuration(message) => Failure::usage(message.clone()),
        Stopped::NoAnswer(message) => Failure::no_answer(message.clone()),
        Stopped::Folder(error) => Failure::usage(error.to_string()),
    }
}

/// A run that ended before its first trial has nothing to keep.
fn drop_if_empty(experiment: &Experiment, store: &Store, folder: &Path) {
    if store.is_empty() && folder.starts_with(&experiment.runs_dir) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// The seed where none was given. Seeds below 2^53 survive every JSON reader.
pub fn fallback_seed(now: Timestamp) -> u64 {
    now.as_nanosecond() as u64 & ((1 << 53) - 1)
}

/// The name of a run folder.
pub fn id(now: Timestamp, verb: &str, seed: u64) -> String {
    let mixed = (now.as_nanosecond() as u64 ^ seed.rotate_left(17))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        >> 48;
    format!("{}-{}-{mixed:04x}", now.strftime("%Y%m%d-%H%M%S"), verb)
}

/// A run by its folder, or by its name under the runs.
pub fn find(runs: &Path, run: &Path) -> PathBuf {
    if run.join("run.json").is_file() {
        run.to_owned()
    } else {
        runs.join(run)
    }
}
