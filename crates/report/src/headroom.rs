//! How far today's traffic is from what the advised configuration serves, and what a deploy takes.

use crate::figures::{bytes, rate};
use crate::reading::{advised, latency_known};
use crate::sheet::Sheet;
use run::{ArmSummary, Document, Headroom, RateSearch};

pub fn write(sheet: &mut Sheet, document: &Document) {
    let Some(room) = document.verdict.as_ref().and_then(|v| v.headroom.as_ref()) else {
        return;
    };
    sheet.heading("Headroom");
    let arm = advised(document);
    if let Some(arm) = arm {
        traffic(sheet, document, arm, room);
    }
    sheet.prose(&format!(
        "It takes {:.1} s to start; {}",
        room.boot_s,
        overlap(document, arm, room)
    ));
}

fn traffic(sheet: &mut Sheet, document: &Document, arm: &ArmSummary, room: &Headroom) {
    let searched = rates_of_advised(document);
    if let Some(asked) = document.plan.rate_per_s {
        let asked = rate(asked);
        let latency = match (latency_known(arm), searched) {
            // The search has checked it at its rates.
            (true, Some(_)) => String::new(),
            (true, None) => format!(" (latency was checked at {asked}/s only)"),
            (false, _) => " (its latency is not known: no window counts)".to_owned(),
        };
        // A reader takes a rate that was not given for the application's traffic.
        let whose = match document.plan.rate_from_per_s {
            Some(_) => ", a rate of this test and not of your traffic,",
            None => "",
        };
        sheet.prose(&format!(
            "{asked} requests a second{whose} are {:.0} % of the most that it answers{latency}.",
            room.utilisation_at_rate * 100.0
        ));
    }
    let of_what = match searched {
        Some(search) if search.decided => "the highest rate that met the objective",
        Some(_) => {
            "the highest rate that met the objective at first impression, which is not proven"
        }
        None => "the most that it answers",
    };
    let unknown = match (document.plan.objective.latency, searched) {
        (Some(limit), None) => format!(
            " Whether {limit} is kept at that rate is not known: powerband capacity measures it."
        ),
        _ => String::new(),
    };
    sheet.prose(&format!(
        "Add capacity when traffic reaches {} a second, 80 % of {of_what}: beyond that, queues grow fast.{unknown}",
        rate(room.add_capacity_at_per_s)
    ));
}

/// Memory while the servers of two deploys run.
fn overlap(document: &Document, arm: Option<&ArmSummary>, room: &Headroom) -> String {
    let Some(needed) = room.deploy_overlap_bytes else {
        return "how much memory two deploys need while they overlap cannot be said, since it grows."
            .to_owned();
    };
    let limit = document.plan.objective.max_memory_bytes;
    let until = arm
        .zip(limit)
        .and_then(|(arm, limit)| arm.thousands_until(limit));
    let more = until.map_or(
        "",
        |_| ", and more if its memory goes on growing (see below)",
    );
    format!(
        "while two deploys of it run side by side, they need {}{more}.",
        bytes(needed)
    )
}

/// The search for the highest rate of the configuration that the verdict advises, where it found one.
fn rates_of_advised(document: &Document) -> Option<&RateSearch> {
    let arm = document.verdict.as_ref()?.arm.as_ref()?;
    let rates = document.rates.iter().find(|rates| rates.arm == *arm)?;
    Some(&rates.search).filter(|search| search.met_per_s.is_some())
}
