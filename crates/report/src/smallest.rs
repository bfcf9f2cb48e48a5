//! The smallest cluster for a rate: what `tune --least memory` advises or keeps, its memory, and how many of it fit.

use crate::figures::{bytes, counted, rate};
use crate::reading::{advised, baseline, called};
use crate::sheet::Sheet;
use run::{ArmSummary, Document, Least};

/// The section; nothing of runs that were asked something else, or have no answer.
pub fn write(sheet: &mut Sheet, document: &Document) {
    let objective = &document.plan.objective;
    let (Some(Least::Memory), Some(per_s), Some(arm)) = (
        objective.least,
        objective.must_carry_per_s,
        advised(document),
    ) else {
        return;
    };
    let Some(held) = held(arm) else {
        return;
    };
    sheet.heading("The smallest cluster for the rate");
    let within = objective
        .latency
        .map_or_else(String::new, |limit| format!(" within {limit}"));
    let when = document.plan.age.map_or_else(
        || "by the end of a trial's windows".to_owned(),
        |age| format!("after {}", counted(age.requests, "request")),
    );
    let today = baseline(document)
        .filter(|today| today.name != arm.name)
        .and_then(|today| Some(format!("; today's settings {}", self::held(today)?)));
    sheet.prose(&format!(
        "{} serves {} a second{within} in {held} {when}{}.",
        called(document, arm),
        rate(per_s),
        today.unwrap_or_default()
    ));
    if let Some(fitting) = fitting(document, arm) {
        sheet.prose(&fitting);
    }
}

/// `226 MiB (95 % interval of the mean 220 MiB to 232 MiB)`.
fn held(arm: &ArmSummary) -> Option<String> {
    let used = bytes(arm.pss_bytes?);
    Some(match arm.pss_interval {
        Some((low, high)) => format!(
            "{used} (95 % interval of the mean {} to {})",
            bytes(low),
            bytes(high)
        ),
        None => used,
    })
}

/// How many such servers the limit has room for, by the upper end of the interval.
fn fitting(document: &Document, arm: &ArmSummary) -> Option<String> {
    let (_, high) = arm.pss_interval?;
    let asked = document.plan.objective.max_memory_bytes;
    let machine = arm.aged.as_ref().and_then(|aged| aged.fits);
    let limit = asked.or(machine.map(|fits| fits.limit_bytes))?;
    let whose = match (asked, document.plan.cgroup_memory_bytes) {
        (Some(_), Some(_)) => "the container's limit less 10 %",
        (Some(_), None) => "the limit",
        (None, _) => "what a server may use of the machine",
    };
    let growing = match arm.growth {
        Some(_) => " Its memory grows with the requests, so that fewer will fit later.",
        None => "",
    };
    Some(format!(
        "It fits {} into {} ({whose}), each time with the memory at the upper end of that interval.{growing}",
        counted(limit / high.max(1), "time"),
        bytes(limit)
    ))
}
