//! Why configurations with more processes than cores were tried: the reason once, then what is predicted of each.

use crate::figures::counted;
use crate::reading::called;
use crate::sheet::Sheet;
use run::{ArmSummary, Document};

/// Below this share of waiting a request leaves its core hardly ever.
const WAITS: f64 = 0.1;

/// The section; nothing where no configuration had more.
pub fn write(sheet: &mut Sheet, document: &Document) {
    let mut listed: Vec<String> = document
        .arms
        .iter()
        .filter_map(|arm| Some(format!("{}{}", called(document, arm), note(arm)?)))
        .collect();
    if !listed.is_empty() {
        listed.insert(0, reason(document));
    }
    sheet.listed("Why more processes than cores were tried", &listed);
}

fn reason(document: &Document) -> String {
    let share = document.profile.as_ref().map(|profile| {
        let own_ms = profile.io_ms + profile.held_ms;
        profile.io_ms / own_ms.max(f64::MIN_POSITIVE)
    });
    let pinning = &document.plan.pinning;
    let cores = match pinning.generator_cores.len() {
        0 => String::new(),
        ours => format!(
            "the server has {} here, since the generator has {ours} of the host's; ",
            counted(pinning.server_cores.len(), "core")
        ),
    };
    let cost = "each process costs memory and context switches";
    match share {
        Some(share) if share < WAITS => format!(
            "{cores}requests wait for I/O for only {:.0} % of their time (without waits for the GVL and for locks), so \
             little is expected of it, and {cost}: tried in case today's profile misleads",
            100.0 * share
        ),
        share => {
            let share = share.map_or_else(String::new, |share| {
                format!(
                    " ({:.0} % of its time without its waits for the GVL and for locks)",
                    100.0 * share
                )
            });
            format!(
                "{cores}while a request waits for I/O{share}, its process may leave a core idle that another process can use; {cost}"
            )
        }
    }
}

/// What the arm's fate says of it.
fn note(arm: &ArmSummary) -> Option<String> {
    let note = &arm.fate[arm.fate.find("(more processes than ")?..];
    let note = &note[..note.find(')').unwrap_or(note.len())];
    // The number of cores is the same for all.
    Some(
        note.find(": ")
            .map_or_else(String::new, |at| note[at..].to_owned()),
    )
}
