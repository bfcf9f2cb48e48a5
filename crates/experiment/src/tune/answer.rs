//! What the confirmation allows to be said, and how it is said.

use super::choose;
use crate::request::Arm;
use run::{Answer, ArmSummary, Comparison, Document, Feasibility, Outcome, Stage, TrialStatus};

/// Most blocks that a run may have.
const MOST_BLOCKS: u32 = 24;

/// The answer and its exit code.
pub fn answer(
    document: &Document,
    baseline: &Arm,
    challenger: &Arm,
    comparison: &Comparison,
) -> (Answer, u8) {
    let (ours, theirs) = (standing(document, challenger), standing(document, baseline));
    match (ours, theirs) {
        (Feasibility::Breaks, Feasibility::Breaks) if every_arm_breaks(document) => {
            return (Answer::NoneMeets, 1);
        }
        (Feasibility::Breaks, Feasibility::Breaks) => return (Answer::Undecided, 3),
        (Feasibility::Breaks, _) => return (Answer::Keep, 0),
        // A configuration that keeps the limits beats any that does not, whatever it carries.
        (Feasibility::Meets, Feasibility::Breaks) => return (Answer::Change, 0),
        // One that may keep them is no reason yet to leave one that does, nor to trust one that does not.
        (Feasibility::Unclear, Feasibility::Breaks) => return (Answer::Undecided, 3),
        (Feasibility::Unclear, Feasibility::Meets) if comparison.outcome == Outcome::Better => {
            return (Answer::Undecided, 3);
        }
        _ => {}
    }
    // Crashes are evidence too: what survived of an arm says nothing of how it would live.
    let crashed = failures(document, challenger) > 0;
    match comparison.outcome {
        Outcome::Better | Outcome::Equivalent if crashed => (Answer::Undecided, 3),
        Outcome::Better => (Answer::Change, 0),
        Outcome::Worse => (Answer::Keep, 0),
        Outcome::Equivalent if choose::smaller(document, challenger, baseline) => {
            (Answer::Smaller, 0)
        }
        Outcome::Equivalent => (Answer::Keep, 0),
        Outcome::Undecided => (Answer::Undecided, 3),
    }
}

/// Said when every arm breaks a limit.
pub const NONE_MEETS: &str = "No configuration that was tried keeps the limits.";

/// Whether nothing that was tried keeps the limits.
pub fn every_arm_breaks(document: &Document) -> bool {
    let breaks = |arm: &ArmSummary| arm.feasible == Feasibility::Breaks || arm.trials == 0;
    document.arms.iter().all(breaks)
}

/// Trials of an arm that failed while it was being confirmed.
fn failures(document: &Document, arm: &Arm) -> usize {
    let failed = |t: &&run::Trial| {
        t.stage == Stage::Confirm && t.arm == arm.name && t.status == TrialStatus::Failed
    };
    document.trials.iter().filter(failed).count()
}

/// The answer in one sentence for a person.
pub fn sentence(
    document: &Document,
    answer: Answer,
    baseline: &Arm,
    challenger: &Arm,
    comparison: &Comparison,
) -> String {
    let percent = |ratio: f64| format!("{:.0} %", ((ratio - 1.0) * 100.0).abs());
    let interval = match (comparison.low, comparison.high) {
        (Some(low), Some(high)) => format!(
            "{:+.0} to {:+.0} %",
            (low - 1.0) * 100.0,
            (high - 1.0) * 100.0
        ),
        _ => "no interval".to_owned(),
    };
    let blocks = comparison.blocks;
    let (ours, theirs) = (challenger, baseline);
    match answer {
        Answer::Change if comparison.outcome == Outcome::Better => {
            format!(
                "Run {ours}: it carries {} more than {theirs} ({interval}, {blocks} blocks).",
                percent(comparison.ratio)
            )
        }
        Answer::Change => format!(
            "Run {ours}: it keeps the limits, which {theirs} does not (capacity {interval}, {blocks} blocks)."
        ),
        Answer::Smaller => format!(
            "Run {ours}: it carries as much as {theirs} ({interval}, {blocks} blocks) and is smaller."
        ),
        Answer::Keep if comparison.outcome == Outcome::Worse => {
            format!(
                "Keep {theirs}: the best other, {ours}, carries {} less ({interval}, {blocks} blocks).",
                percent(comparison.ratio)
            )
        }
        Answer::Keep if comparison.outcome == Outcome::Equivalent => {
            format!(
                "Keep {theirs}: the best other, {ours}, carries no more ({interval}, {blocks} blocks)."
            )
        }
        Answer::Keep => format!("Keep {theirs}: the best other, {ours}, breaks a limit."),
        Answer::NoneMeets => NONE_MEETS.to_owned(),
        Answer::Undecided | Answer::Table => {
            undecided(document, baseline, challenger, comparison, &interval)
        }
    }
}

/// Why there is no answer yet, and what would give one.
fn undecided(
    document: &Document,
    baseline: &Arm,
    challenger: &Arm,
    comparison: &Comparison,
    interval: &str,
) -> String {
    let (ours, theirs) = (challenger, baseline);
    let blocks = comparison.blocks;
    let failed = failures(document, challenger);
    if failed > 0 {
        return format!(
            "Undecided: {ours} failed in {failed} of its trials (capacity {interval} in the others); {theirs} stays until \
             it is known why."
        );
    }
    if comparison.outcome != Outcome::Undecided {
        return format!(
            "Undecided: {ours} carries {interval} against {theirs}, but whether it keeps the limits is not proven; more \
             blocks or longer windows would tell."
        );
    }
    let more = match comparison.blocks_to_decide {
        Some(more) if more <= MOST_BLOCKS => format!("about {more} blocks (--blocks) would decide"),
        Some(more) => format!(
            "about {more} blocks would decide, more than a run holds: lengthen --window, widen --margin or quieten this \
             machine"
        ),
        None => "no number of blocks would decide at this noise".to_owned(),
    };
    format!(
        "Undecided between {theirs} and {ours} ({interval}, {blocks} blocks, margin {:.0} %): {theirs} stays for now; {more}.",
        document.plan.margin * 100.0
    )
}

/// How an arm stands to the limits.
pub fn standing(document: &Document, arm: &Arm) -> Feasibility {
    document
        .arms
        .iter()
        .find(|a| a.name == arm.name)
        .map_or(Feasibility::Meets, |a| a.feasible)
}
