//! The list of runs.

use crate::figures::{bytes, counted, duration, small_bytes};
use crate::sheet::first_line;
use crate::sheet::trimmed;
use crate::tables::BETWEEN;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use run::runs::{Kept, Standing};

/// Characters of an answer or a reason that are shown however narrow the terminal is.
const LEAST_ANSWER: usize = 20;

/// Columns of length and size.
const RIGHT: [usize; 2] = [2, 3];
/// The column of the answer, which is the last.
const ANSWER: usize = 4;

/// One line a run: id, state, length, size, answer; below them what all occupy. Answers end with the line at `width` columns:
/// `powerband report` prints all of them.
pub fn listing(runs: &[Kept], width: u16) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        // A line each: the list is read by scripts too.
        .set_content_arrangement(ContentArrangement::Disabled);
    let rows: Vec<[String; 5]> = runs.iter().map(row).collect();
    let before: usize = (0..ANSWER)
        .filter_map(|column| rows.iter().map(|row| row[column].chars().count()).max())
        .map(|longest| longest + BETWEEN)
        .sum();
    let room = usize::from(width).saturating_sub(before).max(LEAST_ANSWER);
    table.add_rows(rows.into_iter().map(|mut row| {
        row[ANSWER] = cut(&row[ANSWER], room);
        row
    }));
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
        Standing::NoAnswer => ("undecided", duration(run.elapsed_s)),
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
        Standing::Interrupted | Standing::Unfinished if said.is_empty() => {
            "no answer yet".to_owned()
        }
        _ => said.to_owned(),
    }
}

fn cut(said: &str, room: usize) -> String {
    match said.chars().count() > room {
        true => said.chars().take(room - 1).chain(['…']).collect(),
        false => said.to_owned(),
    }
}

fn size(occupied: u64) -> String {
    match occupied {
        0..0xa0_0000 => small_bytes(occupied as f64),
        _ => bytes(occupied),
    }
}
