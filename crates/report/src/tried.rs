//! The table of what was tried: one row a configuration.

use crate::Style;
use crate::figures::{
    bytes, change_with_interval, counted, is_change_of, last_digit, last_digit_of_bytes, median,
    number_of_ms, rate, rounded_change, share,
};
use crate::reading::{
    advised, advises_change, baseline_word, called, capacities_by_block, comparison_of, decides,
    has_p99, is_baseline, is_rehearsal, latency_kept, latency_known, limits_word,
};
use crate::sheet::first_line;
use crate::tables::{BETWEEN, NONE, align_left, in_parts, names_fit, table};
use crate::why_not;
use comfy_table::{ColumnConstraint, Table};
use run::{Answer, ArmSummary, Comparison, Document, Feasibility, Kind, Metric};

/// Terminal columns in which an interval fits on one line.
const WIDE: u16 = 100;
/// Terminal columns that the table needs to be one.
const NARROW: u16 = 80;

/// The table.
pub fn tried(document: &Document, style: Style) -> Vec<Table> {
    let objective = &document.plan.objective;
    let limited = (objective.latency.is_some() || objective.max_memory_bytes.is_some())
        && !is_rehearsal(document);
    let against = match objective.metric() {
        Metric::Capacity => format!("against\n{}", baseline_word(document)),
        other => format!("{}\nagainst\n{}", other.words(), baseline_word(document)),
    };
    let over = objective
        .latency
        .map(|limit| format!("over\n{} ms", limit.limit_ms));
    let mut head = vec![
        "settings",
        "most/s",
        against.as_str(),
        "p50\nms",
        "99 %\nwithin\nms",
    ];
    head.extend(over.as_deref());
    head.extend(["memory", "trials"]);
    head.extend(limited.then_some("limits"));
    head.push("result");
    let mut rows = Vec::new();
    for arm in &document.arms {
        let mut row = vec![
            called(document, arm),
            arm.capacity_per_s.map_or_else(none, rate),
            compared(document, arm, style),
        ];
        if latency_known(arm) {
            row.push(number_of_ms(arm.p50_ms));
            row.push(match has_p99(document, arm) {
                true => number_of_ms(arm.p99_ms),
                false => none(),
            });
        } else {
            row.extend([none(), none()]);
        }
        if objective.latency.is_some() {
            row.push(arm.violation_rate.map_or_else(none, share));
        }
        row.push(match (arm.pss_bytes, arm.growth) {
            (Some(pss), Some(_)) => format!("{}\n(grows)", bytes(pss)),
            (pss, _) => pss.map_or_else(none, bytes),
        });
        row.push(match arm.failed {
            0 => arm.trials.to_string(),
            failed => format!("{}/{}", arm.trials, arm.trials + failed),
        });
        if limited && arm.trials > 0 {
            row.push(stacked(limits_word(document, arm)));
        } else if limited {
            row.push(none());
        }
        row.push(stacked(&result(document, arm)));
        rows.push(row);
    }
    let between = if style.width < WIDE { 1 } else { BETWEEN };
    if style.width < NARROW || !names_fit(style, &head, &rows, between) {
        return in_parts(style, &head, &rows);
    }
    let mut table = table(style, &head, 1);
    align_left(&mut table, head.len() - 1);
    // Figures that break cannot be read; the settings can, and take the room that is left.
    table.set_width(style.width);
    for column in table.column_iter_mut().skip(1) {
        column.set_constraint(ColumnConstraint::ContentWidth);
        if style.width < WIDE {
            column.set_padding((0, 1));
        }
    }
    table.add_rows(rows);
    vec![table]
}

/// On two lines, where there are two words.
fn stacked(words: &str) -> String {
    words.replacen(' ', "\n", 1)
}

fn none() -> String {
    NONE.to_owned()
}

/// The change against the baseline; that of elimination rounds without an interval, since it proves nothing, and with the baseline's
/// figure in the same rounds, from which that of the baseline's row may differ.
fn compared(document: &Document, arm: &ArmSummary, style: Style) -> String {
    let change = match comparison_of(document, arm) {
        Some(c) if decides(c) => change_with_interval(c.ratio, c.low, c.high),
        Some(c) => format!(
            "{}{} ({})",
            rounded_change(c.ratio),
            baseline_in_rounds(document, c)
                .map_or_else(String::new, |per_s| format!(" (from {}/s)", rate(per_s))),
            counted(c.blocks, "round")
        ),
        None => return none(),
    };
    let change = change.replace(" (", "\n(");
    if style.width < WIDE {
        change.replace(" to ", "\nto ")
    } else {
        change
    }
}

/// The baseline's throughput in the rounds in which both arms count.
fn baseline_in_rounds(document: &Document, comparison: &Comparison) -> Option<f64> {
    if comparison.metric != Metric::Capacity {
        return None;
    }
    let of = |arm: &str| capacities_by_block(document, comparison.stage, arm);
    let (theirs, ours) = (of(&comparison.baseline), of(&comparison.candidate));
    let shared = theirs
        .into_iter()
        .filter(|(block, _)| ours.contains_key(block))
        .map(|(_, per_s)| per_s);
    median(shared.collect())
}

/// What the changes are computed from; `None` where the figures in the same rows give the same changes.
pub fn changes_are_of_blocks(document: &Document) -> Option<String> {
    let today = document
        .arms
        .iter()
        .find(|arm| is_baseline(document, arm))?;
    let pss = |arm: &ArmSummary| arm.pss_bytes.map(|bytes| bytes as f64);
    let gives = |arm: &ArmSummary, c: &Comparison| {
        let (figures, last_digit): (_, fn(f64) -> f64) = match c.metric {
            Metric::Capacity if decides(c) => {
                (arm.capacity_per_s.zip(today.capacity_per_s), last_digit)
            }
            Metric::Capacity => (
                arm.capacity_per_s.zip(baseline_in_rounds(document, c)),
                last_digit,
            ),
            Metric::Memory => (pss(arm).zip(pss(today)), last_digit_of_bytes),
            // The row shows another figure than the one compared, or one that does not vary.
            _ => return true,
        };
        figures.is_none_or(|figures| is_change_of(c.ratio, figures, last_digit))
    };
    let given = |arm: &ArmSummary| {
        let of_today = |c: &&Comparison| c.candidate == arm.name && c.baseline == today.name;
        let beside = document.memory.iter().filter(of_today);
        let mut compared = comparison_of(document, arm).into_iter().chain(beside);
        compared.all(|c| c.baseline != today.name || gives(arm, c))
    };
    (!document.arms.iter().all(given)).then(|| {
        let rounds = document.comparisons.iter().any(|c| !decides(c));
        format!(
            "A change compares trials of the same block{}. The most/s and the memory are medians of the row's trials, the response times \
             are of all their requests together: the change need not be that of these figures.",
            if rounds {
                ", or of the same elimination rounds (from what today's settings answered in them)"
            } else {
                ""
            }
        )
    })
}

/// What "not proven" means where latency was measured, with how far it is from proven.
pub fn not_proven(document: &Document) -> Option<String> {
    let limit = document.plan.objective.latency?;
    if is_rehearsal(document) {
        return None;
    }
    let open = document.arms.iter().filter(|arm| {
        arm.trials > 0 && latency_known(arm) && latency_kept(arm, limit) == Feasibility::Unclear
    });
    let open: Vec<String> = open.filter_map(|arm| up_to(document, arm)).collect();
    let instead = match document.arms.iter().any(|arm| arm.growth.is_some()) {
        // No window is long enough for memory that grows.
        true => "More blocks tell.",
        false => {
            "Longer windows (--window) can decide it; if little is missing, more blocks can, too."
        }
    };
    (!open.is_empty()).then(|| {
        format!(
            "Not proven: the 95 % interval of the share of requests over {} ms ends above the allowed {}: {}. Late requests come in bunches, so \
             that this interval counts four requests as one where none was late. {instead}",
            limit.limit_ms,
            share(limit.allowed_violation_rate()),
            open.join("; ")
        )
    })
}

/// The upper end of an arm's share of late requests.
fn up_to(document: &Document, arm: &ArmSummary) -> Option<String> {
    let (_, high) = arm.violation_interval?;
    let of = arm.violation_requests.map_or_else(String::new, |requests| {
        format!(" ({} measured)", counted(requests, "request"))
    });
    Some(format!(
        "{}: up to {}{of}",
        called(document, arm),
        share(high)
    ))
}

/// What became of an arm, in a word or two.
fn result(document: &Document, arm: &ArmSummary) -> String {
    if is_baseline(document, arm) {
        return baseline_word(document).to_owned();
    }
    let verdict = document.verdict.as_ref();
    let chosen = verdict.is_some_and(advises_change)
        && advised(document).is_some_and(|advised| advised.name == arm.name);
    if chosen {
        return "chosen".to_owned();
    }
    if arm.trials == 0 && arm.failed > 0 {
        return "failed".to_owned();
    }
    if document.kind != Kind::Tune {
        let decided = comparison_of(document, arm).map(|c| c.word());
        return decided.unwrap_or(NONE).to_owned();
    }
    // `why it was tried; how it left`, where a reason of failure may hold anything.
    let fate = first_line(&arm.fate);
    let left = fate.split_once("; ").map_or(fate, |(_, left)| left);
    let known = [
        ("failed", "failed"),
        ("breaks a limit", "breaks a limit"),
        ("eliminated", "eliminated"),
        ("a step of the path", "step between"),
    ];
    if let Some((_, word)) = known.iter().find(|(start, _)| left.starts_with(start)) {
        return (*word).to_owned();
    }
    match verdict.map(|v| v.answer) {
        Some(Answer::Undecided) if left.starts_with("won") => "undecided",
        Some(_) if left.starts_with("won") => "best alternative",
        Some(_) if why_not::unconfirmed(document, arm) => "not confirmed",
        Some(_) => "not ahead",
        None => NONE,
    }
    .to_owned()
}
