//! Checks as the document that is printed.

use host::{Checked, Outcome, Severity};
use run::doctor::{self, Document, Finding, Fine, LookedAt, NotKnown};
use small_sort::SmallSort;

use crate::asked::Asked;
use crate::checks::BOOT;

/// The document, worst findings first, else in the order of the checks.
pub(crate) fn document(asked: &Asked, looked_at: LookedAt, checked: &[Checked]) -> Document {
    let mut document = Document {
        schema: doctor::SCHEMA.to_owned(),
        powerband_version: asked.version.clone(),
        checked_at: asked.checked_at.clone(),
        sentence: String::new(),
        exit_code: 0,
        looked_at,
        findings: Vec::new(),
        fine: Vec::new(),
        not_known: Vec::new(),
    };
    for one in checked {
        let check = one.check.to_owned();
        match &one.outcome {
            Outcome::Found(found) => document.findings.push(Finding {
                check,
                severity: severity(found.severity),
                what: found.what.clone(),
                evidence: found.evidence.clone(),
                why: found.why.clone(),
                remedy: found.remedy.clone(),
            }),
            Outcome::Fine(evidence) => document.fine.push(Fine {
                check,
                evidence: evidence.clone(),
            }),
            Outcome::NotKnown(why) => document.not_known.push(NotKnown {
                check,
                why: why.clone(),
            }),
        }
    }
    document
        .findings
        .small_sort_by_key(|finding| finding.severity);
    let bad = |finding: &Finding| finding.severity != doctor::Severity::Note;
    document.exit_code = u8::from(document.findings.iter().any(bad));
    document.sentence = sentence(&document);
    document
}

fn severity(severity: Severity) -> doctor::Severity {
    match severity {
        Severity::SpoilsMeasurements => doctor::Severity::SpoilsMeasurements,
        Severity::HarmsServer => doctor::Severity::HarmsServer,
        Severity::Note => doctor::Severity::Note,
    }
}

fn sentence(document: &Document) -> String {
    let count = |severity| {
        document
            .findings
            .iter()
            .filter(|f| f.severity == severity)
            .count()
    };
    let spoils = count(doctor::Severity::SpoilsMeasurements);
    let harms = count(doctor::Severity::HarmsServer);
    let notes = count(doctor::Severity::Note);
    let things = |count: usize| match count {
        1 => "1 thing".to_owned(),
        count => format!("{count} things"),
    };
    let verb = |count: usize, one: &str, many: &str| {
        if count == 1 {
            one.to_owned()
        } else {
            many.to_owned()
        }
    };
    let mut parts = Vec::new();
    if spoils > 0 {
        parts.push(format!(
            "{} here {} measurements",
            things(spoils),
            verb(spoils, "spoils", "spoil")
        ));
    }
    if harms > 0 {
        parts.push(format!(
            "{} {} a production server",
            things(harms),
            verb(harms, "harms", "harm")
        ));
    }
    if parts.is_empty() {
        parts.push(
            "Nothing was found that spoils a measurement or harms a production server".to_owned(),
        );
    }
    let boot = document.findings.iter().find(|found| found.check == BOOT);
    let boots = |found: &Finding| format!("{}. ", run::sentence_case(&found.what));
    let mut text = boot.map(boots).unwrap_or_default() + &parts.join(", ");
    if notes > 0 {
        text.push_str(&format!("; {notes} {}", verb(notes, "note", "notes")));
    }
    let (fine, unknown) = (document.fine.len(), document.not_known.len());
    text.push_str(&format!(
        ". {fine} {} found nothing wrong; {unknown} could not be made.",
        verb(fine, "check", "checks")
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn made(checked: &[Checked]) -> Document {
        let asked = Asked {
            version: "1".to_owned(),
            checked_at: "2026-01-01T00:00:00Z".to_owned(),
            pid: None,
            configured: None,
            config: None,
            span: Duration::ZERO,
        };
        let looked_at = LookedAt {
            pid: None,
            application: None,
            config: None,
            observed_s: 1.0,
        };
        document(&asked, looked_at, checked)
    }

    fn finding(check: &'static str, severity: Severity) -> Checked {
        Checked::new(check, Outcome::found(severity, "w", "e", "y", "r"))
    }

    #[test]
    fn notes_and_what_is_not_known_are_no_reason_to_fail() {
        let unknown = Checked::new("b", Outcome::not_known("no rights"));
        let document = made(&[finding("a", Severity::Note), unknown]);
        assert_eq!(document.exit_code, 0);
        assert_eq!(
            document.sentence,
            "Nothing was found that spoils a measurement or harms a production server; 1 note. 0 checks found nothing \
             wrong; 1 could not be made."
        );
    }

    #[test]
    fn the_sentence_begins_with_a_server_that_boots() {
        let document = made(&[
            finding("swap", Severity::Note),
            finding(BOOT, Severity::Note),
        ]);
        assert!(
            document.sentence.starts_with("W. Nothing was found"),
            "{}",
            document.sentence
        );
    }

    #[test]
    fn the_worst_stands_first() {
        let fine = Checked::new("d", Outcome::fine("well"));
        let document = made(&[
            finding("a", Severity::Note),
            finding("b", Severity::HarmsServer),
            finding("c", Severity::SpoilsMeasurements),
            fine,
        ]);
        let order: Vec<&str> = document.findings.iter().map(|f| f.check.as_str()).collect();
        assert_eq!(order, ["c", "b", "a"]);
        assert_eq!(document.exit_code, 1);
        assert!(document.sentence.starts_with(
            "1 thing here spoils measurements, 1 thing harms a production server; 1 note."
        ));
    }
}
