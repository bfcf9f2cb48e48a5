//! What on a host spoils a measurement: those of [`checks`](crate::checks) that do, for runs to write down. Pure.

use crate::check::{Finding, Severity};
use crate::checks;
use crate::facts::HostFacts;

/// What these facts say against measuring on this host.
#[must_use]
pub fn warnings(facts: &HostFacts) -> Vec<Finding> {
    let checked = checks::of_host(facts).into_iter();
    let findings = checked.filter_map(|checked| checked.outcome.into_finding());
    findings
        .filter(|finding| finding.severity == Severity::SpoilsMeasurements)
        .collect()
}
