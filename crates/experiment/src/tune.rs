//! The main job: baseline, candidates, race, confirmation, path, verdict.

mod answer;
mod candidates;
mod changes;
mod choose;
mod everything;
mod fleet;
mod model;
mod path;
mod rates;
mod verdict;
mod warnings;

pub(crate) use model::foreseen;
pub(crate) use warnings::{host_warnings, warn};

use crate::budget;
use crate::calibrate::calibrate;
use crate::error::Stopped;
use crate::judge::{self, Judging};
use crate::procedure::{Procedure, hopeless, last_reason};
use crate::progress::Event;
use crate::request::{Arm, Experiment};
use run::{Feasibility, SdSource, Settings, Stage, Trial};
use stats::EqualArms;
use std::collections::BTreeMap;

/// What became of each arm, by name.
type Fates = BTreeMap<String, String>;

/// Tunes; the document of the procedure's store holds the verdict afterwards.
pub fn tune(procedure: &mut Procedure<'_>) -> Result<(), Stopped> {
    let baseline = Arm::of(procedure.store.document.plan.baseline);
    procedure.expected = expected(procedure, 2);
    pilot(procedure, &baseline, budget::PILOT_TRIALS)?;
    replan(procedure)?;
    procedure.save()?;
    calibrate(procedure, &baseline)?;

    let entrants = candidates::choose(procedure)?;
    if searches(procedure.bench.experiment) {
        let winner = everything::search(procedure, &baseline, &entrants)?;
        return concluded(procedure, &baseline, Some(&winner));
    }
    let arms: Vec<Arm> = std::iter::once(baseline.clone())
        .chain(entrants.iter().map(|e| e.arm.clone()))
        .collect();
    let most = arms
        .iter()
        .map(|a| a.settings.concurrency())
        .max()
        .unwrap_or(1);
    procedure.offer(most);
    procedure.expected = expected(procedure, arms.len());
    let names = arms
        .iter()
        .map(|a| a.settings.to_string())
        .collect::<Vec<_>>()
        .join("; ");
    let plan = procedure.store.document.plan.clone();
    procedure.watcher.on(Event::Planned {
        plan: &plan,
        because: &format!("racing {names}"),
    });

    let mut fates = Fates::new();
    let survivors = race(procedure, arms.clone(), &mut fates)?;
    let challenger = choose::challenger(procedure, &survivors, &baseline);
    let Some(challenger) = challenger else {
        verdict::without_challenger(procedure, &baseline, &arms, &entrants, fates);
        return concluded(procedure, &baseline, None);
    };
    fates.insert(challenger.name.clone(), "won the race".to_owned());
    for arm in survivors
        .iter()
        .filter(|a| **a != challenger && **a != baseline)
    {
        fates
            .entry(arm.name.clone())
            .or_insert_with(|| "raced to the end".to_owned());
    }
    let steps = path::between(baseline.settings, challenger.settings);
    let confirmed = confirm(procedure, &baseline, &challenger, &steps)?;
    verdict::confirmed(
        procedure,
        &baseline,
        &challenger,
        &arms,
        &entrants,
        fates,
        confirmed,
        &steps,
    );
    concluded(procedure, &baseline, Some(&challenger))
}

/// What is measured and calculated once there is an answer.
fn concluded(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    winner: Option<&Arm>,
) -> Result<(), Stopped> {
    rates::measure(procedure, baseline, winner)?;
    if let Some(total) = procedure.bench.experiment.total {
        let document = &mut procedure.store.document;
        document.fleet = fleet::needed(document, baseline, total);
    }
    Ok(())
}

/// Whether there is more to find than the threads and workers that serve the most.
fn searches(experiment: &Experiment) -> bool {
    !experiment.knobs.is_empty() || experiment.objective.least.is_some()
}

/// The baseline against itself: its rate, where its time goes, what a trial costs, and the noise.
pub(crate) fn pilot(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    trials: u32,
) -> Result<(), Stopped> {
    procedure.offer(baseline.settings.concurrency());
    let mut block = 0;
    let mut wanted = trials;
    while block < wanted {
        block += 1;
        let first = procedure.pilot().is_empty();
        let ran = procedure.block(Stage::Pilot, block, wanted, std::slice::from_ref(baseline))?;
        if let Some(failed) = ran.iter().find(|t| !t.counts()) {
            let why = failed.reason.clone().unwrap_or_default();
            return Err(Stopped::NoAnswer(format!(
                "the baseline ({baseline}) cannot be measured: {why}"
            )));
        }
        let layout_before = &procedure.store.document.plan.pinning;
        let was_pinned = !layout_before.generator_cores.is_empty();
        if first {
            let changed = procedure.settle_pinning();
            let document = &mut procedure.store.document;
            if !document.plan.pinning.generator_cores.is_empty() {
                // Its figures belong to another layout, so the pair of equal runs begins with the next.
                wanted += 1;
            }
            if changed && !was_pinned {
                document.profile = None;
                let reason = document.plan.pinning.reason.clone();
                procedure.watcher.on(Event::Note(reason));
            }
            settle_rate(procedure, &ran[0]);
        } else if block == 2 && wanted > trials {
            procedure.store.document.plan.rate_per_s = procedure.bench.experiment.rate;
            settle_rate(procedure, &ran[0]);
        }
        if procedure.store.document.plan.rate_per_s.is_none() {
            return Err(Stopped::NoAnswer(format!(
                "the baseline answered nothing within a window of {:.1} s; give longer windows with --window or --budget",
                procedure.store.document.plan.timing.saturation_s
            )));
        }
    }
    Ok(())
}

fn settle_rate(procedure: &mut Procedure<'_>, trial: &Trial) {
    let measured = trial
        .capacity_per_s()
        .map(|capacity| crate::trial::OBJECTIVE_LOAD * capacity);
    let plan = &mut procedure.store.document.plan;
    plan.rate_per_s = plan.rate_per_s.or(measured).filter(|rate| *rate > 0.0);
}

/// Fits the rest into the budget, now that a trial's cost and the noise are known.
fn replan(procedure: &mut Procedure<'_>) -> Result<(), Stopped> {
    let experiment = procedure.bench.experiment;
    let seed = procedure.store.document.seed;
    let capacities: Vec<f64> = procedure
        .pilot()
        .iter()
        .rev()
        .take(2)
        .filter_map(|t| t.capacity_per_s())
        .collect();
    let ratio: Vec<f64> = capacities
        .windows(2)
        .map(|pair| (pair[1] / pair[0]).ln())
        .collect();
    let budget_s = procedure.store.document.plan.budget_s;
    let resumed = procedure.store.resuming();
    if let (Some(budget_s), Some(fixed_s), false) = (budget_s, procedure.overhead_s(), resumed) {
        let overhead = budget::Overhead {
            fixed_s,
            warmup_s: 0.0,
        };
        let wishes = budget::Wishes {
            most_arms: experiment.max_arms,
            blocks: experiment.blocks,
            window_s: experiment.window.map(|w| w.as_secs_f64()),
            pilot_trials: experiment.calibrating_trials(),
        };
        let with_search = experiment.objective.latency.is_some();
        let spent_s = procedure.elapsed_s();
        let shape = budget::fit_with_search(budget_s, spent_s, with_search, overhead, wishes)
            .map_err(|short| too_short_after_pilot(procedure, budget_s, fixed_s, short))?;
        let plan = &mut procedure.store.document.plan;
        plan.timing = shape.timing;
        plan.race_blocks = shape.race_blocks;
        plan.blocks = shape.blocks;
        plan.arms = shape.arms as u32;
    }
    if searches(experiment) {
        everything::retime(procedure);
    }
    let plan = &mut procedure.store.document.plan;
    // A calibration comes after the pilot, and says again what can be found.
    let equal_arms = EqualArms {
        log_ratios: &ratio,
        answers: judge::answers_a_window(&capacities, &plan.timing),
    };
    plan.detectable = judge::foreseen(
        plan.blocks,
        plan.alpha,
        equal_arms,
        0.0,
        SdSource::Pilot,
        seed,
    );
    Ok(())
}

/// A budget that the real cost of a trial proves too short.
pub(crate) fn too_short_after_pilot(
    procedure: &Procedure<'_>,
    budget_s: f64,
    overhead_s: f64,
    short: budget::TooShort,
) -> Stopped {
    let least_s = (short.least_s + procedure.elapsed_s()).ceil();
    let (blocks, _) = crate::session::blocks_asked(procedure.bench.experiment.calibrate);
    Stopped::Configuration(format!(
        "--budget = {budget_s:.0}s: a trial of this application takes {overhead_s:.1} s beside its windows, so \
         {blocks} need {least_s:.0}s; give --budget {least_s:.0}s or more"
    ))
}

fn expected(procedure: &Procedure<'_>, arms: usize) -> u32 {
    let plan = &procedure.store.document.plan;
    let calibrating = procedure.bench.experiment.calibrating_trials();
    budget::PILOT_TRIALS + calibrating + plan.race_blocks * arms as u32 + plan.blocks * 2
}

/// Races all arms; those that break a limit, lose clearly or fail twice leave. The baseline stays to the end.
fn race(
    procedure: &mut Procedure<'_>,
    mut arms: Vec<Arm>,
    fates: &mut Fates,
) -> Result<Vec<Arm>, Stopped> {
    let blocks = procedure.store.document.plan.race_blocks;
    let baseline = arms[0].clone();
    for block in 1..=blocks {
        procedure.block(Stage::Race, block, blocks, &arms)?;
        let document = &procedure.store.document;
        let trials = &document.trials;
        let mut leaving: BTreeMap<String, String> = BTreeMap::new();
        let mut infeasible = Vec::new();
        for arm in &arms {
            if let Some(reason) = hopeless(trials, Stage::Race, &arm.name) {
                if *arm == baseline {
                    let why = format!(
                        "the baseline ({}) cannot be measured: {reason}",
                        arm.settings
                    );
                    return Err(Stopped::NoAnswer(why));
                }
                leaving.insert(arm.name.clone(), format!("failed: {}", first_line(&reason)));
                continue;
            }
            let mine: Vec<&Trial> = trials
                .iter()
                .filter(|t| t.stage == Stage::Race && t.arm == arm.name && t.counts())
                .collect();
            let feasible = judge::feasibility(&mine, &document.plan.objective, document.seed);
            if feasible.standing == Feasibility::Breaks {
                infeasible.push(arm.name.clone());
                if *arm != baseline {
                    let why = feasible.why.unwrap_or_default();
                    leaving.insert(arm.name.clone(), format!("breaks a limit: {why}"));
                }
            }
        }
        // An arm that breaks a limit leads nobody, the baseline included.
        let live: Vec<Arm> = arms
            .iter()
            .filter(|a| !leaving.contains_key(&a.name) && !infeasible.contains(&a.name))
            .cloned()
            .collect();
        let rule = stats::RaceRule {
            margin: document.plan.margin,
            ..stats::RaceRule::default()
        };
        if let Ok(step) = stats::step(&judge::so_far(trials, Stage::Race, &live), &rule) {
            for dropped in step.dropped.iter().filter(|d| live[d.arm] != baseline) {
                let leader = step
                    .leader
                    .map(|l| live[l].settings.to_string())
                    .unwrap_or_default();
                leaving.insert(
                    live[dropped.arm].name.clone(),
                    format!("left the race after block {block}: behind {leader}"),
                );
            }
        }
        for (name, fate) in leaving {
            procedure.watcher.on(Event::Note(format!("{name}: {fate}")));
            arms.retain(|a| a.name != name);
            fates.insert(name, fate);
        }
        if arms.len() == 1 {
            break;
        }
    }
    Ok(arms)
}

/// A confirmation of which no block counts.
fn unconfirmed(trials: &[Trial]) -> Stopped {
    Stopped::NoAnswer(format!(
        "not one block of the confirmation could be measured whole: {}",
        last_reason(trials)
    ))
}

/// What a log's dozen lines begin with.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The winner meets the baseline on fresh blocks; steps of the path join them when the budget has room.
fn confirm(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    challenger: &Arm,
    steps: &[(String, Settings, Settings)],
) -> Result<run::Comparison, Stopped> {
    let plan = procedure.store.document.plan.clone();
    let seed = procedure.store.document.seed;
    let mut arms = vec![baseline.clone(), challenger.clone()];
    let between: Vec<Arm> = steps
        .iter()
        .map(|(_, _, to)| Arm::of(*to))
        .filter(|a| a != challenger)
        .collect();
    let earlier = procedure.store.earlier_arms(Stage::Confirm);
    let joined = if earlier.is_empty() {
        path::affordable(procedure, between.len())
    } else {
        // An earlier sitting decided it, and its blocks are to be used.
        between
            .iter()
            .any(|arm| earlier.contains(&arm.name.as_str()))
    };
    if joined {
        arms.extend(between);
    }
    procedure.expected = procedure.finished() + plan.blocks * arms.len() as u32;
    let looks = stats::looks(plan.blocks, plan.alpha, seed);
    let looks = looks.ok_or_else(|| {
        Stopped::Configuration(format!(
            "{} blocks can never decide; give at least 6",
            plan.blocks
        ))
    })?;
    let mut done = 0;
    for (index, look) in looks.iter().enumerate() {
        while done < look.blocks {
            done += 1;
            procedure.block(Stage::Confirm, done, plan.blocks, &arms)?;
        }
        let judging = Judging::at(&procedure.store.document, *look);
        let judged = judge::compare(
            &procedure.store.document.trials,
            Stage::Confirm,
            &baseline.name,
            &challenger.name,
            judging,
        );
        let Some(judged) = judged else {
            return Err(unconfirmed(&procedure.store.document.trials));
        };
        if judged.outcome != run::Outcome::Undecided || index + 1 == looks.len() {
            return Ok(judged);
        }
    }
    unreachable!("the last look always returns")
}
