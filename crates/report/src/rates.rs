//! What the search at the end of `tune` came to: the highest rate that meets the objective, of each arm.

use crate::Style;
use crate::figures::rate;
use crate::sheet::{Sheet, first_line};
use crate::tables::{NONE, align_left, table};
use comfy_table::Table;
use run::{ArmRates, Document, RateEnding};

/// The section; nothing where no search was asked for.
pub fn write(sheet: &mut Sheet, document: &Document) {
    let Some(objective) = document.plan.objective.latency else {
        return;
    };
    if document.rates.is_empty() && document.rates_skipped.is_none() {
        return;
    }
    sheet.heading(&format!(
        "Highest rate that meets p{} = {} ms, requests per second",
        objective.percentile, objective.limit_ms
    ));
    if !document.rates.is_empty() {
        sheet.table(rows(&document.rates, sheet.style()));
    }
    for arm in &document.rates {
        for warning in &arm.search.warnings {
            sheet.labelled("- ", &format!("{}: {}", arm.words(), first_line(warning)));
        }
    }
    if document.rates.iter().any(|arm| !closed(arm)) {
        sheet.prose(
            "A dash: the time that was left was too short to find it. powerband capacity takes the time that it needs for one \
             configuration, and draws the curve.",
        );
    }
    if let Some(why) = &document.rates_skipped {
        let not = match document.rates.is_empty() {
            true => "Not searched",
            false => "Not searched further",
        };
        sheet.prose(&format!("{not}: {why}."));
    }
}

fn closed(arm: &ArmRates) -> bool {
    arm.search.low_per_s.is_some() && arm.search.high_per_s.is_some()
}

fn rows(arms: &[ArmRates], style: Style) -> Table {
    let head = [
        "configuration",
        "highest rate\nthat met it",
        "lowest rate\nthat did not",
        "95 % sure:\nat least",
        "\nless than",
        "windows",
        "",
    ];
    let mut table = table(style, &head, 1);
    align_left(&mut table, head.len() - 1);
    for arm in arms {
        let search = &arm.search;
        let shown = |bound: Option<f64>| bound.map_or_else(|| NONE.to_owned(), rate);
        let remark = match search.ending {
            RateEnding::Found => "",
            RateEnding::NotEven => "no rate met it",
            RateEnding::AtLeast => "no higher rate could be sent",
            RateEnding::OutOfTime => "the time ran out first",
            RateEnding::Broken => "the server did not recover",
            RateEnding::GeneratorLate => "the generator was too late",
            RateEnding::Interrupted => "interrupted",
        };
        table.add_row(vec![
            arm.words(),
            shown(search.met_per_s),
            shown(search.broke_per_s),
            shown(search.low_per_s),
            shown(search.high_per_s),
            search.trials.len().to_string(),
            remark.to_owned(),
        ]);
    }
    table
}
