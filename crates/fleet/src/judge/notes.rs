//! Notes on slices and draws that are left out or unusual, with their counts.

use crate::experiment::Experiment;
use crate::join::Fleet;
use run::{counted, first_of};

pub(super) fn notes(experiment: &Experiment, fleet: &Fleet) -> Vec<String> {
    let out = &fleet.left_out;
    let mut notes = Vec::new();
    let mut count = |count: u64, what: &str| {
        if count > 0 {
            notes.push(format!("{} left out: {what}.", counted(count, "slice")));
        }
    };
    count(
        out.holes,
        "the instance was not scraped at one of its ends, or was gone for a while",
    );
    count(
        out.resets,
        "a counter went down, as after a restart in a new container",
    );
    count(out.restarts, "the arm changed within it");
    count(out.idle, "no request ended in it");
    count(
        out.mixed,
        "processes of two arms answered at once, and the unit is the process",
    );
    let instances: Vec<&str> = out.instances_with_two.iter().map(String::as_str).collect();
    if out.stragglers > 0 {
        notes.push(format!(
            "{} had two arms at once: kept as the arm that was there first.",
            counted(out.stragglers, "slice")
        ));
    }
    if !instances.is_empty() {
        notes.push(format!("Two arms at once on {}.", first_of(&instances, 5)));
    }
    let halted = fleet
        .units
        .iter()
        .filter(|unit| unit.label.halted.is_some())
        .count();
    if halted > 0 {
        let are = if halted == 1 { "is" } else { "are" };
        notes.push(format!(
            "{} of a halted arm ran {} and {are} used only for the check of the shares; draws that are first seen after the halt are not \
             compared with that arm.",
            counted(halted, "draw"),
            experiment.arms[0].name
        ));
    }
    if !out.strangers.is_empty() {
        let labels: Vec<&str> = out.strangers.iter().map(String::as_str).collect();
        notes.push(format!(
            "Labels of no arm of this file: {}.",
            first_of(&labels, 5)
        ));
    }
    if !fleet.warnings.is_empty() {
        let warnings: Vec<&str> = fleet.warnings.iter().map(String::as_str).collect();
        notes.push(format!(
            "Prometheus warns, so units or slices may be missing: {}.",
            first_of(&warnings, 3)
        ));
    }
    notes
}
