//! What stands before the answer: memory that grows with the requests served.

use crate::figures::{bytes, counted, small_bytes};
use crate::reading::{advised, baseline, baseline_word, called};
use crate::sheet::Sheet;
use run::{ArmSummary, Document, Growth};
use small_sort::SmallSort;

const HEADING: &str =
    "The memory of the server still grew with the requests when the trials ended:";

const MEANING: &str = "Each trial is a fresh server, and figures for memory hold for the length of a trial only. Whether memory levels \
                       off later, powerband memory --pid PID --for 1h shows on a server with traffic. If it does not, no configuration \
                       fits for long in any memory: find what is kept, or have the server restarted in time.";

/// Writes it; nothing where no arm's memory was shown to grow.
pub fn write(sheet: &mut Sheet, document: &Document) {
    let growing = growing(document);
    if growing.is_empty() {
        return;
    }
    sheet.bold(HEADING);
    for sentence in growing {
        sheet.labelled("- ", &sentence);
    }
    sheet.prose(MEANING);
    sheet.line("");
}

/// The same in Markdown.
pub fn markdown(document: &Document) -> Option<String> {
    let growing = growing(document);
    let items: String = growing.iter().map(|s| format!("- {s}\n")).collect();
    (!growing.is_empty()).then(|| format!("**{HEADING}**\n\n{items}\n{MEANING}\n"))
}

/// A sentence for each arm concerned: the baseline first, then the one that is advised.
fn growing(document: &Document) -> Vec<String> {
    let first = baseline(document).map(|arm| &arm.name);
    let chosen = advised(document).map(|arm| &arm.name);
    let mut arms: Vec<(&ArmSummary, Growth)> = document
        .arms
        .iter()
        .filter_map(|arm| Some((arm, arm.growth?)))
        .collect();
    arms.small_sort_by_key(|(arm, _)| (Some(&arm.name) != first, Some(&arm.name) != chosen));
    let sentence = |(arm, growth): &(&ArmSummary, Growth)| {
        let is = match Some(&arm.name) == first {
            true => format!(" ({})", baseline_word(document)),
            false => String::new(),
        };
        let (low, high) = growth.interval;
        let (from, to) = growth.resident_bytes;
        format!(
            "{}{is}: {} a thousand requests ({} to {}, {}), from {} to {} within {}",
            called(document, arm),
            small_bytes(growth.bytes_per_thousand),
            small_bytes(low),
            small_bytes(high),
            counted(growth.trials, "trial"),
            bytes(from),
            bytes(to),
            match arm.aged {
                Some(_) => "the second half of its requests",
                None => "a trial",
            }
        )
    };
    arms.iter().map(sentence).collect()
}
