//! `compare` and `sweep` with `--workload-command`: a command in each arm's environment, in blocks, instead of a server that
//! is asked. The comparison is of the wall time of its runs and the memory of its processes.

mod answer;
mod judged;
mod once;
mod sampler;

use crate::bench::Bench;
use crate::error::Stopped;
use crate::procedure::{Procedure, drop_hopeless};
use crate::progress::Event;
use crate::request::{Arm, Experiment, WorkloadCommand};
use once::Asked;
use run::{CommandRun, CommandRuns, MemoryMeasure, Plan, Stage};

/// Runs of each arm by default.
pub const BLOCKS: u32 = 10;

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
pub fn planned(plan: &Plan, command: &CommandRuns) -> String {
    format!(
        "plan: {} of {} of {:?}, in the {} environment, each of {:.0} s at most",
        run::counted(plan.blocks, "block"),
        run::counted(plan.arms, "run"),
        command.command,
        plan.environment,
        command.timeout_s
    )
}

/// Runs the command in all arms, block by block, and judges at the end of them: the number of runs is fixed beforehand.
pub fn compare(
    procedure: &mut Procedure<'_>,
    bench: &Bench<'_>,
    command: &WorkloadCommand,
    arms: &[Arm],
) -> Result<(), Stopped> {
    let blocks = procedure.store.document.plan.blocks;
    procedure.expected = arms.len() as u32 * blocks;
    let mut live = arms.to_vec();
    for block in 1..=blocks {
        run_block(procedure, bench, command, block, (arms, &live))?;
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
    bench: &Bench<'_>,
    command: &WorkloadCommand,
    block: u32,
    (all, arms): (&[Arm], &[Arm]),
) -> Result<(), Stopped> {
    let blocks = procedure.store.document.plan.blocks;
    let seed = procedure.block_seed(Stage::Compare, block);
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
            stage: Stage::Compare,
            block,
            blocks,
            called: &called,
            finished,
            expected,
            left_s: stats::summary::mean(&walls)
                .map(|run_s| f64::from(expected - finished) * run_s),
        });
        let asked = Asked {
            id: procedure.store.trial_id(Stage::Compare, block, &arm.name),
            command,
            arm,
            block,
            place: place as u32 + 1,
            started_s: procedure.elapsed_s(),
        };
        let folder = procedure.store.folder().trial_dir(&asked.id)?;
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let run = once::run(bench, &asked, &folder, procedure.watcher)?;
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

/// Why an arm is given up: its runs have all failed, two of them or more.
fn hopeless<'a>(runs: &'a [CommandRun], arm: &str) -> Option<&'a str> {
    let mine: Vec<&CommandRun> = runs.iter().filter(|run| run.arm == arm).collect();
    let failed = mine.iter().filter(|run| !run.counts()).count();
    if failed < HOPELESS || failed < mine.len() {
        return None;
    }
    mine.last()?.failed.as_deref()
}
