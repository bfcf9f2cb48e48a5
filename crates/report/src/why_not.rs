//! Below the table of what was tried: why a configuration that shows a better figure than the answer's is not the answer.

use crate::figures::{bytes, change_with_interval, counted, rate, rounded_change};
use crate::reading::{
    advised, baseline, called, capacities_by_block, decides, latency_kept, memory_kept,
};
use crate::sheet::{Sheet, first_line};
use run::{ArmSummary, Comparison, Document, Feasibility, Kind, Metric, Outcome, Stage};
use std::fmt::Write;

/// Writes it; nothing where no other row looks better.
pub fn write(sheet: &mut Sheet, document: &Document) {
    let reasons = reasons(document);
    if !reasons.is_empty() {
        sheet.listed(
            "Better figures than the answer's, and why they were not chosen",
            &reasons,
        );
    }
}

/// The configuration that the answer is, or stays with.
fn answer(document: &Document) -> Option<&ArmSummary> {
    let answered = document.kind == Kind::Tune && document.verdict.is_some();
    let arm = advised(document).or_else(|| baseline(document));
    arm.filter(|_| answered)
}

/// Whether an arm shows a better figure than the answer, and nothing but the race has seen it.
pub fn unconfirmed(document: &Document, arm: &ArmSummary) -> bool {
    let confirmed = document
        .comparisons
        .iter()
        .any(|c| decides(c) && c.candidate == arm.name);
    !confirmed && answer(document).is_some_and(|answer| looks_better(document, arm, answer))
}

/// Whether it says why the arm is not the answer.
fn is_listed(document: &Document, arm: &ArmSummary) -> bool {
    answer(document).is_some_and(|reference| {
        arm.name != reference.name && arm.trials > 0 && looks_better(document, arm, reference)
    })
}

/// Which limits the other configurations break, and by how much: the table has one word for it.
pub fn write_broken(sheet: &mut Sheet, document: &Document) {
    // Failed configurations have a separate section.
    let is_said = |arm: &ArmSummary| is_listed(document, arm) || arm.fate.contains("failed: ");
    let broken = document.arms.iter().filter(|arm| !is_said(arm));
    let broken: Vec<String> = broken
        .filter_map(|arm| {
            Some(format!(
                "{}: {}",
                called(document, arm),
                arm.broken.as_ref()?
            ))
        })
        .collect();
    sheet.listed("Limits that are broken", &broken);
}

fn reasons(document: &Document) -> Vec<String> {
    let Some(reference) = answer(document) else {
        return Vec::new();
    };
    let others = document.arms.iter().filter(|arm| is_listed(document, arm));
    others
        .map(|arm| {
            let figure = figure(document, arm).map_or_else(String::new, |at| format!(" ({at})"));
            format!(
                "{}{figure}: {}",
                called(document, arm),
                why_not(document, arm, reference)
            )
        })
        .collect()
}

/// Whether the table shows a better figure for it, or a greater change against what runs today.
fn looks_better(document: &Document, arm: &ArmSummary, reference: &ArmSummary) -> bool {
    let metric = document.plan.objective.metric();
    let better = |ours: f64, theirs: f64| match metric.less_is_better() {
        true => ours < theirs,
        false => ours > theirs,
    };
    let value = |arm: &ArmSummary| match metric {
        Metric::Capacity => arm.capacity_per_s,
        Metric::Memory => arm.pss_bytes.map(|bytes| bytes as f64),
        Metric::Processes => Some(f64::from(arm.settings.processes())),
        _ => None,
    };
    let shown = value(arm).zip(value(reference));
    if shown.is_some_and(|(ours, theirs)| better(ours, theirs)) {
        return true;
    }
    let today = baseline(document).map(|arm| arm.name.as_str());
    let ratio = |arm: &ArmSummary| {
        let of_metric = document.comparisons.iter().filter(|c| c.metric == metric);
        let mut mine =
            of_metric.filter(|c| c.candidate == arm.name && Some(c.baseline.as_str()) == today);
        let decided = mine.clone().find(|c| decides(c));
        decided.or_else(|| mine.next()).map(|c| c.ratio)
    };
    ratio(arm).is_some_and(|ours| better(ours, ratio(reference).unwrap_or(1.0)))
}

fn figure(document: &Document, arm: &ArmSummary) -> Option<String> {
    match document.plan.objective.metric() {
        Metric::Capacity => arm.capacity_per_s.map(|per_s| format!("{}/s", rate(per_s))),
        Metric::Memory => arm.pss_bytes.map(bytes),
        Metric::Processes => Some(counted(arm.settings.processes(), "process")),
        _ => None,
    }
}

fn why_not(document: &Document, arm: &ArmSummary, reference: &ArmSummary) -> String {
    let fate = first_line(&arm.fate);
    let left = fate.split_once("; ").map_or(fate, |(_, left)| left);
    let breaks = arm.feasible == Feasibility::Breaks || left.starts_with("breaks a limit");
    let both_break = breaks && reference.feasible == Feasibility::Breaks;
    if let Some(why) = left.strip_prefix("failed: ") {
        return format!("it fails: {why}");
    }
    if breaks && !both_break {
        return broken(document, arm, left);
    }
    if arm.failed > 0 {
        return format!(
            "{} of its {} failed",
            arm.failed,
            counted(arm.trials + arm.failed, "trial")
        );
    }
    let met = document.comparisons.iter().find(|c| {
        let pair = [&c.candidate, &c.baseline];
        decides(c) && pair.contains(&&arm.name) && pair.contains(&&reference.name)
    });
    if let Some(met) = met {
        let met = compared(document, met, arm, reference);
        return match both_break {
            true => format!("{met}; {}", broken(document, arm, left)),
            false => met,
        };
    }
    if both_break {
        return format!(
            "{}; {} breaks one, too, and this one was not confirmed",
            broken(document, arm, left),
            called(document, reference)
        );
    }
    if left == "a step of the path" {
        return "it was measured to show the way from today's settings, and nothing is claimed of it; `powerband compare` would \
                tell"
            .to_owned();
    }
    raced(document, arm, reference, left)
}

/// The limits that an arm breaks. Older documents have them in its fate, or only the figures of its row.
fn broken(document: &Document, arm: &ArmSummary, left: &str) -> String {
    if let Some(why) = &arm.broken {
        return format!("it breaks a limit: {why}");
    }
    if let Some(why) = left.strip_prefix("breaks a limit: ") {
        return format!("it breaks a limit: {why}");
    }
    let objective = &document.plan.objective;
    let breaks = |kept| kept == Feasibility::Breaks;
    let latency = objective
        .latency
        .filter(|limit| breaks(latency_kept(arm, *limit)));
    let latency = latency.map(|limit| limit.to_string());
    let memory = objective
        .max_memory_bytes
        .filter(|limit| breaks(memory_kept(document, arm, *limit)));
    let memory = memory.map(|limit| format!("{} of memory", bytes(limit)));
    let carried = objective
        .must_carry_per_s
        .filter(|least| arm.capacity_per_s.is_some_and(|most| most < *least));
    let carried = carried.map(|least| format!("{}/s", rate(least)));
    let all: Vec<String> = latency.into_iter().chain(memory).chain(carried).collect();
    match all.is_empty() {
        true => "it breaks a limit".to_owned(),
        false => format!("it breaks a limit: {}", all.join(", ")),
    }
}

/// It met the answer's configuration in the same blocks.
fn compared(
    document: &Document,
    met: &Comparison,
    arm: &ArmSummary,
    reference: &ArmSummary,
) -> String {
    let is_candidate = met.candidate == arm.name;
    let found = change_with_interval(met.ratio, met.low, met.high);
    let of = match is_candidate {
        true => format!("next to {}", called(document, reference)),
        false => format!("for {}", called(document, reference)),
    };
    let in_blocks = format!("in the same {} {found} {of}", counted(met.blocks, "block"));
    if let Some(why) = &met.not_comparable {
        return format!("not comparable: {why}");
    }
    let worse = match met.outcome {
        Outcome::Equivalent => {
            let margin = document.plan.margin * 100.0;
            return format!("{in_blocks}, within the margin of {margin:.0} %");
        }
        Outcome::Undecided => return format!("{in_blocks}, which shows neither to be better"),
        Outcome::Better => !is_candidate,
        Outcome::Worse => is_candidate,
    };
    match arm.feasible {
        _ if worse => format!("{in_blocks}: compared block by block it is worse"),
        Feasibility::Breaks => format!("{in_blocks}, but neither keeps the limits"),
        Feasibility::Unclear => format!("{in_blocks}, but it is not proven to keep the limits"),
        _ => format!(
            "{in_blocks}, which is not claimed, since it may be chance: it is the second of two configurations that were confirmed at once"
        ),
    }
}

/// Nothing but the race has seen it.
fn raced(document: &Document, arm: &ArmSummary, reference: &ArmSummary, left: &str) -> String {
    let of = |stage: Stage, arm: &ArmSummary| {
        let mut mine = document.comparisons.iter();
        mine.find(|c| c.stage == stage && c.candidate == arm.name)
    };
    let rounds = of(Stage::Race, arm).map_or(arm.trials, |c| c.blocks);
    let mut text = format!(
        "a figure of {}, which proves nothing",
        counted(rounds, "elimination round")
    );
    if let (Some(raced), Some(confirmed)) =
        (of(Stage::Race, reference), of(Stage::Confirm, reference))
    {
        text += &format!(
            " ({} showed {} in its own rounds, and {} when it was confirmed)",
            called(document, reference),
            rounded_change(raced.ratio),
            rounded_change(confirmed.ratio)
        );
    }
    if left.starts_with("eliminated") {
        return text + "; it was " + left;
    }
    text += "; it was not confirmed";
    if let Some((ahead, rounds)) = ahead_in_shared_rounds(document, arm, reference) {
        let _ = write!(
            text,
            "; {} served {:.1} % more than it in {}",
            called(document, reference),
            (ahead - 1.0) * 100.0,
            match rounds {
                1 => "the one elimination round that had both".to_owned(),
                rounds => format!("the {rounds} elimination rounds that had both"),
            }
        );
    }
    text
}

/// How many times as much the winner of the elimination rounds served in those that had both, and in how many, where that is more than
/// the margin: `experiment/src/tune/choose.rs` excludes the arm then, whatever it showed against the baseline.
fn ahead_in_shared_rounds(
    document: &Document,
    arm: &ArmSummary,
    reference: &ArmSummary,
) -> Option<(f64, usize)> {
    let of = |arm: &ArmSummary| capacities_by_block(document, Stage::Race, &arm.name);
    let (ours, theirs) = (of(arm), of(reference));
    let logs: Vec<f64> = ours
        .iter()
        .filter_map(|(block, per_s)| Some((theirs.get(block)? / per_s).ln()))
        .collect();
    let ahead = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    let won = reference.fate.contains("won the elimination rounds");
    let by_capacity = document.plan.objective.metric() == Metric::Capacity;
    (won && by_capacity && ahead > 1.0 + document.plan.margin).then_some((ahead, logs.len()))
}
