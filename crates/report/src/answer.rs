//! The top of the page: the answer, and what it means for throughput, latency and memory.

use crate::figures::{bytes, change_with_interval, milliseconds, rate, share};
use crate::reading::{
    advised, baseline, called, decides, latency_kept, latency_known, limit_word, memory_kept,
};
use crate::sheet::{Sheet, first_line};
use run::{ArmSummary, Document, Fitness, State};

/// Writes it.
pub fn write(sheet: &mut Sheet, document: &Document) {
    if let Some(verdict) = &document.verdict {
        sheet.bold(first_line(&verdict.sentence));
        if let Some(arm) = advised(document) {
            sheet.labelled("Throughput  ", &throughput(document, arm));
            if latency_known(arm) {
                sheet.labelled("Latency     ", &latency(document, arm));
            }
            if let Some(used) = arm.pss_bytes {
                sheet.labelled("Memory      ", &memory(document, arm, used));
            }
        }
        return;
    }
    let refused = document
        .calibration
        .as_ref()
        .is_some_and(|c| c.fitness == Fitness::Refused);
    let next = if document.command.is_some() {
        "Start a new run: those of a command are not resumed.".to_owned()
    } else if refused {
        // Resumed, it would only judge the same blocks again.
        "Start a new run when the cause is found: this one cannot go on".to_owned()
    } else {
        format!(
            "To go on, repeat your command and add --resume {}",
            document.id
        )
    };
    match document.state {
        State::Failed => {
            let reason = document.warnings.last().map_or("", |w| first_line(w));
            sheet.bold(&format!("This run ended without an answer: {reason}"));
        }
        State::Interrupted => sheet.bold("This run was interrupted and has no answer yet."),
        State::Running | State::Done => sheet.bold("This run has no answer yet."),
    }
    sheet.prose(&next);
}

fn throughput(document: &Document, arm: &ArmSummary) -> String {
    let most = |arm: &ArmSummary| {
        arm.capacity_per_s
            .map_or_else(|| "unknown".to_owned(), per_s)
    };
    let mut text = most(arm);
    let Some(first) = baseline(document) else {
        return text;
    };
    let Some(comparison) = document.comparisons.iter().find(|c| decides(c)) else {
        return text;
    };
    let found = change_with_interval(comparison.ratio, comparison.low, comparison.high);
    let found = format!("{found}, {} blocks", comparison.blocks);
    let other = document
        .arms
        .iter()
        .find(|a| a.name == comparison.candidate);
    match other {
        _ if arm.name == comparison.candidate => {
            text.push_str(&format!(" at most, {} today: {found}", most(first)));
        }
        Some(other) => text.push_str(&format!(
            " at most; the best other, {}, {}: {found}",
            called(document, other),
            most(other)
        )),
        None => {}
    }
    text
}

fn per_s(value: f64) -> String {
    format!("{}/s", rate(value))
}

fn latency(document: &Document, arm: &ArmSummary) -> String {
    let at = document
        .plan
        .rate_per_s
        .map_or_else(String::new, |asked| format!(" at {}", per_s(asked)));
    let within = format!("99 % within {}{at}", milliseconds(arm.p99_ms));
    let Some(limit) = document.plan.objective.latency else {
        return format!("{within}; no limit was given");
    };
    let kept = limit_word(latency_kept(arm, limit));
    let Some((seen, (low, high))) = arm.violation_rate.zip(arm.violation_interval) else {
        return format!("{within}; the limit is {kept}");
    };
    format!(
        "{within}; {} over {}, {} allowed: {kept} ({} to {} is possible)",
        share(seen),
        milliseconds(Some(limit.limit_ms)),
        share(limit.allowed_violation_rate()),
        share(low),
        share(high)
    )
}

fn memory(document: &Document, arm: &ArmSummary, used: u64) -> String {
    match document.plan.objective.max_memory_bytes {
        Some(limit) => format!(
            "{} of {} allowed: {}",
            bytes(used),
            bytes(limit),
            limit_word(memory_kept(document, arm, limit))
        ),
        None => format!("{}; no limit was given", bytes(used)),
    }
}
