//! What the model predicted of each configuration before it was tried, next to what
//! was measured.

use crate::figures::{counted, percent};
use crate::sheet::Sheet;
use crate::tables;
use run::{Document, Model, ModelKind, ModelScore};

/// Nothing where nothing was predicted.
pub fn write(sheet: &mut Sheet, document: &Document) {
    if document.arms.iter().all(|a| a.predicted_per_s.is_none()) {
        return;
    }
    sheet.heading("Predicted and measured");
    sheet.table(tables::predicted(document, sheet.style()));
    let Some(model) = &document.model else {
        sheet.prose("Formulas (mean value analysis) gave these from the first trial. They predict throughput alone.");
        return;
    };
    sheet.prose(&origin(model));
    if let Some(contradiction) = &model.contradiction {
        sheet.prose(&contradiction.to_string());
    }
    if let Some(score) = &model.score {
        sheet.prose(&came_out(score));
    }
}

fn origin(model: &Model) -> String {
    match (model.kind, &model.trace, &model.reason) {
        (ModelKind::Simulator, Some(trace), _) => format!(
            "The simulator calculated this before anything else was tried, from {} of the pilot (today's settings), {}.",
            counted(trace.requests, "request"),
            if trace.bursts {
                "each played back with its own times of running Ruby and of waiting, in the order recorded"
            } else {
                "of each of which only the total times of running Ruby and of waiting are known"
            }
        ),
        (ModelKind::Formulas, _, Some(reason)) => {
            format!(
                "Formulas (mean value analysis) gave these, since the simulator could not be used: {reason}."
            )
        }
        _ => "Formulas (mean value analysis) gave these.".to_owned(),
    }
}

fn came_out(score: &ModelScore) -> String {
    let mut off = vec![format!("{} in throughput", percent(score.capacity))];
    off.extend(score.p50.map(|p50| format!("{} in p50", percent(p50))));
    off.extend(score.p99.map(|p99| format!("{} in p99", percent(p99))));
    let last = off.pop().unwrap_or_default();
    let off = match off.as_slice() {
        [] => last,
        first => format!("{} and {last}", first.join(", ")),
    };
    let mut text = format!(
        "Over {}, the mean error of these predictions was {off}",
        counted(score.arms, "configuration")
    );
    if score.pairs > 0 {
        text.push_str(&format!(
            ". Of {} whose throughput differs by over 5 %, {} had the predicted order",
            counted(score.pairs, "pair"),
            score.pairs_in_order
        ));
    }
    text.push('.');
    text
}
