//! The other tables of the page, and how all of them look.

use crate::Style;
use crate::figures::{change_with_interval, milliseconds, number_of_ms, rate, rounded_change};
use crate::reading::{called, called_by_name, decides};
use crate::sheet::first_line;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use run::{Document, Profile};

/// What stands where nothing is known.
pub const NONE: &str = "–";

/// An empty table; columns from `left` on are aligned right.
pub fn table(style: Style, head: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(style.width);
    table.set_header(head);
    for index in left..head.len() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
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
pub fn deciding(document: &Document, style: Style) -> String {
    let metric = document.plan.objective.metric().words();
    let head = ["comparison", metric, "verdict", "p", "blocks"];
    let mut table = table(style, &head, head.len());
    for comparison in document.comparisons.iter().filter(|c| decides(c)) {
        table.add_row(vec![
            format!(
                "{} against {}",
                called_by_name(document, &comparison.candidate),
                called_by_name(document, &comparison.baseline)
            ),
            change_with_interval(comparison.ratio, comparison.low, comparison.high),
            comparison.outcome.word().to_owned(),
            format!("{:.3}", comparison.p),
            comparison.blocks.to_string(),
        ]);
    }
    trimmed(&table)
}

/// What the race saw.
pub fn screening(document: &Document, style: Style) -> String {
    let metric = document.plan.objective.metric().words();
    let head = ["screening, proves nothing", metric, "rounds"];
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
    trimmed(&table)
}

/// The variables of each arm that sets any.
pub fn environments(document: &Document, style: Style) -> String {
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
    trimmed(&table)
}

/// What a request costs in each arm, and why the arm was tried.
pub fn details(document: &Document, style: Style) -> String {
    let head = ["configuration", "CPU a request", "why, and how it left"];
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
    trimmed(&table)
}

/// What the model said of each arm, beside what came.
pub fn predicted(document: &Document, style: Style) -> String {
    let head = [
        "configuration",
        "most/s\npredicted",
        "\nmeasured",
        "p50, ms\npredicted",
        "\nmeasured",
        "p99, ms\npredicted",
        "\nmeasured",
    ];
    let mut table = table(style, &head, 1);
    let per_s = |per_s: Option<f64>| per_s.map_or_else(|| NONE.to_owned(), rate);
    let ms = |ms: Option<f64>| ms.map_or_else(|| NONE.to_owned(), |ms| number_of_ms(Some(ms)));
    for arm in &document.arms {
        table.add_row(vec![
            called(document, arm),
            per_s(arm.predicted_per_s),
            per_s(arm.capacity_per_s),
            ms(arm.predicted_p50_ms),
            ms(arm.p50_ms),
            ms(arm.predicted_p99_ms),
            ms(arm.p99_ms),
        ]);
    }
    trimmed(&table)
}

/// Where the baseline's request time goes.
pub fn profile(profile: &Profile, style: Style) -> String {
    let head = [
        "request",
        "seen",
        "total",
        "running\nRuby",
        "waiting to run\nRuby (GVL)",
        "waiting for database,\nnetwork or a lock",
    ];
    let mut table = table(style, &head, 1);
    let row = |name: &str, requests: u64, times: [f64; 4]| {
        let mut row = vec![name.to_owned(), requests.to_string()];
        row.extend(times.map(|ms| milliseconds(Some(ms))));
        row
    };
    for endpoint in profile.endpoints.iter().take(10) {
        let times = [
            endpoint.wall_ms,
            endpoint.held_ms,
            endpoint.gvl_wait_ms,
            endpoint.io_ms,
        ];
        table.add_row(row(&endpoint.name, endpoint.requests, times));
    }
    if profile.endpoints.len() != 1 {
        let times = [
            profile.wall_ms,
            profile.held_ms,
            profile.gvl_wait_ms,
            profile.io_ms,
        ];
        table.add_row(row("all", profile.requests, times));
    }
    trimmed(&table)
}

/// The path from the baseline to the challenger.
pub fn path(document: &Document, style: Style) -> String {
    let metric = document.plan.objective.metric().words();
    let head = ["change", "from", "to", metric, ""];
    let mut table = table(style, &head, head.len());
    for step in document.verdict.iter().flat_map(|v| &v.path) {
        let (throughput, how) = if step.measured {
            (
                change_with_interval(step.ratio, step.low, step.high),
                "measured",
            )
        } else {
            (rounded_change(step.ratio), "predicted")
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
    trimmed(&table)
}

/// What the screen found of each knob; of latency only where that is what was asked for.
pub fn effects(search: &run::Search, of_latency: bool, style: Style) -> String {
    let latency = of_latency.then_some("p95");
    let head: Vec<&str> = ["knob", "throughput", "memory"]
        .into_iter()
        .chain(latency)
        .chain(["what is made of it"])
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
    trimmed(&table)
}

/// Without the padding that the table leaves at the ends of lines.
pub fn trimmed(table: &Table) -> String {
    table
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}
