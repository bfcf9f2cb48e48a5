//! The answer: what the confirmation allows to be said, in one sentence, with what to change.

use super::answer::{self, every_arm_breaks, limits, limits_and_why, none_meets, standing};
use super::candidate::CandidateArm;
use super::candidates::reason;
use super::confirm::Confirmed;
use super::warnings::{warn, warn_of_ends, warn_of_limits};
use super::{Fates, model, path};
use crate::judge::{self, Judging};
use crate::procedure::Procedure;
use crate::rates::ADD_CAPACITY_AT;
use crate::request::Arm;
use run::{
    Answer, ArmSummary, Comparison, Document, Feasibility, Headroom, Metric, Outcome, Stage,
    TrialStatus, Verdict,
};

/// Only the baseline survived the race.
pub fn without_challenger(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    arms: &[Arm],
    candidates: &[CandidateArm],
    fates: Fates,
) {
    let document = &mut procedure.store.document;
    summarise(document, arms, candidates, &fates);
    race_comparisons(document, baseline, arms);
    let (answer, sentence, exit_code) = if every_arm_breaks(document) {
        (Answer::NoneMeets, none_meets(document), 1)
    } else if standing(document, baseline) == Feasibility::Breaks {
        let (breaks, keeps) = match answer::fails(document, &baseline.name) {
            false => (
                format!("breaks a limit {}", limits_and_why(document, baseline)),
                "keep the limits",
            ),
            true => ("fails too many of its requests".to_owned(), "answer them"),
        };
        let sentence = format!(
            "No answer: {} {breaks}, and nothing that was tried is known to {keeps}.",
            baseline.settings
        );
        (Answer::Undecided, sentence, 3)
    } else {
        let sentence = format!(
            "Keep {}: every other configuration that was tried {}.",
            baseline.settings,
            behind_for(document, baseline)
        );
        let sentence = answer::with_unseen_limit(document, baseline, sentence);
        (Answer::Keep, sentence, 0)
    };
    let headroom = headroom(document, baseline);
    document.verdict = Some(Verdict {
        headroom,
        arm: Some(baseline.name.clone()),
        ..Verdict::of(answer, sentence, baseline.settings, exit_code)
    });
    warn_of_limits(document, baseline);
    warn(procedure);
}

/// Why none of the others is left, in what really happened.
fn behind_for(document: &Document, baseline: &Arm) -> String {
    let others = document.arms.iter().filter(|arm| arm.name != baseline.name);
    let (mut behind, mut broke, mut answered_too_few, mut failed) = (false, false, false, false);
    for arm in others {
        match arm.feasible {
            _ if arm.trials == 0 => failed = true,
            Feasibility::Breaks if answer::fails(document, &arm.name) => answered_too_few = true,
            Feasibility::Breaks => broke = true,
            _ => behind = true,
        }
    }
    let broke_words = format!("broke a limit ({})", limits(document));
    let words = [
        (behind, "was not ahead of it"),
        (broke, &broke_words),
        (answered_too_few, "failed too many of its requests"),
        (failed, "failed"),
    ];
    let words: Vec<&str> = words.iter().filter(|w| w.0).map(|w| w.1).collect();
    match words.as_slice() {
        [] => "was not ahead of it".to_owned(),
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        words => words.concat(),
    }
}

/// The race, for the rows of the answer.
#[derive(Debug)]
pub struct Raced<'a> {
    pub arms: &'a [Arm],
    pub candidates: &'a [CandidateArm],
    pub fates: Fates,
}

/// The finalists met the baseline; which of them the answer rests on.
pub fn confirmed(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    mut raced: Raced<'_>,
    confirmed: Confirmed,
) -> Arm {
    let document = &mut procedure.store.document;
    if let Some(second) = &confirmed.second {
        let fate = raced.fates.entry(second.arm.name.clone()).or_default();
        fate.push_str(", then in the deciding comparison with the winner");
    }
    summarise(document, raced.arms, raced.candidates, &raced.fates);
    race_comparisons(document, baseline, raced.arms);
    let confirmed = confirmed.withdrawn(&document.trials);
    let (challenger, comparisons) = picked(document, baseline, confirmed);
    let comparison = comparisons[0].clone();
    if let Some(detectable) = judge::detectable(document, &comparison) {
        document.plan.detectable = detectable;
    }
    let (answer, exit_code) = answer::answer(document, baseline, &challenger, &comparison);
    let chosen = if matches!(answer, Answer::Change | Answer::Smaller) {
        &challenger
    } else {
        baseline
    };
    let (changes, by_hand) = match *chosen == challenger {
        true => procedure.trials.changes(chosen),
        false => Default::default(),
    };
    let verdict = Verdict {
        answer,
        sentence: answer::sentence(document, answer, baseline, &challenger, &comparison),
        settings: chosen.settings,
        arm: Some(chosen.name.clone()),
        path: path::steps(
            document,
            &path::between(baseline.settings, challenger.settings),
        ),
        not_isolated: Vec::new(),
        headroom: headroom(document, chosen),
        changes,
        by_hand,
        blocks_to_decide: comparison
            .blocks_to_decide
            .filter(|_| answer == Answer::Undecided),
        exit_code,
    };
    let failed = document
        .trials
        .iter()
        .filter(|t| t.status == TrialStatus::Failed);
    let failed: Vec<&run::Trial> = failed.collect();
    if let Some(last) = failed.last() {
        document.warnings.push(format!(
            "{} failed, the last of {}: {}",
            run::counted(failed.len(), "trial"),
            last.settings,
            super::first_line(last.reason.as_deref().unwrap_or_default())
        ));
    }
    let wanted = document.plan.blocks;
    if comparison.blocks < wanted && comparison.outcome == Outcome::Undecided {
        let reasons = document.trials.iter().filter(|t| !t.counts());
        let last = reasons.filter_map(|t| t.reason.clone()).next_back();
        document.warnings.push(format!(
            "only {} of {} could be used: {}",
            comparison.blocks,
            run::counted(wanted, "block"),
            last.as_deref().map_or("trials failed", super::first_line)
        ));
    }
    document.memory = judge::in_addition(document, &comparisons, Metric::Memory);
    document.comparisons.extend(comparisons);
    document.verdict = Some(verdict);
    warn_of_limits(document, chosen);
    warn_of_ends(document, procedure.experiment, chosen);
    warn(procedure);
    challenger
}

/// The finalist that the answer rests on, and all deciding comparisons, its own with the baseline first. The winner of the race
/// is not left for the second on account of its estimate: the second has to be shown to be better than what it replaces.
fn picked(document: &Document, baseline: &Arm, confirmed: Confirmed) -> (Arm, Vec<Comparison>) {
    let Confirmed {
        challenger,
        comparison,
        second,
    } = confirmed;
    let Some(mut second) = second else {
        return (challenger, vec![comparison]);
    };
    let better = |of: &Comparison| of.outcome == Outcome::Better;
    let of_both = second.holds && better(&comparison);
    second.against_baseline.not_claimed = better(&second.against_baseline) && !second.holds;
    second.against_first.not_claimed = better(&second.against_first) && !of_both;
    let changes = |arm: &Arm, comparison: &Comparison| {
        answer::answer(document, baseline, arm, comparison).0 == Answer::Change
    };
    // That it keeps limits which the baseline breaks is no claim of the test.
    let may_be_claimed = second.holds || second.against_baseline.outcome != Outcome::Better;
    let instead = !changes(&challenger, &comparison)
        || second.holds && second.against_first.outcome == Outcome::Better;
    if instead && may_be_claimed && changes(&second.arm, &second.against_baseline) {
        let comparisons = vec![second.against_baseline, comparison, second.against_first];
        return (second.arm, comparisons);
    }
    let comparisons = vec![comparison, second.against_baseline, second.against_first];
    (challenger, comparisons)
}

fn summarise(document: &mut Document, arms: &[Arm], candidates: &[CandidateArm], fates: &Fates) {
    let mut rows: Vec<ArmSummary> = Vec::new();
    let tried = document
        .trials
        .iter()
        .filter(|t| t.stage == Stage::Confirm && t.environment.is_empty())
        .map(|t| Arm::of(t.settings));
    let mut all = arms.to_vec();
    for arm in tried {
        if !all.contains(&arm) {
            all.push(arm);
        }
    }
    for (index, arm) in all.iter().enumerate() {
        let predicted = match arm.overlay.is_empty() {
            true => model::foreseen(document, arm.settings),
            // The model knows what the pilot ran with.
            false => None,
        };
        let candidate = candidates.iter().find(|e| e.arm == *arm);
        let because = candidate.map(|candidate| reason(document, candidate));
        let fate = match (fates.get(&arm.name), because) {
            (Some(fate), Some(because)) => format!("{because}; {fate}"),
            (Some(fate), None) => fate.clone(),
            (None, Some(because)) => because,
            (None, None) if index == 0 => "what runs today".to_owned(),
            (None, None) => "a step of the path".to_owned(),
        };
        rows.push(judge::summarise(arm, fate, predicted, document));
    }
    let score = model::score(&rows);
    if let Some(model) = &mut document.model {
        model.score = score;
    }
    document.arms = rows;
}

/// What the race saw of each arm, for the reader; no claim rests on it.
fn race_comparisons(document: &mut Document, baseline: &Arm, arms: &[Arm]) {
    let judging = Judging::once(document);
    let found = arms.iter().filter(|a| *a != baseline).filter_map(|a| {
        judge::compare(
            &document.trials,
            Stage::Race,
            &baseline.name,
            &a.name,
            judging,
        )
    });
    document.comparisons = found.collect();
}

fn headroom(document: &Document, arm: &Arm) -> Option<Headroom> {
    // Where too many requests are late at the common rate, no rate is known to plan with.
    if answer::late(document, arm).is_some() {
        return None;
    }
    let summary = document.arms.iter().find(|a| a.name == arm.name)?;
    let capacity = summary.capacity_per_s.filter(|c| *c > 0.0)?;
    let boots: Vec<f64> = document
        .trials
        .iter()
        .filter(|t| t.arm == arm.name && t.counts())
        .filter_map(|t| t.boot_s)
        .collect();
    Some(Headroom {
        utilisation_at_rate: document.plan.rate_per_s.unwrap_or(0.0) / capacity,
        add_capacity_at_per_s: ADD_CAPACITY_AT * capacity,
        boot_s: stats::summary::median(&boots)?,
        deploy_overlap_bytes: match summary.growth {
            Some(_) => None,
            None => Some(2 * summary.pss_bytes?),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::confirm::Second;
    use Outcome::{Better, Equivalent, Undecided, Worse};

    /// The second finalist: its outcomes against the baseline and the winner of the race, whether it may be claimed, and its
    /// limits.
    type Beside = (Outcome, Outcome, bool, Feasibility);

    /// The index of the finalist that the answer rests on, and whether the answer is to change.
    fn picked_of(first: Outcome, (second, over_first, holds, feasible): Beside) -> (usize, bool) {
        let mut document = crate::sample::document("tune");
        document.plan.objective.latency = None;
        document.trials.clear();
        let mut row = document.arms[1].clone();
        (row.failed, row.trials) = (0, 6);
        let arms = [1, 4, 6].map(|threads| {
            Arm::of(run::Settings {
                threads,
                ..row.settings
            })
        });
        let rows = arms.iter().map(|arm| ArmSummary {
            name: arm.name.clone(),
            settings: arm.settings,
            feasible: Feasibility::Meets,
            ..row.clone()
        });
        document.arms = rows.collect();
        document.arms[2].feasible = feasible;
        let model = document.comparisons.last().unwrap().clone();
        let told = |outcome, of: &Arm, with: &Arm| Comparison {
            outcome,
            baseline: with.name.clone(),
            candidate: of.name.clone(),
            ..model.clone()
        };
        let confirmed = Confirmed {
            challenger: arms[1].clone(),
            comparison: told(first, &arms[1], &arms[0]),
            second: Some(Second {
                arm: arms[2].clone(),
                against_baseline: told(second, &arms[2], &arms[0]),
                against_first: told(over_first, &arms[2], &arms[1]),
                holds,
            }),
        };
        let (picked, comparisons) = picked(&document, &arms[0], confirmed);
        assert_eq!(comparisons.len(), 3);
        // What the rule of two finalists does not allow is marked.
        let claims = [
            (&arms[0], second == Better && !holds),
            (
                &arms[1],
                over_first == Better && !(holds && first == Better),
            ),
        ];
        for (baseline, expected) in claims {
            let mut beside = comparisons.iter();
            let beside =
                beside.find(|c| c.baseline == baseline.name && c.candidate == arms[2].name);
            assert_eq!(
                beside.unwrap().not_claimed,
                expected,
                "{first:?} {second:?} {over_first:?} {holds}"
            );
        }
        let answer = answer::answer(&document, &arms[0], &picked, &comparisons[0]).0;
        let at = arms.iter().position(|arm| *arm == picked).unwrap();
        (at, answer == Answer::Change)
    }

    #[test]
    fn no_memory_for_two_deploys_follows_from_memory_that_grows() {
        let mut document = crate::sample::document("tune");
        let arm = Arm::of(document.arms[0].settings);
        let row = document.arms.iter_mut().find(|row| row.name == arm.name);
        let row = row.unwrap();
        (row.growth, row.pss_bytes) = (None, Some(100 << 20));
        let found = headroom(&document, &arm).unwrap();
        assert_eq!(found.deploy_overlap_bytes, Some(200 << 20));
        let row = document.arms.iter_mut().find(|row| row.name == arm.name);
        row.unwrap().growth = Some(crate::sample::growth());
        let found = headroom(&document, &arm).unwrap();
        assert_eq!(found.deploy_overlap_bytes, None);
    }

    #[test]
    fn the_winner_of_the_race_is_left_only_for_what_may_be_claimed() {
        let meets = Feasibility::Meets;
        let cases = [
            // Shown to be better than the winner, and not.
            (Better, (Better, Better, true, meets), (2, true)),
            (Better, (Better, Undecided, true, meets), (1, true)),
            (Better, (Better, Equivalent, true, meets), (1, true)),
            (Better, (Undecided, Better, false, meets), (1, true)),
            // Where the winner turns out to be no better.
            (Equivalent, (Better, Better, true, meets), (2, true)),
            (Worse, (Better, Undecided, true, meets), (2, true)),
            (Undecided, (Better, Better, false, meets), (1, false)),
            (Undecided, (Undecided, Better, false, meets), (1, false)),
            // What breaks a limit replaces nothing.
            (
                Better,
                (Better, Better, true, Feasibility::Breaks),
                (1, true),
            ),
            (
                Undecided,
                (Better, Better, true, Feasibility::Unclear),
                (1, false),
            ),
        ];
        for (first, beside, expected) in cases {
            assert_eq!(picked_of(first, beside), expected, "{first:?} {beside:?}");
        }
    }
}
