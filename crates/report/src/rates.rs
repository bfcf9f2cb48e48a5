//! What the search at the end of `tune` came to: the highest rate that meets the objective, of each arm.

use crate::Style;
use crate::figures::{counted, rate};
use crate::sheet::{Sheet, first_line};
use crate::tables::{NONE, align_left, table};
use comfy_table::Table;
use run::{ArmRates, Document, RateEnding, RatePoint, RateSearch};

/// How windows decide a rate.
pub(crate) const DECIDED: &str = "A rate is decided by most of its full-length windows, at least two, because a pause of the machine \
                                  can spoil one; a short window counts too where it did not meet the objective.";

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
        sheet.prose(DECIDED);
    }
    for arm in &document.rates {
        for point in undecided(&arm.search) {
            sheet.labelled(
                "- ",
                &format!(
                    "{}: {}/s is not decided: it met the objective in {} of {}",
                    arm.words(),
                    rate(point.asked_per_s),
                    point.windows_met,
                    counted(point.windows, "window")
                ),
            );
        }
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
            "A dash: these windows do not show it. powerband capacity takes the time that it needs for one \
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

/// Rates between the two of the table, of which too few windows did not meet the objective.
fn undecided(search: &RateSearch) -> impl Iterator<Item = &RatePoint> {
    let allowed = search.objective.allowed_violation_rate();
    let between = search.met_per_s.zip(search.broke_per_s);
    search.curve.iter().filter(move |point| {
        let at = point.asked_per_s;
        let is_between = between.is_some_and(|(met, broke)| met < at && at < broke);
        is_between && point.windows > 0 && point.violation_rate > allowed
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A window between the two rates of the table would seem to contradict them.
    #[test]
    fn a_rate_between_the_two_with_too_few_windows_is_named_as_not_decided() {
        let sample = include_str!("../../../contract/samples/run/tune.json");
        let mut document: Document = serde_json::from_str(sample).unwrap();
        let search = &mut document.rates[0].search;
        (search.met_per_s, search.broke_per_s) = (Some(125.0), Some(140.0));
        let point = |asked_per_s: f64, violation_rate| RatePoint {
            asked_per_s,
            violation_rate,
            windows: 1,
            windows_met: 0,
            ..search.curve[0].clone()
        };
        search.curve = vec![point(132.0, 0.24), point(140.0, 0.1), point(112.0, 0.0)];
        let style = Style {
            width: 400,
            colour: false,
        };
        let mut sheet = Sheet::new(style);
        write(&mut sheet, &document);
        let page = sheet.into_text();
        let named = "132/s is not decided: it met the objective in 0 of 1 window";
        assert_eq!(page.matches("is not decided").count(), 1, "{page}");
        assert!(page.contains(named), "{page}");
        assert!(page.contains("A rate is decided by most of"), "{page}");
    }
}
