//! Amdahl's law, T* and the advice.

use crate::figures::percent;
use crate::sheet::Sheet;
use crate::tables::{NONE, align_left, table};
use run::inspect::Threads;

pub fn advice(sheet: &mut Sheet, advice: &Threads) {
    // A document of an earlier version has no plain words.
    let plain = !advice.plain.is_empty();
    if plain {
        sheet.heading("Threads of each process");
        for sentence in &advice.plain {
            sheet.labelled("- ", sentence);
        }
    }
    if plain && !sheet.is_full() {
        return;
    }
    sheet.heading("Threads a process, as multiples of one thread's throughput");
    let head = [
        "threads",
        "Amdahl",
        "one more adds",
        "bound by T*",
        "GVL held",
        "",
    ];
    let mut table = table(sheet.style(), &head, 0);
    align_left(&mut table, 5);
    for row in &advice.table {
        let marks = [
            (advice.present == Some(row.threads), "present"),
            (advice.amdahl_threads == row.threads, "Amdahl's 5 %"),
            (
                advice
                    .useful_threads
                    .is_some_and(|t| run::whole_threads(t) as u32 == row.threads),
                "T*",
            ),
        ];
        let marks: Vec<&str> = marks.iter().filter(|m| m.0).map(|m| m.1).collect();
        table.add_row(vec![
            row.threads.to_string(),
            format!("{:.3}", row.amdahl),
            row.amdahl_gain.map_or(NONE.to_owned(), percent),
            format!("{:.2}", row.bound),
            percent(row.gvl_busy),
            marks.join(", "),
        ]);
    }
    sheet.table(table);
    let said = |sentence: &&String| !advice.plain.contains(sentence);
    for sentence in advice.sentences.iter().filter(said) {
        sheet.labelled("- ", sentence);
    }
}
