//! What the confirmation allows to be said, and how it is said.

use super::choose;
use crate::request::Arm;
use run::{
    Answer, ArmSummary, Comparison, Document, Feasibility, Metric, Outcome, Stage, TrialStatus,
};

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
    let Words {
        ahead,
        behind,
        level,
        none,
    } = words(comparison);
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
            format!("Run {ours}: it {ahead} than {theirs} ({interval}, {blocks} blocks).")
        }
        Answer::Change => format!(
            "Run {ours}: it keeps the limits, which {theirs} does not ({} {interval}, {blocks} blocks).",
            called(comparison.metric)
        ),
        Answer::Smaller => {
            format!("Run {ours}: it {level} {theirs} ({interval}, {blocks} blocks) and is smaller.")
        }
        Answer::Keep if comparison.outcome == Outcome::Worse => {
            format!(
                "Keep {theirs}: the best other, {ours}, {behind} ({interval}, {blocks} blocks)."
            )
        }
        Answer::Keep if comparison.outcome == Outcome::Equivalent => {
            format!("Keep {theirs}: the best other, {ours}, {none} ({interval}, {blocks} blocks).")
        }
        Answer::Keep => format!("Keep {theirs}: the best other, {ours}, breaks a limit."),
        Answer::NoneMeets => NONE_MEETS.to_owned(),
        Answer::Undecided | Answer::Table => {
            undecided(document, baseline, challenger, comparison, &interval)
        }
    }
}

/// How one configuration stands to another.
struct Words {
    /// Better than it, and worse.
    ahead: String,
    behind: String,
    /// As good as it, and no better.
    level: &'static str,
    none: &'static str,
}

fn words(comparison: &Comparison) -> Words {
    let percent = format!("{:.0} %", ((comparison.ratio - 1.0) * 100.0).abs());
    match comparison.metric {
        Metric::ResponseTime => Words {
            ahead: format!("answers 95 % of its requests within {percent} less time"),
            behind: format!("takes {percent} longer for 95 % of its requests"),
            level: "is as quick as",
            none: "is no quicker",
        },
        Metric::Memory => Words {
            ahead: format!("needs {percent} less memory"),
            behind: format!("needs {percent} more memory"),
            level: "needs as much memory as",
            none: "needs no less memory",
        },
        Metric::Processes => Words {
            ahead: format!("runs {percent} fewer processes"),
            behind: format!("runs {percent} more processes"),
            level: "runs as many processes as",
            none: "runs no fewer processes",
        },
        _ => Words {
            ahead: format!("carries {percent} more"),
            behind: format!("carries {percent} less"),
            level: "carries as much as",
            none: "carries no more",
        },
    }
}

/// What is compared, in the middle of a sentence.
fn called(metric: Metric) -> &'static str {
    match metric {
        Metric::Capacity => "capacity",
        other => other.words(),
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
            "Undecided: {ours} failed in {failed} of its trials ({} {interval} in the others); {theirs} stays until it is \
             known why.",
            called(comparison.metric)
        );
    }
    if comparison.outcome != Outcome::Undecided {
        return format!(
            "Undecided: {ours} against {theirs}: {} {interval}, but whether it keeps the limits is not proven; more blocks or \
             longer windows would tell.",
            called(comparison.metric)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn told(metric: Metric, outcome: Outcome, answer: Answer) -> String {
        let document = crate::sample::document("tune");
        let mut comparison = document.comparisons.last().unwrap().clone();
        (comparison.metric, comparison.outcome) = (metric, outcome);
        (comparison.ratio, comparison.blocks) = (0.6, 9);
        (comparison.low, comparison.high) = (Some(0.55), Some(0.65));
        let [today, other] = [0, 1].map(|index: usize| Arm::of(document.arms[index].settings));
        sentence(&document, answer, &today, &other, &comparison)
    }

    #[test]
    fn less_of_what_was_asked_for_is_said_in_its_own_words() {
        let found = [
            (Metric::Memory, Outcome::Better, Answer::Change),
            (Metric::ResponseTime, Outcome::Better, Answer::Change),
            (Metric::Processes, Outcome::Equivalent, Answer::Keep),
            (Metric::Capacity, Outcome::Worse, Answer::Keep),
            (Metric::Memory, Outcome::Equivalent, Answer::Smaller),
        ]
        .map(|(metric, outcome, answer)| told(metric, outcome, answer));
        assert_eq!(
            found,
            [
                "Run single × 4 threads: it needs 40 % less memory than single × 1 thread (-45 to -35 %, 9 blocks).",
                "Run single × 4 threads: it answers 95 % of its requests within 40 % less time than single × 1 thread (-45 to \
                 -35 %, 9 blocks).",
                "Keep single × 1 thread: the best other, single × 4 threads, runs no fewer processes (-45 to -35 %, 9 blocks).",
                "Keep single × 1 thread: the best other, single × 4 threads, carries 40 % less (-45 to -35 %, 9 blocks).",
                "Run single × 4 threads: it needs as much memory as single × 1 thread (-45 to -35 %, 9 blocks) and is smaller.",
            ]
        );
    }
}
