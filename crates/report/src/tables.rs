//! The tables of the page.

use crate::Style;
use crate::figures::{bytes, change_with_interval, milliseconds, rate, share};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use run::{Document, Feasibility, Profile, Stage};

fn table(style: Style, head: &[&str], left: usize) -> Table {
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
    table
}

/// One row an arm: what it carries, how fast, how large, and what became of it.
pub fn arms(document: &Document, style: Style) -> String {
    let with_limit = document.plan.objective.latency;
    let limit = with_limit.map(|l| format!("over {:.0} ms", l.limit_ms));
    let mut head = vec!["configuration", "capacity/s", "predicted", "p50", "p99"];
    head.extend(limit.as_deref());
    head.extend(["memory", "CPU/req", "what became of it"]);
    let last = head.len() - 1;
    let mut table = table(style, &head, 1);
    if let Some(column) = table.column_mut(last) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    let none = || "–".to_owned();
    for arm in &document.arms {
        let name = if arm.settings == document.plan.baseline {
            format!("{} (baseline)", arm.settings)
        } else {
            arm.settings.to_string()
        };
        let measured = arm.trials > 0;
        let mut row = vec![
            name,
            arm.capacity_per_s.map_or_else(none, rate),
            arm.predicted_per_s.map_or_else(none, rate),
            if measured {
                milliseconds(arm.p50_ms)
            } else {
                none()
            },
            if measured {
                milliseconds(arm.p99_ms)
            } else {
                none()
            },
        ];
        if with_limit.is_some() {
            row.push(arm.violation_rate.map_or_else(none, share));
        }
        row.push(arm.pss_bytes.map_or_else(none, bytes));
        row.push(
            arm.cpu_ms_per_request
                .map_or_else(none, |ms| milliseconds(Some(ms))),
        );
        row.push(match arm.feasible {
            Feasibility::Breaks if !arm.fate.contains("limit") => {
                format!("{}; breaks a limit", arm.fate)
            }
            Feasibility::Unclear => format!("{}; limits not proven", arm.fate),
            _ => arm.fate.clone(),
        });
        table.add_row(row);
    }
    trimmed(&table)
}

/// Each comparison that a claim may rest on.
pub fn comparisons(document: &Document, style: Style) -> String {
    let mut table = table(
        style,
        &["comparison", "capacity", "verdict", "p", "blocks", "stage"],
        9,
    );
    for comparison in document
        .comparisons
        .iter()
        .filter(|c| c.stage != Stage::Pilot)
    {
        table.add_row(vec![
            format!(
                "{} against {}",
                label(document, &comparison.candidate),
                label(document, &comparison.baseline)
            ),
            change_with_interval(comparison.ratio, comparison.low, comparison.high),
            comparison.outcome.word().to_owned(),
            format!("{:.3}", comparison.p),
            comparison.blocks.to_string(),
            comparison.stage.word().to_owned(),
        ]);
    }
    trimmed(&table)
}

/// Where the baseline's request time goes.
pub fn profile(profile: &Profile, style: Style) -> String {
    let mut table = table(
        style,
        &[
            "endpoint", "requests", "wall", "GVL held", "GVL wait", "I/O",
        ],
        1,
    );
    let row = |name: String, requests: u64, times: [f64; 4]| {
        let mut row = vec![name, requests.to_string()];
        row.extend(times.map(|ms| milliseconds(Some(ms))));
        row
    };
    let all = [
        profile.wall_ms,
        profile.held_ms,
        profile.gvl_wait_ms,
        profile.io_ms,
    ];
    for endpoint in profile.endpoints.iter().take(10) {
        let times = [
            endpoint.wall_ms,
            endpoint.held_ms,
            endpoint.gvl_wait_ms,
            endpoint.io_ms,
        ];
        table.add_row(row(endpoint.name.clone(), endpoint.requests, times));
    }
    table.add_row(row("all".to_owned(), profile.requests, all));
    trimmed(&table)
}

/// The path from the baseline to the answer.
pub fn path(document: &Document, style: Style) -> String {
    let mut table = table(style, &["change", "from", "to", "capacity", ""], 9);
    for step in document.verdict.iter().flat_map(|v| &v.path) {
        let capacity = if step.measured {
            change_with_interval(step.ratio, step.low, step.high)
        } else {
            crate::figures::change(step.ratio)
        };
        let how = if step.measured {
            "measured"
        } else {
            "predicted"
        };
        table.add_row(vec![
            step.knob.clone(),
            step.from.to_string(),
            step.to.to_string(),
            capacity,
            how.to_owned(),
        ]);
    }
    trimmed(&table)
}

fn label(document: &Document, arm: &str) -> String {
    document
        .arms
        .iter()
        .find(|a| a.name == arm)
        .map_or_else(|| arm.to_owned(), |a| a.settings.to_string())
}

/// Without the padding that the table leaves at the ends of lines.
fn trimmed(table: &Table) -> String {
    table
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}
