//! The page of `powerband doctor`: what was found, worst first; what is fine; what could not be looked at.

use crate::Style;
use crate::sheet::Sheet;
use run::doctor::{Document, Finding, Severity};

/// The whole page.
pub fn doctor_page(document: &Document, style: Style) -> String {
    sheet(document, style).into_text()
}

pub(crate) fn sheet(document: &Document, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    sheet.bold(&document.sentence);
    looked_at(&mut sheet, document);
    for (severity, heading) in [
        (Severity::SpoilsMeasurements, "Spoils measurements"),
        (Severity::HarmsServer, "Harms the server"),
        (Severity::Note, "Notes"),
    ] {
        let findings = document.findings.iter();
        let of: Vec<&Finding> = findings.filter(|f| f.severity == severity).collect();
        if of.is_empty() {
            continue;
        }
        sheet.heading(heading);
        for finding in of {
            let Finding { check, what, .. } = finding;
            sheet.labelled("- ", &format!("{check}: {what}"));
            sheet.labelled("    evidence  ", &finding.evidence);
            sheet.labelled("    why       ", &finding.why);
            sheet.labelled("    remedy    ", &finding.remedy);
        }
    }
    let fine = document.fine.iter();
    let fine: Vec<String> = fine
        .map(|one| format!("{}: {}", one.check, one.evidence))
        .collect();
    sheet.listed("Looked at and found fine", &fine);
    sheet.listed("Could not be looked at", &not_known(document));
    sheet
}

/// Each reason once, with its checks.
fn not_known(document: &Document) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in &document.not_known {
        match reasons.iter_mut().find(|(why, _)| *why == one.why) {
            Some((_, checks)) => checks.push(&one.check),
            None => reasons.push((&one.why, vec![&one.check])),
        }
    }
    let reasons = reasons.into_iter();
    reasons
        .map(|(why, checks)| format!("{}: {why}", checks.join(", ")))
        .collect()
}

fn looked_at(sheet: &mut Sheet, document: &Document) {
    let asked = &document.looked_at;
    let mut parts = vec![format!("this host, over {:.1} s", asked.observed_s)];
    if let Some(pid) = asked.pid {
        parts.push(format!(
            "process {pid} with the environment that it was started with"
        ));
    }
    if let Some(application) = &asked.application {
        parts.push(format!("the application in {application}"));
    }
    if let Some(config) = &asked.config {
        parts.push(config.clone());
    }
    sheet.labelled("Looked at  ", &parts.join(", "));
}
