//! What the trials of a run without an answer have shown until now: figures, and no claim.

use crate::figures::{bytes, median, number_of_ms, rate};
use crate::sheet::Sheet;
use crate::tables::{NONE, table};
use run::{Document, Stage, Trial};

/// The section; nothing where the run has come to its rows, and before the first trial after the pilot.
pub fn write(sheet: &mut Sheet, document: &Document) {
    let tried: Vec<&Trial> = document
        .trials
        .iter()
        .filter(|t| t.stage != Stage::Pilot)
        .collect();
    if !document.arms.is_empty() || tried.is_empty() {
        return;
    }
    let mut arms: Vec<&Trial> = Vec::new();
    for trial in &tried {
        if arms.iter().all(|arm| arm.arm != trial.arm) {
            arms.push(trial);
        }
    }
    sheet.heading("What was tried so far");
    let head = ["configuration", "most/s", "p50, ms", "memory", "trials"];
    let mut table = table(sheet.style(), &head, 1);
    for arm in &arms {
        let mine = tried.iter().filter(|t| t.arm == arm.arm);
        let mine: Vec<&Trial> = mine.copied().collect();
        let mut row = vec![called(arm, &arms)];
        row.extend(figures(&mine));
        table.add_row(row);
    }
    sheet.table(table);
    sheet.prose(
        "Medians of the trials until now, without those of the pilot. They decide nothing: configurations that ran in different blocks met \
         the machine at different times.",
    );
}

/// The settings, with the name where another arm has the same.
fn called(arm: &Trial, arms: &[&Trial]) -> String {
    let called = |of: &Trial| run::called(of.settings, &of.environment);
    let own = called(arm);
    match arms.iter().filter(|other| called(other) == own).count() {
        ..=1 => own,
        _ => format!("{own} ({})", arm.arm),
    }
}

fn figures(trials: &[&Trial]) -> [String; 4] {
    let counting: Vec<&Trial> = trials.iter().copied().filter(|t| t.counts()).collect();
    let of = |figure: &dyn Fn(&Trial) -> Option<f64>| {
        median(counting.iter().filter_map(|trial| figure(trial)).collect())
    };
    let shown =
        |value: Option<f64>, words: fn(f64) -> String| value.map_or_else(|| NONE.to_owned(), words);
    let all = trials.len();
    [
        shown(of(&|trial| trial.capacity_per_s()), rate),
        // An infinite one, where requests fail, is the greatest.
        shown(
            of(&|trial| {
                Some(
                    trial
                        .objective
                        .as_ref()?
                        .response
                        .p50_ms
                        .unwrap_or(f64::INFINITY),
                )
            }),
            |ms| number_of_ms(Some(ms).filter(|ms| ms.is_finite())),
        ),
        shown(
            of(&|trial| Some(trial.memory.as_ref()?.compared_bytes()? as f64)),
            |pss| bytes(pss as u64),
        ),
        match counting.len() {
            counting if counting == all => all.to_string(),
            counting => format!("{counting}/{all}"),
        },
    ]
}
