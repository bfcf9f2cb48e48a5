//! `tune --knobs` and `tune --least`: workers, threads and preloading, and the knobs that were named, searched together. Which
//! trials are worth having is `search`'s to say; here they are carried out and reported.

mod constraints;
mod observation;
mod space;

pub use space::Searched;

use super::candidate::CandidateArm;
use super::confirm::Confirmed;
use super::{Fates, unconfirmed, verdict};
use crate::budget;
use crate::error::Stopped;
use crate::judge::{self, Judging};
use crate::noise;
use crate::procedure::Procedure;
use crate::progress::Event;
use crate::request::Arm;
use run::{Least, Metric, Stage};
use search::{Ask, Block, Claim, Objective, Observation, Outcome, Rules, Search};
use std::collections::BTreeMap;

/// Trials that a search over several knobs has use for.
const USEFUL_TRIALS: f64 = 60.0;
/// Windows of its trials, seconds: beyond the second more trials say more than longer ones.
const WINDOWS_S: (f64, f64) = (2.0, 8.0);

/// Blocks of a race, where a plan without knobs would have none.
const LEAST_RACE_BLOCKS: u32 = 2;

/// Shortens the windows where a search has more use for trials, unless their length was given.
pub fn retime(procedure: &mut Procedure<'_>) {
    let experiment = procedure.experiment;
    let plan = &procedure.store.document.plan;
    let (Some(budget_s), Some(overhead)) = (plan.budget_s, procedure.overhead()) else {
        return;
    };
    if experiment.window.is_some() || procedure.store.resuming() {
        return;
    }
    let with_search = plan.objective.latency.is_some();
    let left_s = budget::left_for_trials(budget_s, procedure.elapsed_s(), with_search);
    let window_s = overhead.window_in(left_s / USEFUL_TRIALS);
    let window_s = window_s.clamp(WINDOWS_S.0, WINDOWS_S.1);
    procedure.store.document.plan.timing = budget::timing(window_s);
}

/// Searches, and leaves the answer in the document; the configuration that came out of it.
pub fn search(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    candidates: &[CandidateArm],
) -> Result<Arm, Stopped> {
    let searched = Searched::over(procedure, baseline, candidates)?;
    procedure.offer(searched.most_concurrency());
    let (planned, most_arms) = planned(procedure);
    let document = &procedure.store.document;
    let window_s = document.plan.timing.saturation_s;
    let rules = Rules {
        objective: match document.plan.objective.least {
            None => Objective::Throughput,
            Some(Least::Latency) => Objective::Latency,
            Some(Least::Memory) => Objective::Memory,
            Some(Least::Processes) => Objective::Processes,
        },
        margin: document.plan.margin,
        alpha: document.plan.alpha,
        allowance: document.calibration.as_ref().map_or(0.0, |c| c.allowance),
        blocks: document.plan.blocks,
        race_blocks: document.plan.race_blocks.max(LEAST_RACE_BLOCKS),
        most_arms,
        trials: Some(planned),
        noise: match document.plan.objective.metric() {
            Metric::Capacity => noise::of_earlier(document.known.as_ref()).noise_in(window_s),
            _ => None,
        },
        log_memory_limit: document
            .plan
            .objective
            .max_memory_bytes
            .map(|bytes| (bytes as f64).ln()),
    };
    let seed = document.seed;
    let proposals = searched.proposals(document);
    let mut search = Search::new(searched.space.clone(), proposals, rules, seed)
        .map_err(|e| Stopped::Configuration(format!("what was asked cannot be searched: {e}")))?;
    searched.note(&mut procedure.store.document, planned, most_arms);
    procedure.save()?;
    let before = procedure.expected;
    procedure.expect(planned);
    if let Some(overhead) = procedure.overhead()
        && let Some(note) = super::replanned(
            (before, procedure.expected),
            overhead,
            None,
            procedure.store.document.known.as_ref(),
        )
    {
        procedure.watcher.on(Event::Note(note));
    }
    let outcome = conduct(procedure, &searched, &mut search, measured)?;
    conclude(procedure, baseline, candidates, &searched, &outcome)
}

/// A block of a stage that a search asks for.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    pub stage: Stage,
    /// From 1.
    pub block: u32,
    /// Blocks that the stage has at most, as far as is known.
    pub blocks: u32,
}

/// Asks, measures and passes results on until the search is done.
pub fn conduct(
    procedure: &mut Procedure<'_>,
    searched: &Searched,
    search: &mut Search,
    mut measure: impl FnMut(
        &mut Procedure<'_>,
        Part,
        &[Arm],
    ) -> Result<Vec<Option<Observation>>, Stopped>,
) -> Result<Outcome, Stopped> {
    let mut blocks: BTreeMap<&str, u32> = BTreeMap::new();
    let mut under_way = None;
    loop {
        let block = match search.ask() {
            Ask::Done(outcome) => return Ok(*outcome),
            Ask::Block(block) => block,
        };
        if under_way != Some(block.stage) {
            under_way = Some(block.stage);
            procedure
                .watcher
                .on(Event::Note(announcement(&block, searched)));
        }
        let arms: Vec<Arm> = block.points.iter().map(|p| searched.arm(p)).collect();
        let stage = measured_as(block.stage);
        let number = blocks.entry(stage.word()).or_default();
        *number += 1;
        let part = Part {
            stage,
            block: *number,
            blocks: block.of.max(*number),
        };
        let observed = measure(procedure, part, &arms)?;
        search
            .tell(&observed)
            .map_err(|e| Stopped::NoAnswer(format!("the search cannot go on: {e}")))?;
    }
}

/// A trial of each of these.
fn measured(
    procedure: &mut Procedure<'_>,
    part: Part,
    arms: &[Arm],
) -> Result<Vec<Option<Observation>>, Stopped> {
    let trials = procedure.block(part.stage, part.block, part.blocks, arms)?;
    let document = &procedure.store.document;
    let observed = arms
        .iter()
        .map(|arm| observation::of_arm(document, &trials, arm));
    Ok(observed.collect())
}

/// The stage of the run document, which the names of trials come from.
fn measured_as(stage: search::Stage) -> Stage {
    match stage {
        search::Stage::Screen => Stage::Screen,
        search::Stage::Confirm => Stage::Confirm,
        search::Stage::Candidates
        | search::Stage::Neighbours
        | search::Stage::Race
        | search::Stage::Refine
        | search::Stage::Ablation
        | search::Stage::Together => Stage::Race,
    }
}

fn announcement(block: &Block, searched: &Searched) -> String {
    let arms = block.points.len();
    match block.stage {
        search::Stage::Candidates => format!(
            "elimination rounds of {} that the model picked",
            run::counted(arms, "configuration")
        ),
        search::Stage::Neighbours => "trying what lies next to the best of them".to_owned(),
        search::Stage::Screen => format!(
            "trying {} knobs at once, each run followed by one with the opposite values",
            searched.screened()
        ),
        // Nothing comes before it.
        search::Stage::Race if searched.is_of_command() => format!(
            "elimination rounds of {}",
            run::counted(arms, "configuration")
        ),
        search::Stage::Race => format!(
            "elimination rounds of {} that this suggests",
            run::counted(arms, "configuration")
        ),
        search::Stage::Refine => {
            "trying what all trials together promise most of, next to the best".to_owned()
        }
        search::Stage::Ablation => "measuring the best without each of its changes".to_owned(),
        search::Stage::Together => "elimination rounds of those changes together".to_owned(),
        search::Stage::Confirm => {
            "deciding comparison of the winner with what runs today, in new blocks".to_owned()
        }
    }
}

/// Trials that the budget holds in addition to the search of rates at the end, and the arms of a race at most; those of an
/// earlier sitting's plan where it has measured by it, so that the same is asked again.
fn planned(procedure: &Procedure<'_>) -> (u32, usize) {
    let store = &procedure.store;
    let document = &store.document;
    let measured = [Stage::Race, Stage::Screen]
        .into_iter()
        .any(|stage| !store.earlier_arms(stage).is_empty());
    if let Some(search) = document.search.as_ref().filter(|_| measured) {
        return (search.planned_trials, search.most_arms as usize);
    }
    let asked = procedure.experiment.max_arms;
    let most_arms = asked.unwrap_or(budget::MOST_ARMS);
    let plan = &document.plan;
    let (Some(budget_s), Some(trial_s)) = (plan.budget_s, procedure.planned_trial_s()) else {
        return (USEFUL_TRIALS as u32, most_arms);
    };
    let with_search = plan.objective.latency.is_some();
    let left_s = budget::left_for_trials(budget_s, procedure.elapsed_s(), with_search);
    ((left_s / trial_s).max(0.0) as u32, most_arms)
}

fn conclude(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    candidates: &[CandidateArm],
    searched: &Searched,
    outcome: &Outcome,
) -> Result<Arm, Stopped> {
    let winner = searched.arm(&outcome.winner);
    let mut arms = vec![baseline.clone()];
    let mut fates = Fates::new();
    for fate in &outcome.fates {
        let arm = searched.arm(&fate.point);
        fates.insert(
            arm.name.clone(),
            searched.fate(fate, &procedure.store.document),
        );
        if !arms.contains(&arm) {
            arms.push(arm);
        }
    }
    if !arms.contains(&winner) {
        arms.push(winner.clone());
    }
    let trial_s = procedure.planned_trial_s().unwrap_or(0.0);
    searched.found(&mut procedure.store.document, outcome, trial_s);
    if winner == *baseline || matches!(outcome.claim, Claim::BaselineBest | Claim::NoneMeets) {
        verdict::without_challenger(procedure, baseline, &arms, candidates, fates);
        return Ok(winner);
    }
    let document = &procedure.store.document;
    let comparison = judge::compare(
        &document.trials,
        Stage::Confirm,
        &baseline.name,
        &winner.name,
        Judging::reached(document, Stage::Confirm),
    )
    .ok_or_else(|| unconfirmed(&document.trials))?;
    let raced = verdict::Raced {
        arms: &arms,
        candidates,
        fates,
    };
    let confirmed = Confirmed {
        challenger: winner.clone(),
        comparison,
        second: None,
    };
    verdict::confirmed(procedure, baseline, raced, confirmed);
    let document = &mut procedure.store.document;
    let metric = document.plan.objective.metric();
    let path = searched.path(outcome, metric, baseline, &winner);
    if let Some(verdict) = &mut document.verdict {
        verdict.path = path;
    }
    Ok(winner)
}
