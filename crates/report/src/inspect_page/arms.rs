//! Arms side by side, and their pods.

use super::ms;
use crate::figures::{change_with_interval, counted, grouped};
use crate::sheet::Sheet;
use crate::tables::{NONE, in_parts};
use run::inspect::{Arm, OverPods};

pub fn table_of(sheet: &mut Sheet, arms: &[Arm]) {
    let Some(first) = arms.first() else { return };
    sheet.heading("Requests by arm (POWERBAND_ARM; each pod counts the same)");
    let difference = format!("against {} (95 %)", name(&first.arm));
    let head = [
        "arm",
        "pods",
        "requests",
        "failed",
        "wall, ms (95 %)",
        &difference,
    ];
    let mut rows = Vec::new();
    for arm in arms {
        let against = arm
            .against
            .as_ref()
            .filter(|against| against.why_not.is_none());
        rows.push(vec![
            name(&arm.arm).to_owned(),
            grouped(arm.pods.len() as u64),
            grouped(arm.requests),
            grouped(arm.errors),
            wall(&arm.wall_ms),
            against.map_or(NONE.to_owned(), |against| {
                let ratio = against.ratio;
                change_with_interval(ratio.estimate, ratio.low, ratio.high)
            }),
        ]);
    }
    sheet.tables(in_parts(sheet.style(), &head, &rows));
    for arm in arms {
        if let Some(why) = arm
            .against
            .as_ref()
            .and_then(|against| against.why_not.as_ref())
        {
            sheet.prose(&format!("{} cannot be judged: {why}.", name(&arm.arm)));
        }
    }
    sheet.line("");
    let head = ["arm", "requests", "failed", "wall, ms", "pod"];
    let mut rows = Vec::new();
    for (arm, pod) in arms
        .iter()
        .flat_map(|arm| arm.pods.iter().map(move |pod| (arm, pod)))
    {
        let processes = match pod.pids[..] {
            [pid] => format!("process {pid}"),
            _ => counted(pod.pids.len() as u64, "process"),
        };
        rows.push(vec![
            name(&arm.arm).to_owned(),
            grouped(pod.requests),
            grouped(pod.errors),
            ms(pod.wall_ms),
            match (&pod.file, pod.pid_namespace) {
                (Some(file), _) => format!("{processes} of {file}"),
                (None, Some(namespace)) => format!("{processes} of namespace {namespace}"),
                (None, None) => processes,
            },
        ]);
    }
    sheet.tables(in_parts(sheet.style(), &head, &rows));
}

fn name(arm: &str) -> &str {
    if arm.is_empty() { "(no arm)" } else { arm }
}

fn wall(wall: &OverPods) -> String {
    match wall.low.zip(wall.high) {
        Some((low, high)) => format!("{} ({} to {})", ms(wall.estimate), ms(low), ms(high)),
        None => ms(wall.estimate),
    }
}
