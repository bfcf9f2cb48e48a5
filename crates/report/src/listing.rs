//! The list of runs.

use crate::figures::{bytes, counted, duration, small_bytes};
use crate::sheet::first_line;
use crate::sheet::trimmed;
use crate::tables::BETWEEN;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use run::runs::{Kept, Standing};

/// Characters of a reason: `powerband report` prints all of it.
const REASON: usize = 120;

/// Columns of length and size.
const RIGHT: [usize; 2] = [2, 3];

/// One line a run: id, state, length, size, answer; below them what all occupy.
pub fn listing(runs: &[Kept]) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        // A line each, however wide the terminal is: the list is read by scripts too.
        .set_content_arrangement(ContentArrangement::Disabled);
    table.add_rows(runs.iter().map(row));
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, BETWEEN as u16));
        if RIGHT.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = trimmed(&table);
    if let [_, _, ..] = runs {
        text.push_str(&occupied(runs));
        text.push('\n');
    }
    text
}

/// What all occupy that can be read, and how many cannot.
fn occupied(runs: &[Kept]) -> String {
    let is_closed = |run: &&Kept| run.standing == Standing::NotReadable;
    let closed = runs.iter().filter(is_closed).count();
    let bytes: u64 = runs.iter().map(|run| run.bytes).sum();
    let mut parts = Vec::new();
    match runs.len() - closed {
        0 => {}
        1 => parts.push(format!("1 folder occupies {}", size(bytes))),
        open => parts.push(format!(
            "{} occupy {}",
            counted(open, "folder"),
            size(bytes)
        )),
    }
    match closed {
        0 => {}
        1 => parts.push("1 folder that this user may not read is not counted".to_owned()),
        _ => parts.push(format!(
            "{} that this user may not read are not counted",
            counted(closed, "folder")
        )),
    }
    parts.join("; ")
}

fn row(run: &Kept) -> [String; 5] {
    let (state, length) = match run.standing {
        _ if run.worker.is_some() => ("running", duration(run.elapsed_s)),
        Standing::Unfinished => ("unfinished", duration(run.elapsed_s)),
        Standing::Interrupted => ("interrupted", duration(run.elapsed_s)),
        Standing::Done => ("done", duration(run.elapsed_s)),
        Standing::NoAnswer => ("no answer", duration(run.elapsed_s)),
        Standing::Failed => ("failed", duration(run.elapsed_s)),
        Standing::Renamed => ("kept", duration(run.elapsed_s)),
        Standing::Unreadable => ("unreadable", String::new()),
        Standing::NotReadable => ("not readable", String::new()),
        Standing::Unknown => ("unknown", String::new()),
    };
    [
        run.id.clone(),
        state.to_owned(),
        length,
        match run.standing {
            Standing::NotReadable => String::new(),
            _ => size(run.bytes),
        },
        short(run),
    ]
}

/// The answer, or why there is none.
fn short(run: &Kept) -> String {
    let said = first_line(&run.sentence);
    if let Some(worker) = run.worker {
        return format!("is {worker}");
    }
    match run.standing {
        Standing::Failed if said.chars().count() > REASON => {
            said.chars().take(REASON - 1).chain(['…']).collect()
        }
        Standing::Interrupted | Standing::Unfinished if said.is_empty() => {
            "no answer yet".to_owned()
        }
        _ => said.to_owned(),
    }
}

fn size(occupied: u64) -> String {
    match occupied {
        0..0xa0_0000 => small_bytes(occupied as f64),
        _ => bytes(occupied),
    }
}
