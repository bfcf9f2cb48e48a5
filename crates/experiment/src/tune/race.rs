//! The race: blocks of the baseline and the candidates, which drop arms and prove nothing. Once trials contradict the model, the
//! arms of its blocks come from what was measured.

use super::candidate::CandidateArm;
use super::candidates;
use super::contradiction::{self, FEWEST_ARMS, contradiction, measured};
use super::{Fates, confirming, first_line, offer, path};
use crate::error::Stopped;
use crate::judge;
use crate::procedure::{Procedure, hopeless};
use crate::progress::Event;
use crate::request::Arm;
use run::{Contradiction, Document, Feasibility, Settings, Stage, Trial};
use std::collections::{BTreeMap, BTreeSet};

/// Blocks that the neighbours of what was measured get at least, where the budget has room.
const BLOCKS_OF_NEIGHBOURS: u32 = 2;

/// How the race ended.
#[derive(Debug)]
pub struct Raced {
    /// The arms that did not leave it, the baseline among them.
    pub survivors: Vec<Arm>,
    /// All that were in it.
    pub arms: Vec<Arm>,
    /// Why the others than the baseline were.
    pub candidates: Vec<CandidateArm>,
}

/// Races all arms; those that break a limit, lose clearly or fail twice leave. The baseline stays to the end.
pub fn race(
    procedure: &mut Procedure<'_>,
    first: Vec<Arm>,
    candidates: Vec<CandidateArm>,
    fates: &mut Fates,
) -> Result<Raced, Stopped> {
    let points = candidates::points(procedure)?;
    let mut blocks = procedure.store.document.plan.race_blocks;
    let mut running = first.clone();
    let mut raced = Raced {
        survivors: first.clone(),
        arms: first,
        candidates,
    };
    let mut contradicted: Option<Contradiction> = None;
    let mut block = 0;
    while block < blocks {
        block += 1;
        procedure.block(Stage::Race, block, blocks, &running)?;
        let leading = drop_arms(procedure, block, &mut raced.survivors, fates)?;
        running.retain(|arm| raced.survivors.contains(arm));
        let before = contradicted;
        if contradicted.is_none() {
            let document = &procedure.store.document;
            let seen = measured(document, &raced.arms[0], &raced.arms);
            contradicted = contradiction(document, &seen, block);
        }
        if let Some(found) = &mut contradicted {
            let next = beside_the_best(procedure, &raced, &leading, &points, found);
            let wanted = found.block + BLOCKS_OF_NEIGHBOURS;
            if !next.is_empty() && block == blocks && block < wanted {
                blocks += u32::from(has_room(procedure, block + 1, next.len()));
            }
            if !next.is_empty() && block < blocks {
                (found.followed, found.all_tried) = (true, None);
                raced.enter(&next);
                offer(procedure, &raced.arms);
                running = next;
            } else if !found.followed {
                found.all_tried = Some(next.is_empty());
            }
        }
        if contradicted != before {
            note(procedure, contradicted);
        }
        if running.len() == 1 {
            break;
        }
        procedure.expect((blocks - block) * running.len() as u32 + confirming(procedure));
    }
    Ok(raced)
}

/// In how many of the rounds an arm was: the neighbours of a good one come later, and a round may be full.
pub fn rounds(document: &Document, arm: &Arm) -> String {
    let all = rounds_of(document, |_| true);
    let mine = rounds_of(document, |trial| trial.arm == arm.name);
    match mine == all {
        true => "in all elimination rounds".to_owned(),
        false => format!("in {mine} of {all} elimination rounds"),
    }
}

/// The number of rounds with a trial of this kind that counts.
pub fn rounds_of(document: &Document, of: impl Fn(&Trial) -> bool) -> usize {
    let trials = document.trials.iter();
    let race = trials.filter(|t| t.stage == Stage::Race && t.counts() && of(t));
    race.map(|t| t.block).collect::<BTreeSet<u32>>().len()
}

impl Raced {
    /// Adds what was not in the race before.
    fn enter(&mut self, arms: &[Arm]) {
        for arm in arms {
            if !self.arms.contains(arm) {
                self.arms.push(arm.clone());
                self.survivors.push(arm.clone());
                self.candidates.push(CandidateArm {
                    arm: arm.clone(),
                    because: "next to the best that was measured",
                });
            }
        }
    }
}

/// Drops the arms that have nothing more to say. What is left and breaks no limit: an arm that breaks one leads no other, the
/// baseline included.
fn drop_arms(
    procedure: &Procedure<'_>,
    block: u32,
    arms: &mut Vec<Arm>,
    fates: &mut Fates,
) -> Result<Vec<Arm>, Stopped> {
    let entered = arms.clone();
    let baseline = arms[0].clone();
    let document = &procedure.store.document;
    let trials = &document.trials;
    let mut leaving: BTreeMap<String, String> = BTreeMap::new();
    let mut infeasible = Vec::new();
    for arm in arms.iter() {
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
        let feasible = judge::feasibility(&mine, document);
        if feasible.standing == Feasibility::Breaks {
            infeasible.push(arm.name.clone());
            if *arm != baseline {
                leaving.insert(arm.name.clone(), feasible.fate());
            }
        }
    }
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
                format!("eliminated after round {block}: behind {leader}"),
            );
        }
    }
    for (name, fate) in leaving {
        if let Some(arm) = entered.iter().find(|arm| arm.name == name) {
            let called = arm.called_among(&entered);
            let note = format!("{called}: {fate}");
            procedure.watcher.on(Event::Note(note));
        }
        arms.retain(|a| a.name != name);
        fates.insert(name, fate);
    }
    Ok(live.into_iter().filter(|arm| arms.contains(arm)).collect())
}

/// Notes in the document, and for the watcher, the contradictions of the model.
fn note(procedure: &mut Procedure<'_>, found: Option<Contradiction>) {
    if let Some(model) = &mut procedure.store.document.model {
        model.contradiction = found;
    }
    if let Some(found) = found {
        procedure.watcher.on(Event::Note(found.to_string()));
    }
}

/// The arms of the next block; none where all neighbours of the best were tried.
fn beside_the_best(
    procedure: &Procedure<'_>,
    raced: &Raced,
    leading: &[Arm],
    points: &[Settings],
    found: &Contradiction,
) -> Vec<Arm> {
    let document = &procedure.store.document;
    let baseline = &raced.arms[0];
    let tried: Vec<Settings> = raced.arms.iter().map(|arm| arm.settings).collect();
    let most = procedure.experiment.max_arms;
    let next = contradiction::next(
        &measured(document, baseline, leading),
        baseline.settings,
        &tried,
        points,
        document.plan.margin,
        found.measured_per_s < found.predicted_per_s,
        most.unwrap_or((document.plan.arms as usize).max(FEWEST_ARMS)),
    );
    next.into_iter().map(Arm::of).collect()
}

/// Whether one more block of so many arms fits into the budget; one that an earlier sitting began does.
fn has_room(procedure: &Procedure<'_>, block: u32, arms: usize) -> bool {
    let plan = &procedure.store.document.plan;
    let confirming = (1 + plan.finalists.unwrap_or(1)) * plan.blocks;
    procedure.store.has_earlier(Stage::Race, block)
        || path::has_room(procedure, arms as u32 + confirming)
}
