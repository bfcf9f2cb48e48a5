//! The page of `powerband advise`: changes that are worth a test, each with its evidence; checks that suggest nothing.

use crate::Style;
use crate::figures::{counted, duration, percent, plain};
use crate::sheet::Sheet;
use crate::shell::typed;
use run::advise::{Document, LookedAt, Suggestion};

/// The whole page.
pub fn advise_page(document: &Document, style: Style) -> String {
    sheet(document, style).into_text()
}

pub(crate) fn sheet(document: &Document, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    sheet.bold(&plain(&document.sentence));
    sheet.labelled("Looked at  ", &looked_at(&document.looked_at));
    if !document.suggestions.is_empty() {
        sheet.heading("Worth a test");
    }
    for suggestion in &document.suggestions {
        sheet.labelled(
            "- ",
            &plain(&format!("{}: {}", suggestion.check, settings(suggestion))),
        );
        sheet.labelled("    evidence  ", &plain(&suggestion.evidence));
        sheet.labelled("    effect    ", &plain(&suggestion.effect));
        sheet.labelled("    may cost  ", &plain(&suggestion.cost));
    }
    if let Some(command) = &document.command {
        sheet.heading("Test them on your application, in its folder");
        sheet.line(&plain(command));
        sheet.prose(
            "Each is compared with today's settings: throughput, p95 response time and memory; powerband advise --prove does it for you. \
             Add --slo for a limit on latency, and --age 50k-requests for memory that grows. The page of the comparison ends with the settings that are worth setting.",
        );
    }
    let left = document.left.iter();
    let left: Vec<String> = left
        .map(|one| plain(&format!("{}: {}", one.check, one.evidence)))
        .collect();
    sheet.listed("Left as it is", &left);
    let not_known = document.not_known.iter();
    let not_known: Vec<String> = not_known
        .map(|one| plain(&format!("{}: {}", one.check, one.why)))
        .collect();
    sheet.listed("Not known", &not_known);
    let not_read = document.not_read.iter();
    let not_read: Vec<String> = not_read
        .map(|one| plain(&format!("{}: {}", one.file, one.reason)))
        .collect();
    sheet.listed("Not read", &not_read);
    sheet
}

fn settings(suggestion: &Suggestion) -> String {
    let typed = typed(&suggestion.settings);
    let variables = suggestion
        .variables
        .iter()
        .filter(|(name, _)| !name.starts_with("POWERBAND_"));
    let set: Vec<String> = variables
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    match set.is_empty() {
        true => typed.join(", "),
        false => format!("{} ({})", typed.join(", "), set.join(" ")),
    }
}

fn looked_at(at: &LookedAt) -> String {
    let mut parts = vec![format!("{} on Ruby {}", plain(&at.server), plain(&at.ruby))];
    parts.extend(at.application.as_ref().map(|root| plain(root)));
    let lost = at.processes.iter().any(|process| process.lost > 0);
    parts.push(format!(
        "the {}{} of {}, whose logs cover {} together{}",
        if lost { "latest " } else { "" },
        counted(at.collections, "collection"),
        counted(at.processes.len() as u64, "process"),
        duration(at.watched_s),
        if lost {
            "; the requests on record cover more time"
        } else {
            ""
        }
    ));
    let slowest = |share: Option<f64>, kind: &str| {
        share.map(|share| {
            format!(
                "{} of the slowest 1 % of the requests waited for a {kind} collection",
                percent(share)
            )
        })
    };
    parts.extend(slowest(at.slowest_by_major, "major"));
    parts.extend(slowest(at.slowest_by_minor, "minor"));
    if at.left_out > 0 {
        let count = counted(at.left_out, "process");
        parts.push(format!(
            "{count} of other servers or earlier starts left out"
        ));
    }
    parts.push(match at.environment_of {
        Some(pid) => format!("the variables that process {pid} was started with"),
        None => "no variables, so that Ruby's defaults are assumed".to_owned(),
    });
    parts.join("; ")
}
