//! The way from the baseline to the answer, or to the best alternative, one change at a time.

use crate::figures::{change_with_interval, rounded_change};
use crate::reading::{advised, advises_change, called, decides};
use crate::sheet::Sheet;
use crate::tables;
use run::{Document, Step};

/// The section; nothing where no step is known.
pub fn write(sheet: &mut Sheet, document: &Document) {
    let Some(verdict) = document
        .verdict
        .as_ref()
        .filter(|v| !v.path.is_empty() || !v.not_isolated.is_empty())
    else {
        return;
    };
    sheet.heading(&if advises_change(verdict) {
        format!(
            "From today's settings to {}, one change at a time",
            advised(document)
                .map_or_else(|| verdict.settings.to_string(), |arm| called(document, arm))
        )
    } else {
        "The best alternative, which is not recommended: its changes one at a time".to_owned()
    });
    if verdict.path.iter().any(|step| !step.refuted) {
        sheet.table(tables::path(document, sheet.style()));
    } else if !verdict.path.is_empty() {
        sheet.prose(&without_figures(&verdict.path));
    }
    if let Some(said) = together(document, &verdict.path) {
        sheet.prose(&said);
    }
    for reason in &verdict.not_isolated {
        sheet.labelled("- ", reason);
    }
}

/// The steps in a sentence, where no step has a figure.
fn without_figures(path: &[Step]) -> String {
    let steps: Vec<String> = path
        .iter()
        .map(|step| {
            let settings = || (step.from.to_string(), step.to.to_string());
            let (from, to) = step.values.clone().unwrap_or_else(settings);
            format!("{} from {from} to {to}", step.knob)
        })
        .collect();
    format!(
        "The changes: {}. How much each change brings is not known: no trial measured one alone, and the model's predictions do not \
         fit this run's measurements.",
        steps.join(", then ")
    )
}

/// Whether steps of which some were predicted come to the total that was measured.
fn together(document: &Document, path: &[Step]) -> Option<String> {
    let (first, last) = (path.first()?, path.last()?);
    let chained = path.windows(2).all(|pair| pair[0].to == pair[1].from);
    let predicted = path.iter().any(|step| !step.measured);
    if !chained || !predicted || path.iter().any(|s| s.refuted || s.values.is_some()) {
        return None;
    }
    let settings = |name: &str| {
        let arm = document.arms.iter().find(|arm| arm.name == name)?;
        Some(arm.settings)
    };
    let measured = document.comparisons.iter().find(|c| {
        decides(c)
            && settings(&c.baseline) == Some(first.from)
            && settings(&c.candidate) == Some(last.to)
    })?;
    let product: f64 = path.iter().map(|step| step.ratio).product();
    let (low, high) = measured.low.zip(measured.high)?;
    Some(format!(
        "The model predicted the steps marked so; no trial measured them. All steps together come to {}, and all changes at once were \
         measured at {}: {}",
        rounded_change(product),
        change_with_interval(measured.ratio, Some(low), Some(high)),
        match (low..=high).contains(&product) {
            true => "the predictions fit the measurement.",
            false =>
                "the predictions do not fit the measurement, and only the measured total counts.",
        }
    ))
}
