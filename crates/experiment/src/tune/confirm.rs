//! The finalists meet the baseline on fresh blocks; steps of the path join them when the budget has room.

mod arms;
mod by_noise;

use super::choose::Finalists;
use super::{path, unconfirmed};
use crate::budget::{self, Confirmation};
use crate::error::Stopped;
use crate::judge::{self, Judging};
use crate::procedure::{Procedure, hopeless};
use crate::progress::Event;
use crate::proof::{looks_once, proving_s};
use crate::request::Arm;
use arms::{Choice, Room};
use run::{Comparison, Document, Outcome, Stage, Trial};
use std::collections::BTreeMap;

/// What the confirmation has shown.
#[derive(Debug, Clone)]
pub struct Confirmed {
    /// The winner of the race.
    pub challenger: Arm,
    /// Of the winner with the baseline.
    pub comparison: Comparison,
    /// The second finalist, where there was room for one.
    pub second: Option<Second>,
}

impl Confirmed {
    /// Without claims about what fails its requests.
    pub fn withdrawn(self, trials: &[Trial]) -> Confirmed {
        let withdrawn = |comparison| judge::withdrawn(trials, comparison);
        Confirmed {
            comparison: withdrawn(self.comparison),
            second: self.second.map(|second| Second {
                against_baseline: withdrawn(second.against_baseline),
                against_first: withdrawn(second.against_first),
                ..second
            }),
            ..self
        }
    }
}

/// The best of the others, in the same blocks.
#[derive(Debug, Clone)]
pub struct Second {
    pub arm: Arm,
    pub against_baseline: Comparison,
    pub against_first: Comparison,
    /// Whether it may be claimed to be better than the baseline.
    pub holds: bool,
}

/// Measures the blocks and judges them at each look, until both finalists are decided.
pub fn confirm(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    finalists: &Finalists,
) -> Result<Confirmed, Stopped> {
    let arms = arms(procedure, baseline, finalists);
    let plan = procedure.store.document.plan.clone();
    let seed = procedure.store.document.seed;
    procedure.expect(plan.blocks * arms.len() as u32);
    let looks = stats::looks(plan.blocks, plan.alpha, seed);
    let looks = looks.ok_or_else(|| {
        Stopped::Configuration(format!(
            "{} blocks can never decide; give at least 6",
            plan.blocks
        ))
    })?;
    let second = finalists.second.as_ref().filter(|arm| arms.contains(arm));
    let mut judged = Judged::default();
    let mut done = 0;
    for look in looks {
        while done < look.blocks {
            if done == by_noise::FIRST_BLOCKS {
                by_noise::retime(procedure, &arms);
            }
            done += 1;
            procedure.block(Stage::Confirm, done, plan.blocks, &arms)?;
            give_up(procedure, &arms[..2])?;
        }
        let document = &procedure.store.document;
        let judging = Judging::at(document, look);
        judged.judge(document, (baseline, &finalists.challenger, second), judging);
        if judged.decided(second.is_some()) {
            break;
        }
    }
    let document = &procedure.store.document;
    let comparison = judged.first.ok_or_else(|| unconfirmed(&document.trials))?;
    let parts = second.zip(judged.second.zip(judged.second_over_first));
    let second = parts.map(|(arm, (against_baseline, against_first))| {
        let three = (baseline, &finalists.challenger, arm);
        Second {
            holds: holds(document, three, &comparison, &against_baseline),
            arm: arm.clone(),
            against_baseline,
            against_first,
        }
    });
    Ok(Confirmed {
        challenger: finalists.challenger.clone(),
        comparison,
        second,
    })
}

/// Ends a comparison that cannot decide: every trial of one of the two failed.
fn give_up(procedure: &Procedure<'_>, two: &[Arm]) -> Result<(), Stopped> {
    let trials = &procedure.store.document.trials;
    let failed = two
        .iter()
        .find_map(|arm| Some((arm, hopeless(trials, Stage::Confirm, &arm.name)?)));
    failed.map_or(Ok(()), |(arm, reason)| {
        Err(Stopped::NoAnswer(format!(
            "{arm} cannot be measured: {reason}"
        )))
    })
}

/// Fewest blocks that can decide.
const LEAST_BLOCKS: u32 = 6;

/// The arms of each block, with the blocks fitted into what is left of the budget.
fn arms(procedure: &mut Procedure<'_>, baseline: &Arm, finalists: &Finalists) -> Vec<Arm> {
    let earlier = procedure.store.earlier_arms(Stage::Confirm);
    let choice = Choice {
        baseline,
        finalists,
        planned: procedure.store.document.plan.finalists,
        earlier: earlier.into_iter().map(str::to_owned).collect(),
    };
    let wanted = choice.wanted();
    let room = fit(procedure, &wanted, choice.is_begun());
    let cost_s = |arm: &Arm| beside_windows_s(procedure, arm);
    let arms = choice.taken(wanted, &room, &cost_s);
    if let Some(finalists) = choice.finalists_of(&arms) {
        procedure.store.document.plan.finalists = Some(finalists);
    }
    arms
}

/// Seconds that a trial of the arm takes in addition to its windows.
fn beside_windows_s(procedure: &Procedure<'_>, arm: &Arm) -> Option<f64> {
    let timing = &procedure.store.document.plan.timing;
    let windows_s = timing.saturation_s + timing.objective_s;
    Some((procedure.trial_of_s(arm)? - windows_s).max(0.0))
}

/// Fits the blocks of these arms, of which the third is the second finalist, into what is left of the budget. Says so where
/// they take longer.
fn fit(procedure: &mut Procedure<'_>, arms: &[Arm], begun: bool) -> Room {
    let plan = &procedure.store.document.plan;
    let Some(budget_s) = plan.budget_s else {
        return Room(None);
    };
    let has_one_look = looks_once(plan.blocks, plan.alpha, procedure.store.document.seed);
    let asked = procedure.experiment.blocks.is_some();
    // A look that was taken fixes those to come, and a number that follows the results would bias them.
    let may_have_fewer = !begun && !asked && has_one_look;
    let done = match begun {
        true => {
            let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
            procedure.store.whole_blocks(Stage::Confirm, &names)
        }
        false => 0,
    };
    let always = if begun { arms.len() } else { 2 };
    let as_planned = confirmation(procedure, arms, always, done);
    let planned = Confirmation {
        least_blocks: match may_have_fewer {
            true => LEAST_BLOCKS,
            false => plan.blocks,
        },
        proving_s: as_planned.proving_s.filter(|_| !begun && has_one_look),
        ..as_planned
    };
    let left_s = budget_s - procedure.elapsed_s();
    let with_search_s = path::left_s(procedure).unwrap_or(left_s);
    // Each is a simulation.
    let needed_s: BTreeMap<u32, f64> = (planned.least()..=planned.blocks)
        .filter_map(|blocks| Some((blocks, by_noise::needed_s(procedure, blocks)?)))
        .collect();
    let needed_s = |blocks| needed_s.get(&blocks).copied();
    let fitted = planned.fitted(with_search_s, left_s, &|blocks| {
        needed_s(blocks).filter(|_| !begun)
    });
    let over_s = fitted.seconds() - left_s;
    if let Some(needed_s) = needed_s(fitted.blocks) {
        by_noise::note(procedure, &planned, &fitted, needed_s);
    }
    let plan = &mut procedure.store.document.plan;
    plan.blocks = fitted.blocks;
    let room = Room(Some((fitted, with_search_s)));
    if over_s >= 1.0 {
        procedure.watcher.on(Event::Note(format!(
            "the run takes about {over_s:.0} s longer than --budget: {} of the deciding comparison are left, {}",
            run::counted(fitted.blocks.saturating_sub(done), "block"),
            why_no_fewer(fitted.blocks, asked, begun)
        )));
    }
    if fitted.window_s != planned.window_s {
        procedure.store.document.plan.timing = budget::timing(fitted.window_s);
    }
    room
}

/// The blocks of these arms as planned, of which `done` are measured. The arm after the first `always` may be left out.
fn confirmation(procedure: &Procedure<'_>, arms: &[Arm], always: usize, done: u32) -> Confirmation {
    let plan = &procedure.store.document.plan;
    let cost_s = |arm: &Arm| beside_windows_s(procedure, arm).unwrap_or(0.0);
    Confirmation {
        blocks: plan.blocks,
        least_blocks: plan.blocks,
        done,
        always: always as u32,
        second: arms.len() > always,
        window_s: plan.timing.saturation_s,
        may_vary: procedure.experiment.window.is_none(),
        proving_s: proving_s(plan),
        shortest_s: by_noise::shortest_s(procedure),
        always_s: arms[..always].iter().map(cost_s).sum(),
        second_s: arms.get(always).map_or(0.0, cost_s),
    }
}

/// Why the deciding comparison has not fewer blocks.
fn why_no_fewer(blocks: u32, asked: bool, begun: bool) -> &'static str {
    match (asked, begun) {
        _ if blocks <= LEAST_BLOCKS => "and fewer would give no answer",
        (true, _) => "and their number was asked for",
        (false, true) => "and their number stays once the comparison has begun",
        (false, false) => "and their number is fixed by the looks that were planned",
    }
}

/// The comparisons so far. A decision stands: to look at it again would be another chance to err.
#[derive(Debug, Default)]
struct Judged {
    first: Option<Comparison>,
    second: Option<Comparison>,
    second_over_first: Option<Comparison>,
}

impl Judged {
    fn judge(
        &mut self,
        document: &Document,
        (baseline, first, second): (&Arm, &Arm, Option<&Arm>),
        judging: Judging,
    ) {
        let judge = |open: &mut Option<Comparison>, baseline: &Arm, candidate: &Arm| {
            if open
                .as_ref()
                .is_none_or(|c| c.outcome == Outcome::Undecided)
            {
                let (trials, stage) = (&document.trials, Stage::Confirm);
                *open = judge::compare(trials, stage, &baseline.name, &candidate.name, judging);
            }
        };
        judge(&mut self.first, baseline, first);
        if let Some(second) = second {
            judge(&mut self.second, baseline, second);
            judge(&mut self.second_over_first, first, second);
        }
    }

    /// Whether more blocks would change no answer.
    fn decided(&self, with_second: bool) -> bool {
        let open =
            |of: &Option<Comparison>| of.as_ref().is_none_or(|c| c.outcome == Outcome::Undecided);
        let second_open = open(&self.second) || open(&self.second_over_first);
        !(open(&self.first) || with_second && second_open)
    }
}

/// Whether the second finalist may be claimed to be better than the baseline; see [`stats::Second`].
fn holds(
    document: &Document,
    (baseline, first, second): (&Arm, &Arm, &Arm),
    comparison: &Comparison,
    against_baseline: &Comparison,
) -> bool {
    let reached = Judging::reached(document, Stage::Confirm);
    let names = [baseline, first, second].map(|arm| arm.name.as_str());
    let (best_in, blocks) = judge::best_of_three(&document.trials, Stage::Confirm, names, reached);
    let left = match reached.allowance > 0.0 {
        // Chance is no longer one in three where equal arms were seen to differ.
        true => 0.0,
        false => stats::left_over(&reached.look, comparison.blocks),
    };
    let second = stats::Second {
        first_differs: matches!(comparison.outcome, Outcome::Better | Outcome::Worse),
        better: against_baseline.outcome == Outcome::Better,
        best_in,
        blocks,
        left,
    };
    second.holds()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_blocks_would_give_no_answer_only_at_the_least() {
        let no_answer = "and fewer would give no answer";
        for (asked, begun) in [(false, false), (true, false), (false, true), (true, true)] {
            assert_eq!(why_no_fewer(LEAST_BLOCKS, asked, begun), no_answer);
            assert_ne!(why_no_fewer(LEAST_BLOCKS + 1, asked, begun), no_answer);
        }
    }
}
