//! The other tables of the page, and how all of them look.

use crate::Style;
use crate::figures::{change_with_interval, milliseconds, number_of_ms, rate, rounded_change};
use crate::reading::{called, called_by_name, decides, has_p99, latency_known};
use crate::sheet::first_line;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use run::{ArmSummary, Comparison, Document, Metric, Outcome, Profile};

/// Spaces between columns.
pub const BETWEEN: usize = 2;
/// Fewer columns than these make a name unreadable.
const MIN_NAMES: usize = 12;

/// What stands where nothing is known.
pub const NONE: &str = "–";

/// An empty table; columns from `left` on are aligned right.
pub fn table(style: Style, head: &[impl ToString], left: usize) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        // The padding behind the last column is trimmed.
        .set_width(style.width.saturating_add(BETWEEN as u16));
    table.set_header(head.iter().map(ToString::to_string));
    for index in left..head.len() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, BETWEEN as u16));
    }
    table
}

/// Aligns one column left.
pub fn align_left(table: &mut Table, index: usize) {
    if let Some(column) = table.column_mut(index) {
        column.set_cell_alignment(CellAlignment::Left);
    }
}

/// The comparisons that a claim rests on, block by block.
pub fn deciding(document: &Document, style: Style) -> Table {
    let metric = document.plan.objective.metric();
    let deciding = document.comparisons.iter().filter(|c| decides(c));
    compared(document, deciding, metric, style)
}

/// The response time of the same arms.
pub fn latency(document: &Document, style: Style) -> Table {
    let comparisons = document.latency.iter();
    compared(document, comparisons, Metric::ResponseTime, style)
}

/// The memory of the same arms.
pub fn memory(document: &Document, style: Style) -> Table {
    compared(document, document.memory.iter(), Metric::Memory, style)
}

fn compared<'a>(
    document: &Document,
    comparisons: impl Iterator<Item = &'a Comparison>,
    metric: Metric,
    style: Style,
) -> Table {
    let head = ["comparison", metric.words(), "verdict", "p-value", "blocks"];
    let mut table = table(style, &head, head.len());
    for comparison in comparisons {
        table.add_row(vec![
            format!(
                "{} against {}",
                called_by_name(document, &comparison.candidate),
                called_by_name(document, &comparison.baseline)
            ),
            change_with_interval(comparison.ratio, comparison.low, comparison.high),
            match metric {
                Metric::Memory => memory_word(comparison),
                _ => comparison.word(),
            }
            .to_owned(),
            format!("{:.3}", comparison.p),
            comparison.blocks.to_string(),
        ]);
    }
    table
}

/// Whether less memory is better is for the reader to say where something else was asked for.
pub fn memory_word(comparison: &Comparison) -> &'static str {
    match comparison.outcome {
        Outcome::Better => "less",
        Outcome::Worse => "more",
        _ => comparison.word(),
    }
}

/// What the elimination rounds saw.
pub fn screening(document: &Document, style: Style) -> Table {
    let metric = document.plan.objective.metric().words();
    let head = ["elimination rounds, which prove nothing", metric, "rounds"];
    let mut table = table(style, &head, head.len());
    for comparison in document.comparisons.iter().filter(|c| !decides(c)) {
        table.add_row(vec![
            format!(
                "{} against {}",
                called_by_name(document, &comparison.candidate),
                called_by_name(document, &comparison.baseline)
            ),
            rounded_change(comparison.ratio),
            comparison.blocks.to_string(),
        ]);
    }
    table
}

/// The variables of each arm that sets any.
pub fn environments(document: &Document, style: Style) -> Table {
    let head = ["configuration", "sets", "to"];
    let mut table = table(style, &head, head.len());
    for arm in &document.arms {
        if arm.label.is_some() {
            // Its name says nothing of its settings.
            let row = [
                called(document, arm),
                arm.settings.to_string(),
                String::new(),
            ];
            table.add_row(row);
        }
        for (index, set) in arm.environment.iter().enumerate() {
            table.add_row(vec![
                if index == 0 && arm.label.is_none() {
                    called(document, arm)
                } else {
                    String::new()
                },
                set.variable.clone(),
                if set.holds.is_empty() {
                    "nothing".to_owned()
                } else {
                    set.holds.clone()
                },
            ]);
        }
    }
    table
}

/// What a request costs in each arm, and why the arm was tried.
pub fn details(document: &Document, style: Style) -> Table {
    let head = [
        "configuration",
        "CPU a request",
        "why it was tried, and its end",
    ];
    let mut table = table(style, &head, 1);
    align_left(&mut table, head.len() - 1);
    for arm in &document.arms {
        let cpu = arm.cpu_ms_per_request;
        table.add_row(vec![
            called(document, arm),
            cpu.map_or_else(|| NONE.to_owned(), |ms| milliseconds(Some(ms))),
            first_line(&arm.fate).to_owned(),
        ]);
    }
    table
}

/// What the model predicted of each arm, next to what was measured.
pub fn predicted(document: &Document, style: Style) -> Table {
    let head = [
        "configuration",
        "most/s\npredicted",
        "\nmeasured",
        "p50, ms\npredicted",
        "\nmeasured",
        "p99, ms\npredicted",
        "\nmeasured",
        "",
    ];
    let mut table = table(style, &head, 1);
    align_left(&mut table, head.len() - 1);
    let contradiction = document.model.as_ref().and_then(|m| m.contradiction);
    let wrong = |arm: &ArmSummary| {
        let accepted = contradiction?.accepted.ln_1p();
        let off = (arm.predicted_per_s? / arm.capacity_per_s?).ln().abs();
        (off > accepted).then_some("wrong")
    };
    let per_s = |per_s: Option<f64>| per_s.map_or_else(|| NONE.to_owned(), rate);
    let ms = |ms: Option<f64>| ms.map_or_else(|| NONE.to_owned(), |ms| number_of_ms(Some(ms)));
    let measured = |arm: &ArmSummary, percentile: Option<f64>| match latency_known(arm) {
        // As in the table of what was tried, what is missing is infinite.
        true => number_of_ms(percentile),
        false => NONE.to_owned(),
    };
    for arm in &document.arms {
        let p99_ms = match has_p99(document, arm) {
            true => measured(arm, arm.p99_ms),
            false => NONE.to_owned(),
        };
        table.add_row(vec![
            called(document, arm),
            per_s(arm.predicted_per_s),
            per_s(arm.capacity_per_s),
            ms(arm.predicted_p50_ms),
            measured(arm, arm.p50_ms),
            ms(arm.predicted_p99_ms),
            p99_ms,
            wrong(arm).unwrap_or_default().to_owned(),
        ]);
    }
    table
}

/// What a request's time in the application consists of, as headings; where waits for locks are known, they are apart from I/O.
pub fn parts_of_time(locks_apart: bool) -> Vec<&'static str> {
    let waits: &[&str] = match locks_apart {
        true => &[
            "waiting for\na lock",
            "waiting for database\nor network (I/O)",
        ],
        false => &["waiting for database,\nnetwork or a lock"],
    };
    [&["running\nRuby", "waiting to run\nRuby (GVL)"], waits].concat()
}

/// Where the baseline's request time goes.
pub fn profile(profile: &Profile, style: Style) -> Table {
    let parts = parts_of_time(profile.lock_wait_ms.is_some());
    let head = [vec!["request", "requests", "total"], parts].concat();
    let mut table = table(style, &head, 1);
    let row = |name: &str, requests: u64, times: [f64; 3], lock_wait_ms: Option<f64>, io_ms| {
        let times = times.into_iter().chain(lock_wait_ms).chain([io_ms]);
        let mut row = vec![name.to_owned(), requests.to_string()];
        row.extend(times.map(|ms| milliseconds(Some(ms))));
        row
    };
    for endpoint in profile.endpoints.iter().take(10) {
        let times = [endpoint.wall_ms, endpoint.held_ms, endpoint.gvl_wait_ms];
        table.add_row(row(
            &endpoint.name,
            endpoint.requests,
            times,
            endpoint.lock_wait_ms,
            endpoint.io_ms,
        ));
    }
    if profile.endpoints.len() != 1 {
        let times = [profile.wall_ms, profile.held_ms, profile.gvl_wait_ms];
        let (lock_wait_ms, io_ms) = (profile.lock_wait_ms, profile.io_ms);
        table.add_row(row("all", profile.requests, times, lock_wait_ms, io_ms));
    }
    table
}

/// The path from the baseline to the challenger.
pub fn path(document: &Document, style: Style) -> Table {
    let metric = document.plan.objective.metric().words();
    let head = ["change", "from", "to", metric, ""];
    let mut table = table(style, &head, head.len());
    for step in document.verdict.iter().flat_map(|v| &v.path) {
        let (throughput, how) = if step.measured {
            (
                change_with_interval(step.ratio, step.low, step.high),
                "measured",
            )
        } else if step.refuted {
            (NONE.to_owned(), "not measured; predictions were wrong")
        } else {
            (
                format!("about {}", rounded_change(step.ratio)),
                "predicted, not measured",
            )
        };
        let settings = || (step.from.to_string(), step.to.to_string());
        let (from, to) = step.values.clone().unwrap_or_else(settings);
        table.add_row(vec![
            step.knob.clone(),
            from,
            to,
            throughput,
            how.to_owned(),
        ]);
    }
    table
}

/// What the screen found of each knob; of latency only where that is what was asked for.
pub fn effects(search: &run::Search, of_latency: bool, style: Style) -> Table {
    let latency = of_latency.then_some("p95");
    let head: Vec<&str> = ["knob", "throughput", "memory"]
        .into_iter()
        .chain(latency)
        .chain(["what follows"])
        .collect();
    let mut table = table(style, &head, head.len());
    let shown = |ratio: Option<run::Ratio>| {
        ratio.map_or_else(
            || NONE.to_owned(),
            |r| change_with_interval(r.ratio, Some(r.low), Some(r.high)),
        )
    };
    for effect in &search.effects {
        let mut row = vec![
            format!("{}={}", effect.knob, effect.value),
            shown(effect.throughput),
            shown(effect.memory),
        ];
        row.extend(of_latency.then(|| shown(effect.latency)));
        row.push(effect.found.clone());
        table.add_row(row);
    }
    table
}

/// Columns of the longest line of a cell.
fn length(text: &str) -> usize {
    let lines = text.lines().map(|line| line.chars().count());
    lines.max().unwrap_or(0)
}

/// Whether the other columns leave the first, whose cells wrap, the room for its longest word.
pub fn names_fit(style: Style, head: &[&str], rows: &[Vec<String>], between: usize) -> bool {
    let cells = |index: usize| {
        let cells = rows.iter().map(move |row| row[index].as_str());
        cells.chain([head[index]])
    };
    let others: usize = (1..head.len())
        .map(|index| cells(index).map(length).max().unwrap_or(0) + between)
        .sum();
    let words = cells(0).flat_map(str::split_whitespace).map(length);
    // The padding of the first column stays.
    words.max().unwrap_or(0) + BETWEEN + others <= usize::from(style.width)
}

/// A wide table as one table, or where the terminal is too narrow as several below each other, each with the first
/// column: nothing is left out. Names that are too long for a line wrap. Columns without a heading hold words, the others
/// figures.
pub fn in_parts(style: Style, head: &[&str], rows: &[Vec<String>]) -> Vec<Table> {
    let widths: Vec<usize> = head
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let cells = rows.iter().map(|row| length(&row[index]));
            cells.chain([length(name)]).max().unwrap_or(0) + BETWEEN
        })
        .collect();
    let room = usize::from(style.width) + BETWEEN;
    let widest = widths[1..].iter().max().copied().unwrap_or(0);
    // Names get what two columns leave, so that no table has fewer than these.
    let names = widths[0]
        .min(room.saturating_sub(2 * widest))
        .max(MIN_NAMES);
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut taken = usize::MAX;
    for (index, width) in widths.iter().enumerate().skip(1) {
        taken = taken.saturating_add(*width);
        match parts.last_mut() {
            Some(part) if taken <= room => part.push(index),
            _ => {
                parts.push(vec![index]);
                taken = names + width;
            }
        }
    }
    let part = |columns: &Vec<usize>| {
        let of = |row: &dyn Fn(usize) -> String| {
            let others = columns.iter().copied();
            [0].into_iter().chain(others).map(row).collect::<Vec<_>>()
        };
        let head = of(&|index| head[index].to_owned());
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        let mut table = table(style, &head, 1);
        if let Some(column) = table.column_mut(0) {
            let most = Width::Fixed(u16::try_from(names).unwrap_or(u16::MAX));
            column.set_constraint(ColumnConstraint::UpperBoundary(most));
        }
        for (index, name) in head.iter().enumerate().skip(1) {
            if name.is_empty() {
                align_left(&mut table, index);
            }
        }
        for row in rows {
            table.add_row(of(&|index| row[index].clone()));
        }
        table
    };
    parts.iter().map(part).collect()
}
