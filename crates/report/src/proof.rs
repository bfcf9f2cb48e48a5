//! What became of each suggestion of `advise` that was measured.

use crate::figures::{counted, plain};
use crate::markdown_table::{self, line, rows};
use crate::sheet::Sheet;
use crate::shell::typed;
use run::{Document, Judged, Proof};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A line for each, with its evidence; nothing of other runs.
pub fn write(sheet: &mut Sheet, document: &Document) {
    let Some(proof) = &document.proof else {
        return;
    };
    sheet.heading("What became of each suggestion");
    for tested in &proof.suggestions {
        let settings = typed(&tested.settings).join(", ");
        let said = judged(tested.judged.as_ref());
        sheet.labelled("- ", &plain(&format!("{}: {said}", tested.check)));
        sheet.labelled("    settings  ", &plain(&settings));
        sheet.labelled("    evidence  ", &plain(&tested.evidence));
    }
    if let Some(together) = &proof.together {
        sheet.labelled(
            "- ",
            &plain(&format!("all kept: {}", judged(Some(&together.judged)))),
        );
        sheet.labelled(
            "    settings  ",
            &plain(&typed(&together.settings).join(", ")),
        );
    }
    if let Some(rule) = rule(document, proof) {
        sheet.prose(&rule);
    }
}

/// The same as a table.
pub fn markdown(page: &mut String, document: &Document) {
    let Some(proof) = &document.proof else {
        return;
    };
    page.push_str("\n### What became of each suggestion\n\n");
    rows(page, &["suggestion", "settings", "result"], 3);
    let mut row = |check: &str, settings: &BTreeMap<String, String>, found: Option<&Judged>| {
        let cells = [
            check.to_owned(),
            format!("`{}`", typed(settings).join(", ")),
            markdown_table::plain(&judged(found)),
        ];
        line(page, &cells);
    };
    for tested in &proof.suggestions {
        row(&tested.check, &tested.settings, tested.judged.as_ref());
    }
    if let Some(together) = &proof.together {
        row("all kept", &together.settings, Some(&together.judged));
    }
    if let Some(rule) = rule(document, proof) {
        let _ = write!(page, "\n{}\n", markdown_table::plain(&rule));
    }
}

fn judged(found: Option<&Judged>) -> String {
    match found {
        Some(found) => format!("{} ({})", found.conclusion.word(), found.why),
        None => "not judged".to_owned(),
    }
}

/// What the words mean; nothing where none is used.
fn rule(document: &Document, proof: &Proof) -> Option<String> {
    proof
        .suggestions
        .iter()
        .find_map(|one| one.judged.as_ref())?;
    let plan = &document.plan;
    let response = match plan.objective.latency {
        Some(limit) => format!(
            "; a response time that is not shown to be longer is enough where {limit} is shown to be kept"
        ),
        None => String::new(),
    };
    let figures = document.comparisons.len() + document.latency.len() + document.memory.len();
    let memory = match plan.age {
        Some(age) => format!("after {}", counted(age.requests, "request")),
        None => "of the trials' own requests alone; --age 50k-requests measures it after more"
            .to_owned(),
    };
    let together = match &proof.together {
        Some(_) => {
            " All kept suggestions were compared together on fresh blocks; the answer rests on it."
        }
        None => "",
    };
    Some(format!(
        "Kept: throughput, response time or memory is better, and none of them is worse by more than the margin of {:.0} %{response}. \
         Refuted: one is worse, a limit is broken, or none can be better by more than the margin. Memory is {memory}. {figures} figures \
         were tested, each with its own error rate of {:.0} %.{together}",
        plan.margin * 100.0,
        plan.alpha * 100.0
    ))
}
