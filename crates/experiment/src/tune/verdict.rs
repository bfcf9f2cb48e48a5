//! The answer: what the confirmation allows to be said, in one sentence, with what to change.

use super::answer::{self, NONE_MEETS, every_arm_breaks, standing};
use super::candidates::Entrant;
use super::changes::changes;
use super::warnings::{warn, warn_of_limits};
use super::{Fates, model, path};
use crate::judge::{self, Judging};
use crate::procedure::Procedure;
use crate::request::Arm;
use run::{
    Answer, ArmSummary, Comparison, Document, Feasibility, Headroom, Outcome, Settings, Stage,
    TrialStatus, Verdict,
};

/// Share of its capacity at which a server should get help.
pub const ADD_CAPACITY_AT: f64 = 0.8;

/// Nobody but the baseline survived the race.
pub fn without_challenger(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    arms: &[Arm],
    entrants: &[Entrant],
    fates: Fates,
) {
    let document = &mut procedure.store.document;
    summarise(document, arms, entrants, &fates);
    race_comparisons(document, baseline, arms);
    let (answer, sentence, exit_code) = if every_arm_breaks(document) {
        (Answer::NoneMeets, NONE_MEETS.to_owned(), 1)
    } else if standing(document, baseline) == Feasibility::Breaks {
        let sentence = format!(
            "No answer: {} breaks a limit, and nothing that was tried is known to keep them.",
            baseline.settings
        );
        (Answer::Undecided, sentence, 3)
    } else {
        let sentence = format!(
            "Keep {}: every other configuration tried was behind it, broke a limit or failed.",
            baseline.settings
        );
        (Answer::Keep, sentence, 0)
    };
    let headroom = headroom(document, baseline);
    document.verdict = Some(Verdict {
        headroom,
        ..Verdict::of(answer, sentence, baseline.settings, exit_code)
    });
    warn_of_limits(document, baseline);
    warn(procedure);
}

/// The challenger met the baseline.
#[allow(clippy::too_many_arguments)] // The parts of one answer, joined here and nowhere else.
pub fn confirmed(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    challenger: &Arm,
    arms: &[Arm],
    entrants: &[Entrant],
    fates: Fates,
    comparison: Comparison,
    steps: &[(String, Settings, Settings)],
) {
    let document = &mut procedure.store.document;
    summarise(document, arms, entrants, &fates);
    race_comparisons(document, baseline, arms);
    if let Some(detectable) = judge::detectable(document, &comparison) {
        document.plan.detectable = detectable;
    }
    let (answer, exit_code) = answer::answer(document, baseline, challenger, &comparison);
    let chosen = if matches!(answer, Answer::Change | Answer::Smaller) {
        challenger
    } else {
        baseline
    };
    let (changes, notes) = match chosen == challenger {
        true => changes(procedure.bench, chosen),
        false => Default::default(),
    };
    let verdict = Verdict {
        answer,
        sentence: answer::sentence(document, answer, baseline, challenger, &comparison),
        settings: chosen.settings,
        arm: Some(chosen.name.clone()),
        path: path::steps(document, steps),
        headroom: headroom(document, chosen),
        changes,
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
            "{} trials failed, the last of {}: {}",
            failed.len(),
            last.settings,
            super::first_line(last.reason.as_deref().unwrap_or_default())
        ));
    }
    let wanted = document.plan.blocks;
    if comparison.blocks < wanted && comparison.outcome == Outcome::Undecided {
        let reasons = document.trials.iter().filter(|t| !t.counts());
        let last = reasons.filter_map(|t| t.reason.clone()).next_back();
        document.warnings.push(format!(
            "only {} of {wanted} blocks could be used: {}",
            comparison.blocks,
            last.as_deref().map_or("trials failed", super::first_line)
        ));
    }
    document.comparisons.push(comparison);
    document.verdict = Some(verdict);
    document.warnings.extend(notes);
    warn_of_limits(document, chosen);
    warn(procedure);
}

fn summarise(document: &mut Document, arms: &[Arm], entrants: &[Entrant], fates: &Fates) {
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
        let because = entrants.iter().find(|e| e.arm == *arm).map(|e| e.because);
        let fate = match (fates.get(&arm.name), because) {
            (Some(fate), Some(because)) => format!("{because}; {fate}"),
            (Some(fate), None) => fate.clone(),
            (None, Some(because)) => because.to_owned(),
            (None, None) if index == 0 => "what runs today".to_owned(),
            (None, None) => "a step of the path".to_owned(),
        };
        rows.push(judge::summarise(
            arm,
            fate,
            predicted,
            &document.trials,
            &document.plan.objective,
            document.seed,
        ));
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
        deploy_overlap_bytes: 2 * summary.pss_bytes?,
    })
}
