//! `compare`, `sweep` and `tune` with `--workload-command`: a command in each arm's environment, in blocks, instead of a server
//! that answers requests. It compares the wall time of the runs and the memory of their processes.

mod answer;
mod best;
mod judged;
mod once;
mod sampler;
mod search;

pub use search::most;

use crate::bench::Bench;
use crate::budget;
use crate::error::Stopped;
use crate::procedure::{Procedure, drop_hopeless};
use crate::progress::Event;
use crate::request::{Arm, Experiment, WorkloadCommand};
use crate::tune::Part;
use once::Asked;
use run::{CommandRun, CommandRuns, Document, Kind, MemoryMeasure, Stage, Timing};
use std::path::Path;

/// Runs of each arm by default.
pub const BLOCKS: u32 = 10;

/// A command sends no requests.
pub const NO_WINDOWS: Timing = Timing {
    warmup_max_s: 0.0,
    saturation_s: 0.0,
    objective_s: 0.0,
};

/// Failures of an arm without one success after which it is given up.
const HOPELESS: usize = 2;

/// The run document's part before the first run; `None` where a server is measured.
pub fn asked_for(experiment: &Experiment) -> Option<CommandRuns> {
    let command = experiment.workload_command.as_ref()?;
    Some(CommandRuns {
        command: knobs::shown_command(&command.text),
        timeout_s: command.timeout.as_secs_f64(),
        sample_every_s: sampler::EVERY.as_secs_f64(),
        measure: MemoryMeasure::Pss,
        runs: Vec::new(),
        arms: Vec::new(),
        comparisons: Vec::new(),
    })
}

/// The plan in words.
pub fn planned(document: &Document, command: &CommandRuns) -> String {
    let plan = &document.plan;
    let work = match document.kind {
        Kind::Tune => format!(
            "elimination rounds of up to {} and up to {} of the deciding comparison, with runs",
            run::counted(plan.arms, "configuration"),
            run::counted(plan.blocks, "block")
        ),
        _ => format!(
            "{} of {}",
            run::counted(plan.blocks, "block"),
            run::counted(plan.arms, "run")
        ),
    };
    let budget = plan.budget_s.map_or_else(String::new, |budget_s| {
        format!("; budget {}", budget::written(budget_s))
    });
    format!(
        "plan: {work} of {:?}, in the {} environment, each of {:.0} s at most{budget}",
        command.command, plan.environment, command.timeout_s
    )
}

/// A command, and what runs it once, into a folder.
struct Runner<'r> {
    command: &'r WorkloadCommand,
    once: &'r dyn Fn(&Asked<'_>, &Path) -> Result<CommandRun, Stopped>,
}

/// Finds the values of knobs with which it takes the least time.
pub fn tune(
    procedure: &mut Procedure<'_>,
    bench: &Bench<'_>,
    command: &WorkloadCommand,
) -> Result<(), Stopped> {
    let watcher = procedure.watcher;
    let once = |asked: &Asked<'_>, folder: &Path| once::run(bench, asked, folder, watcher);
    let once = &once;
    search::tune(procedure, &Runner { command, once })
}

/// Runs the command in all arms, block by block, and judges at the end of them: the number of runs is fixed beforehand.
pub fn compare(
    procedure: &mut Procedure<'_>,
    bench: &Bench<'_>,
    command: &WorkloadCommand,
    arms: &[Arm],
) -> Result<(), Stopped> {
    let watcher = procedure.watcher;
    let once = |asked: &Asked<'_>, folder: &Path| once::run(bench, asked, folder, watcher);
    let once = &once;
    let runner = Runner { command, once };
    let blocks = procedure.store.document.plan.blocks;
    procedure.expected = arms.len() as u32 * blocks;
    let mut live = arms.to_vec();
    for block in 1..=blocks {
        let part = Part {
            stage: Stage::Compare,
            block,
            blocks,
        };
        run_block(procedure, &runner, part, (arms, &live))?;
        let found = runs(procedure);
        let why = |arm: &str| hopeless(found, arm).map(str::to_owned);
        drop_hopeless(procedure, &mut live, why)?;
        procedure.expected = found.len() as u32 + (blocks - block) * live.len() as u32;
        if live.len() < 2 {
            break;
        }
    }
    answer::conclude(procedure, arms)
}

/// One run in every arm that is left of all, in random order.
fn run_block(
    procedure: &mut Procedure<'_>,
    runner: &Runner<'_>,
    part: Part,
    (all, arms): (&[Arm], &[Arm]),
) -> Result<(), Stopped> {
    let Part {
        stage,
        block,
        blocks,
    } = part;
    let seed = procedure.block_seed(stage, block);
    let order = stats::block_orders(arms.len(), 1, seed).swap_remove(0);
    for (place, index) in order.into_iter().enumerate() {
        if procedure.watcher.cancelled() {
            return Err(Stopped::Interrupted);
        }
        let arm = &arms[index];
        let called = arm.to_string();
        let finished = runs(procedure).len() as u32;
        let expected = procedure.expected.max(finished + 1);
        let walls: Vec<f64> = runs(procedure).iter().map(|run| run.wall_s).collect();
        procedure.watcher.on(Event::Trial {
            stage,
            block,
            blocks,
            called: &called,
            finished,
            expected,
            left_s: stats::summary::mean(&walls)
                .map(|run_s| f64::from(expected - finished) * run_s),
        });
        let asked = Asked {
            id: procedure.store.trial_id(stage, block, &arm.name),
            command: runner.command,
            arm,
            stage,
            block,
            place: place as u32 + 1,
            started_s: procedure.elapsed_s(),
        };
        let folder = procedure.store.folder().trial_dir(&asked.id)?;
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let run = (runner.once)(&asked, &folder)?;
        let called = called.as_str();
        procedure.watcher.on(Event::Ran { run: &run, called });
        if let Some(command) = &mut procedure.store.document.command {
            command.runs.push(run);
        }
        answer::so_far(procedure, all);
        procedure.save()?;
    }
    Ok(())
}

fn runs<'a>(procedure: &'a Procedure<'_>) -> &'a [CommandRun] {
    let command = procedure.store.document.command.as_ref();
    command.map_or(&[], |command| command.runs.as_slice())
}

/// Why the last run that failed did; empty where none failed.
fn last_failure(runs: &[CommandRun]) -> &str {
    let mut latest_first = runs.iter().rev();
    let failed = latest_first.find_map(|run| run.failed.as_deref());
    failed.unwrap_or_default()
}

/// Why an arm is given up: its runs have all failed, two of them or more.
fn hopeless<'a>(runs: &'a [CommandRun], arm: &str) -> Option<&'a str> {
    let mine: Vec<&CommandRun> = runs.iter().filter(|run| run.arm == arm).collect();
    let failed = mine.iter().filter(|run| !run.counts()).count();
    if failed < HOPELESS || failed < mine.len() {
        return None;
    }
    mine.last()?.failed.as_deref()
}
