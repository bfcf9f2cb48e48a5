//! What on a host spoils a measurement: those of [`checks`](crate::checks) that do, for runs to write down. Pure.

use serde::{Deserialize, Serialize};

use crate::check::{Finding, Severity};
use crate::checks;
use crate::facts::HostFacts;

/// Something that spoils a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What is wrong, in a clause.
    pub what: String,
    /// The numbers that say so.
    pub evidence: String,
    /// What to do about it.
    pub remedy: String,
}

/// What these facts say against measuring on this host.
#[must_use]
pub fn warnings(facts: &HostFacts) -> Vec<Warning> {
    let checked = checks::of_host(facts);
    let findings = checked.iter().filter_map(|checked| checked.finding());
    findings
        .filter(|finding| finding.severity == Severity::SpoilsMeasurements)
        .map(Warning::from)
        .collect()
}

impl From<&Finding> for Warning {
    fn from(finding: &Finding) -> Self {
        Self {
            what: finding.what.clone(),
            evidence: finding.evidence.clone(),
            remedy: finding.remedy.clone(),
        }
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; {}", self.what, self.evidence, self.remedy)
    }
}
