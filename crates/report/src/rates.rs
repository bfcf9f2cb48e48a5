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
        "Highest rate that meets {objective}, requests per second"
    ));
    if !document.rates.is_empty() {
        sheet.table(rows(&document.rates, sheet.style()));
    }
    for arm in &document.rates {
        for warning in &arm.search.warnings {
            sheet.labelled("- ", &format!("{}: {}", arm.words(), first_line(warning)));
        }
    }
    for arm in &document.rates {
        if let Some(said) = below_the_common_rate(document, arm) {
            sheet.prose(&said);
        }
    }
    if document.rates.iter().any(|arm| !closed(arm)) {
        sheet.prose(
            "A dash: not found, for the reason in its row. powerband capacity takes the time that it needs for one \
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

/// That the latency windows kept the limit at a rate above the highest that the search found.
fn below_the_common_rate(document: &Document, arm: &ArmRates) -> Option<String> {
    let (common, met) = (document.plan.rate_per_s?, arm.search.met_per_s?);
    let limit = document.plan.objective.latency?;
    let summary = document.arms.iter().find(|a| a.name == arm.arm)?;
    let kept = summary.violation_rate? <= limit.allowed_violation_rate();
    (met < common && kept).then(|| {
        format!(
            "The latency windows of {} kept the limit at {}/s, above the {}/s found here. Near the highest rate some windows keep it \
             and others do not: plan with the lower of the two.",
            arm.words(),
            rate(common),
            rate(met)
        )
    })
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
