//! The page of `powerband trace --survivors`: the call sites whose objects become old, those of which the most die young, and what
//! may be changed.

use crate::Style;
use crate::figures::{counted, grouped, percent, small_bytes};
use crate::sheet::Sheet;
use crate::tables::{NONE, in_parts};
use run::survivors::{Change, Document, Fate, Line, Process};
use small_sort::SmallSort;
use std::cmp::Reverse;

/// Sites of each table; the document has all.
const SHOWN: usize = 20;

/// The page.
pub fn survivors_page(document: &Document, style: Style) -> String {
    sheet(document, style).into_text()
}

pub(crate) fn sheet(document: &Document, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    let sampled = sum(document, |p| p.sampled);
    let internal = sum(document, |p| p.internal);
    let allocated = sum(document, |p| p.allocated);
    sheet.bold(&format!(
        "{} sampled objects of {} that {} made: {} became old, {} died young.",
        grouped(sampled - internal.min(sampled)),
        grouped(allocated),
        counted(document.processes.len(), "process"),
        grouped(document.old.sampled),
        grouped(document.young.sampled)
    ));
    sheet.prose(&format!(
        "One object in {} was sampled, by chance. Objects and sizes are estimates for all of them. Left out: {} that Ruby keeps for itself.",
        grouped(u64::from(document.every)),
        counted(internal as usize, "sampled object")
    ));
    if document.old.sampled == 0 {
        sheet.prose(
            "No sampled object became old: that takes three collections. Ask for a longer time (--for), or sample more (--every).",
        );
    }
    table(&mut sheet, "Objects that become old", document, |site| {
        &site.old
    });
    table(&mut sheet, "Objects that die young", document, |site| {
        &site.young
    });
    sheet.listed("What may be changed", &changes(document));
    sheet.listed("What is missing", &missing(document));
    sheet
}

fn table(sheet: &mut Sheet, heading: &str, document: &Document, fate: fn(&Line) -> &Fate) {
    let mut lines: Vec<&Line> = document.lines.iter().collect();
    lines.retain(|line| fate(line).sampled > 0);
    lines.small_sort_by_key(|line| Reverse(fate(line).sampled));
    if lines.is_empty() {
        return;
    }
    sheet.heading(heading);
    let head = [
        "class, and line that makes them",
        "share (95 %)",
        "objects",
        "size",
    ];
    let rows = lines.iter().take(SHOWN).map(|line| row(line, fate(line)));
    let rows: Vec<_> = rows.collect();
    sheet.tables(in_parts(sheet.style(), &head, &rows));
    if lines.len() > SHOWN {
        let left = counted(lines.len() - SHOWN, "further line");
        sheet.prose(&format!("{left}: --json prints all, with their stacks."));
    }
}

fn row(line: &Line, fate: &Fate) -> Vec<String> {
    let share = match (fate.share, fate.share_between) {
        (Some(share), Some([low, high])) => {
            format!(
                "{} ({:.1} to {:.1})",
                percent(share),
                100.0 * low,
                100.0 * high
            )
        }
        _ => NONE.to_owned(),
    };
    vec![
        // One column: names of classes are as long as those of files, and two would leave neither any room.
        format!("{} {}", line.class, place(line)),
        share,
        grouped(fate.objects),
        small_bytes(fate.bytes as f64),
    ]
}

/// The line that made the objects, and the application's that led there.
fn place(line: &Line) -> String {
    let made = line.made_at.as_deref().map_or(NONE, short);
    match line.application_line.as_deref().map(short) {
        Some(application) if application != made => format!("{made} for {application}"),
        _ => made.to_owned(),
    }
}

/// Of a gem from its name on, else from the last folders.
pub(crate) fn short(place: &str) -> &str {
    if let Some((_, in_gem)) = place.rsplit_once("/gems/") {
        return in_gem;
    }
    let slashes: Vec<usize> = place.match_indices('/').map(|(at, _)| at).collect();
    match slashes.len().checked_sub(3) {
        Some(from) => &place[slashes[from] + 1..],
        None => place,
    }
}

fn changes(document: &Document) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for line in &document.lines {
        for advice in &line.advice {
            let code = advice
                .code
                .as_ref()
                .map_or(String::new(), |code| format!(" ({code})"));
            let sentence = format!("{}{code}: {}.", advice.line, worded(advice.change));
            if !said.contains(&sentence) {
                said.push(sentence);
            }
        }
    }
    said
}

fn worded(change: Change) -> &'static str {
    match change {
        Change::Freeze => {
            "a string literal makes a string each time; freeze it, or begin the file with # frozen_string_literal: true"
        }
        Change::Constant => "it makes an equal object each time; make it a frozen constant",
        Change::Memoise => "where the argument is the same again, keep the result",
        Change::MoveToBoot => {
            "its objects stay, and requests wait for them; load or build them at boot, before workers fork, so that they share them"
        }
        Change::Stream => "its objects are large and short-lived; read and write them in pieces",
    }
}

/// Over all processes. Their files are others' and may hold any number.
fn sum(document: &Document, of: fn(&Process) -> u64) -> u64 {
    let counts = document.processes.iter().map(of);
    counts.fold(0, u64::saturating_add)
}

fn missing(document: &Document) -> Vec<String> {
    let (undecided, lost) = (sum(document, |p| p.undecided), sum(document, |p| p.lost));
    let mut said = Vec::new();
    if undecided > 0 {
        said.push(format!(
            "{} were neither old nor freed when the recording ended, and are in no table.",
            counted(undecided as usize, "sampled object")
        ));
    }
    if lost > 0 {
        said.push(format!(
            "{} had no room, or could not be followed because a collection ran inside another library's hook; sample fewer (--every), or give \
             more memory (--buffer).",
            counted(lost as usize, "sampled object")
        ));
    }
    said.extend(
        (document.silent.iter()).map(|one| format!("Process {}: {}.", one.pid, one.reason)),
    );
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const STYLE: Style = Style {
        width: 140,
        colour: false,
    };

    fn document() -> Document {
        let fate = |sampled: u64, share: f64| {
            json!({"sampled": sampled, "objects": sampled * 512, "bytes": sampled * 20_480, "share": share,
                   "share_between": [share / 2.0, share]})
        };
        let document = json!({
            "schema": run::survivors::SCHEMA, "powerband_version": "0.1.0", "read_at": "2026-11-28T20:00:00Z", "source": "flight",
            "every": 512,
            "processes": [{"pid": 7, "seconds": 5.0, "collections": 9, "allocated": 600_000, "sampled": 1_200, "internal": 10,
                           "lost": 2, "undecided": 3}],
            "silent": [{"pid": 8, "reason": "it has Ractors"}],
            "old": {"sampled": 100, "objects": 51_200, "bytes": 4_000_000},
            "young": {"sampled": 1_000, "objects": 512_000, "bytes": 40_000_000},
            "frames": [{"label": "Shop#all", "path": "/srv/shop/app/models/shop.rb"}],
            "sites": [{"line": 0, "sampled": 100, "old": 100, "young": 0, "stack": [{"frame": 0, "line": 3}]}],
            "lines": [
                {"class": "String", "made_at": "/var/gems/json-2.7/lib/json.rb:9", "application_line": "/srv/shop/app/models/shop.rb:3",
                 "sampled": 100, "old": fate(100, 1.0), "young": fate(0, 0.0),
                 "advice": [{"change": "move_to_boot", "line": "/srv/shop/app/models/shop.rb:3", "code": "@all ||= load"}]},
                {"class": "Array", "made_at": null, "application_line": null, "sampled": 1_000, "old": fate(0, 0.0),
                 "young": fate(1_000, 1.0), "advice": []}
            ]
        });
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn each_fate_has_its_table_and_what_is_missing_is_said() {
        let page = survivors_page(&document(), STYLE);
        for said in [
            "1,190 sampled objects of 600,000 that 1 process made: 100 became old, 1,000 died young.",
            "String json-2.7/lib/json.rb:9 for app/models/shop.rb:3",
            "/srv/shop/app/models/shop.rb:3 (@all ||= load): its objects stay",
            "3 sampled objects were neither old",
            "2 sampled objects had no room",
            "Process 8: it has Ractors.",
        ] {
            assert!(page.contains(said), "{said}: {page}");
        }
        let (old, young) = page.split_once("Objects that die young").unwrap();
        assert!(old.contains("String") && !old.contains("Array"), "{page}");
        assert!(young.contains("Array"), "{page}");
    }

    #[test]
    fn counts_of_any_size_are_summed() {
        let mut document = document();
        let mut process = document.processes[0].clone();
        for count in [
            &mut process.sampled,
            &mut process.internal,
            &mut process.allocated,
            &mut process.undecided,
            &mut process.lost,
        ] {
            *count = u64::MAX;
        }
        document.processes.push(process);
        let page = survivors_page(&document, STYLE);
        let most = grouped(u64::MAX);
        assert!(
            page.contains(&format!("sampled objects of {most}")),
            "{page}"
        );
    }
}
