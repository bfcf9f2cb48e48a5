//! `tune` with `--workload-command`: the values of knobs with which the command takes the least time. The search says which runs it
//! wants, as for servers; this module carries them out.

use super::{NO_WINDOWS, Runner, best, judged, run_block, runs};
use crate::budget::{self, Shape};
use crate::error::Stopped;
use crate::procedure::Procedure;
use crate::progress::Event;
use crate::request::{Arm, Experiment};
use crate::tune::{Part, Searched, conduct};
use ::search::{Observation, Proposals, Rules, Search, SearchError, Standing};
use run::{CommandRun, MemoryMeasure, Metric, Stage};

/// Blocks of an elimination round: two show that an arm is behind, the third is for what they leave open.
const RACE_BLOCKS: u32 = 3;

/// Blocks of the deciding comparison, by what the budget holds.
const BLOCKS: std::ops::RangeInclusive<u32> = 6..=9;

/// What is planned before the first run has shown how long one takes.
pub fn most(experiment: &Experiment) -> Shape {
    let values: usize = experiment.knobs.iter().map(|knob| knob.values.len()).sum();
    let arms = experiment.max_arms.unwrap_or(usize::MAX);
    Shape {
        arms: arms.min(1 + values),
        race_blocks: RACE_BLOCKS,
        blocks: experiment.blocks.unwrap_or(*BLOCKS.end()),
        finalists: 1,
        timing: NO_WINDOWS,
    }
}

/// Searches; the document of the procedure's store holds the verdict afterwards.
pub fn tune(procedure: &mut Procedure<'_>, runner: &Runner<'_>) -> Result<(), Stopped> {
    let searched = Searched::of_command(procedure, &runner.command.today)?;
    let baseline = searched.arm(&searched.space.baseline());
    procedure.store.document.plan.baseline_environment = procedure.trials.environment(&baseline);
    let note = format!("baseline: {baseline} (--baseline sets another)");
    procedure.watcher.on(Event::Note(note));
    let mut arms = vec![baseline];
    let run_s = pilot(procedure, runner, &arms)?;
    let mut search = planned(procedure, &searched, run_s)?;
    procedure.save()?;
    let mut memory = None;
    let outcome = conduct(
        procedure,
        &searched,
        &mut search,
        |procedure, part, block| {
            let new: Vec<Arm> = block
                .iter()
                .filter(|arm| !arms.contains(arm))
                .cloned()
                .collect();
            arms.extend(new);
            run_block(procedure, runner, part, (&arms, block))?;
            let found = runs(procedure);
            // The same figure of all, whatever a later run lacks.
            let memory = *memory.get_or_insert_with(|| judged::measure(found));
            let of_arm = |arm: &Arm| {
                let mut found = found.iter().filter(|run| run.counts());
                found.find(|run| {
                    (run.stage, run.block, &run.arm) == (part.stage, part.block, &arm.name)
                })
            };
            let seen = block.iter().map(|arm| observed(of_arm(arm)?, memory));
            Ok(seen.collect())
        },
    )?;
    searched.found(&mut procedure.store.document, &outcome, run_s);
    best::conclude(procedure, &searched, &outcome, &arms)
}

/// What runs today, once: what a run takes. Seconds, with what comes before and after it.
fn pilot(
    procedure: &mut Procedure<'_>,
    runner: &Runner<'_>,
    baseline: &[Arm],
) -> Result<f64, Stopped> {
    let plan = &procedure.store.document.plan;
    procedure.expected = 1 + plan.arms * RACE_BLOCKS + 2 * plan.blocks;
    let began_s = procedure.elapsed_s();
    let part = Part {
        stage: Stage::Pilot,
        block: 1,
        blocks: 1,
    };
    run_block(procedure, runner, part, (baseline, baseline))?;
    if let Some(why) = runs(procedure).iter().find_map(|run| run.failed.as_deref()) {
        return Err(Stopped::NoAnswer(format!(
            "{} cannot be measured: {why}",
            baseline[0]
        )));
    }
    Ok(procedure.elapsed_s() - began_s)
}

/// The search that fits into what is left of the budget.
fn planned(
    procedure: &mut Procedure<'_>,
    searched: &Searched,
    run_s: f64,
) -> Result<Search, Stopped> {
    let experiment = procedure.experiment;
    let spent_s = procedure.elapsed_s();
    let document = &mut procedure.store.document;
    let shape = most(experiment);
    let arms = shape.arms.min(1 + searched.values()).max(2);
    let of_race = arms as u32 * RACE_BLOCKS;
    let budget_s = document.plan.budget_s.unwrap_or(budget::DEFAULT_S);
    let left_s = budget::left_for_trials(budget_s, spent_s, false);
    let trials = (left_s / run_s).max(0.0) as u32;
    let fits = |blocks: &u32| of_race + 2 * blocks <= trials;
    let blocks = experiment.blocks.unwrap_or_else(|| {
        let richest = BLOCKS.rev().find(fits);
        richest.unwrap_or(*BLOCKS.start())
    });
    let rules = Rules {
        margin: document.plan.margin,
        alpha: document.plan.alpha,
        blocks,
        race_blocks: RACE_BLOCKS,
        most_arms: arms,
        trials: Some(trials),
        ..Rules::default()
    };
    let (space, proposals) = (searched.space.clone(), Proposals::default());
    let search = Search::new(space, proposals, rules, document.seed).map_err(|why| match why {
        SearchError::TooFewTrials { least, .. } => {
            let work_s = spent_s + f64::from(least) * run_s;
            Stopped::Configuration(format!(
                "{}: too short for {least} runs, the fewest that can decide, as one takes {run_s:.1} s; give --budget {} or more, or make the \
                 command do less",
                budget::named(experiment.budget_asked.as_deref()),
                budget::written(budget::holding(work_s, false))
            ))
        }
        why => Stopped::Configuration(format!("what was asked cannot be searched: {why}")),
    })?;
    (document.plan.arms, document.plan.blocks) = (arms as u32, blocks);
    // A noisy race has up to twice its blocks.
    let most = match searched.has_one_knob() {
        true => trials.min(2 * of_race + 2 * blocks),
        false => trials,
    };
    searched.note(document, most, arms);
    procedure.expected = 1 + most;
    let note = format!(
        "a run takes {run_s:.1} s: up to {most} more, with {} of the deciding comparison",
        run::counted(blocks, "block")
    );
    procedure.watcher.on(Event::Note(note));
    Ok(search)
}

/// Runs a second in place of requests; no limit is given that a run could break.
fn observed(run: &CommandRun, memory: MemoryMeasure) -> Option<Observation> {
    let peak = judged::figure(run, Metric::PeakMemory, memory);
    Some(Observation {
        log_throughput: (run.wall_s > 0.0).then(|| -run.wall_s.ln())?,
        log_latency: None,
        log_memory: peak.filter(|bytes| *bytes > 0.0).map(f64::ln),
        processes: 1,
        threads: 1,
        standing: Standing::Meets,
    })
}

#[cfg(test)]
mod tests;
