//! `tune`, `compare`, `sweep` and `check`: from arguments to a run folder and its page.

use super::junit::{JunitFile, Suite};
use super::{image, installation, markdown};
use crate::args::{CommandArgs, CompareArgs, ExperimentArgs, SideBySideArgs, SweepArgs, TuneArgs};
use crate::progress::Terminal;
use crate::signals::Signals;
use crate::{Failure, asked, output, resumed};
use experiment::config::{self, Asked, Problem, Request, parse_baseline, resolve, server_kind};
use experiment::{Arm, Experiment, Goal, Stopped, Store, Watcher};
use jiff::Timestamp;
use run::{Document, Kind, Typed};
use std::path::Path;

/// `powerband tune`.
pub fn tune(args: TuneArgs) -> Result<u8, Failure> {
    let (request, problems) =
        asked::request(&args.experiment, Some(&args), args.baseline.as_ref())?;
    let request = of_command(&args.command).or(request);
    conduct(
        &args.experiment,
        request,
        Kind::Tune,
        Ok(Goal::Tune),
        problems,
        Files::default(),
    )
}

/// `powerband compare`.
pub fn compare(args: CompareArgs) -> Result<u8, Failure> {
    if !args.log.shadow_log.is_empty() {
        return super::duplex::compare(&args);
    }
    super::duplex::refuse_what_is_of_a_log(&args.log)?;
    let (mut request, mut problems) = asked::request(&args.experiment, None, None)?;
    request = of_command(&args.side_by_side.command).or(request);
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
        Files::of(&args.side_by_side),
    )
}

/// `powerband sweep`.
pub fn sweep(args: SweepArgs) -> Result<u8, Failure> {
    let (mut request, mut problems) =
        asked::request(&args.experiment, None, args.baseline.as_ref())?;
    request = of_command(&args.side_by_side.command).or(request);
    request.rehearse = rehearsal(&args.side_by_side);
    let values = args.sweep.unwrap_or_default();
    let asked = [Asked::new(&values, "sweep")];
    problems.extend(of_servers(&request, asked.into_iter()));
    let goal = asked::swept(&values, &otherwise(&request));
    conduct(
        &args.experiment,
        request,
        Kind::Sweep,
        goal,
        problems,
        Files::of(&args.side_by_side),
    )
}

fn rehearsal(args: &SideBySideArgs) -> Option<Asked> {
    args.rehearse.then(|| Asked::new("true", "--rehearse"))
}

/// The command that is run instead of a server; with it a file's requests are not asked.
fn of_command(args: &CommandArgs) -> Request {
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

/// The knobs that an arm does not name. `resolve` reports a baseline or a server that makes no sense.
pub fn otherwise(request: &Request) -> Arm {
    let defaults = Arm::of(server_kind(request).defaults());
    let baseline = request.baseline.as_ref();
    baseline
        .and_then(|asked| parse_baseline(asked, &defaults).ok())
        .unwrap_or(defaults)
}

/// The cgroup's memory limit, where it is below what the machine has.
fn cgroup_memory_bytes() -> Option<u64> {
    let limit = host::cores::memory_limit().ok().flatten();
    let total_bytes = host::cores::memory().ok()?.total_bytes;
    limit.filter(|limit| *limit < total_bytes)
}

/// The files that a run writes in addition to its folder.
#[derive(Debug, Clone, Copy, Default)]
pub struct Files<'a> {
    pub markdown: Option<&'a Path>,
    pub junit: Option<&'a Path>,
}

impl Files<'_> {
    fn of(args: &SideBySideArgs) -> Files<'_> {
        Files {
            markdown: args.markdown.as_deref(),
            junit: None,
        }
    }
}

pub fn conduct(
    args: &ExperimentArgs,
    request: Request,
    kind: Kind,
    goal: Result<Goal, Vec<Problem>>,
    mut problems: Vec<Problem>,
    files: Files<'_>,
) -> Result<u8, Failure> {
    // Errors in the arms are reported together with errors elsewhere.
    let goal = goal.unwrap_or_else(|found| {
        problems.extend(found);
        let arms = Vec::new();
        Goal::Arms { kind, arms }
    });
    let now = Timestamp::now();
    let request = Request {
        cgroup_memory_bytes: cgroup_memory_bytes(),
        ..request
    };
    let resumed_run = args.resume.as_ref().and_then(Option::as_ref);
    let resolved = match resumed_run {
        Some(_) => resolve(request, goal, fallback_seed(now)),
        None => experiment::resolve_new(request, goal, fallback_seed(now)),
    };
    let resolved = resolved.map_err(|found| problems.extend(found));
    let Some(mut experiment) = resolved.ok().filter(|_| problems.is_empty()) else {
        return Err(asked::failure(&problems));
    };
    // Before a plan is shown and a folder made.
    experiment::check_application(&experiment).map_err(|stopped| explain(&stopped))?;
    if let Some(path) = files.markdown {
        markdown::try_to_write(path)?;
    }
    let junit = JunitFile::asked(files.junit)?;
    asked::tell_notes(&experiment.recording_notes);
    let signals = Signals::taken()?;
    let is_new = !experiment.runs_dir.exists();
    let store = match resumed_run {
        Some(run) => {
            let folder = run::runs::find(&experiment.runs_dir, run);
            experiment::resume(&mut experiment, &folder)
        }
        None => experiment::begin(
            &experiment,
            &now.to_string(),
            &id(now, kind.verb(), experiment.seed),
        ),
    };
    let store = store.map_err(|stopped| explain(&stopped))?;
    if let (None, Some(typed)) = (&args.resume, resumed::typed()) {
        keep_typed(&experiment.runs_dir, &store, &typed)?;
    }
    let folder = store.folder().path().to_owned();
    let terminal = Terminal::new(signals.clone(), args.speech.quiet);
    terminal.on(experiment::Event::Note(format!(
        "run folder: {}",
        folder.display()
    )));
    note_image(&experiment, is_new, &terminal);
    let installation = installation(args.gem.as_ref());
    let (store, result) = experiment::conduct(&experiment, store, &installation, &terminal);
    terminal.finish();
    let reported = junit.map_or(Ok(()), |file| {
        let why = result.as_ref().err().map(ToString::to_string);
        report(file, &experiment, &store.document, why.as_deref())
    });
    match result {
        Ok(()) => {
            // The answer first: a disk that is full takes nothing from it.
            let code = shown(&store, args)?;
            reported?;
            if let Some(path) = files.markdown {
                let page = report::experiment_markdown(&store.document, &markdown::typed());
                markdown::write(path, &page)?;
            }
            if !args.speech.quiet {
                output::say(&format!(
                    "with charts, as one file for a browser: powerband report --html {}",
                    folder.display()
                ));
            }
            Ok(code)
        }
        Err(Stopped::Interrupted) => {
            let signal = signals.received().unwrap_or(2);
            let goes_on = match store.document.command {
                Some(_) => String::new(),
                None => format!("; go on with: {}", resumed::how(kind.verb(), &folder)),
            };
            output::say(&format!(
                "interrupted; what was measured is in {}{goes_on}",
                folder.display()
            ));
            Ok(128 + signal)
        }
        Err(stopped) => {
            if args.resume.is_none() {
                drop_if_empty(&experiment.runs_dir, &store);
            }
            Err(explain(&stopped))
        }
    }
}

/// `no_answer`: why the run decided nothing.
fn report(
    file: JunitFile,
    experiment: &Experiment,
    document: &Document,
    no_answer: Option<&str>,
) -> Result<(), Failure> {
    let suite = Suite {
        name: document.kind.verb(),
        started_at: &document.started_at,
        elapsed_s: document.elapsed_s,
        assertions: &experiment::asserted(document, &experiment.assertions),
    };
    file.write(&suite, no_answer).map_err(Failure::usage)
}

fn shown(store: &Store, args: &ExperimentArgs) -> Result<u8, Failure> {
    let document = &store.document;
    output::document(document, args.speech.json, args.full)?;
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

/// Says which line keeps run folders out of a container image, once: where the folder of runs is new.
pub fn note_image(experiment: &Experiment, is_new: bool, terminal: &Terminal) {
    if is_new && let Some(note) = image::note(&experiment.app_dir, &experiment.runs_dir) {
        terminal.on(experiment::Event::Note(note));
    }
}

/// Writes what was typed; without it, nothing is measured and no folder stays.
fn keep_typed(runs: &Path, store: &Store, typed: &Typed) -> Result<(), Failure> {
    store.folder().write_typed(typed).map_err(|why| {
        drop_if_empty(runs, store);
        Failure::usage(why.to_string())
    })
}

/// A run that ended before its first trial has nothing to keep.
fn drop_if_empty(runs: &Path, store: &Store) {
    let folder = store.folder().path();
    if store.is_empty() && folder.starts_with(runs) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use run::Folder;

    const SAMPLE: &str = include_str!("../../../../contract/samples/run/tune.json");

    #[test]
    fn where_the_command_line_cannot_be_written_no_folder_stays() {
        let runs = tempfile::tempdir().unwrap();
        let folder = Folder::create(runs.path(), "20261120-214512-tune-1f3a").unwrap();
        let path = folder.path().to_owned();
        std::fs::create_dir(path.join("typed.json")).unwrap();
        let mut document: Document = serde_json::from_str(SAMPLE).unwrap();
        document.trials.clear();
        let store = Store::create(folder, document).unwrap();
        let typed = Typed {
            verb: "tune".to_owned(),
            directory: Path::new("/srv/shop").to_owned(),
            given: std::collections::BTreeMap::new(),
            withheld: Vec::new(),
        };
        let failed = keep_typed(runs.path(), &store, &typed).unwrap_err();
        assert!(failed.message.contains("typed.json"), "{}", failed.message);
        assert!(!path.exists());
    }
}
