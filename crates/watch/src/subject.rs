//! One process or one endpoint.

use crate::process_row::ProcessRow;
use crate::reading::{Process, ProcessKey};
use inspect::Sums;

/// What is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Process(ProcessKey),
    Endpoint(String),
}

/// A process's name in an address.
pub fn id((process, _): &ProcessKey) -> String {
    format!(
        "{}-{}-{}",
        process.pid, process.start_ticks, process.created_mono_ns
    )
}

impl Subject {
    /// What it is, and its name in an address.
    #[must_use]
    pub fn named(&self) -> (&'static str, String) {
        match self {
            Self::Process(key) => ("process", id(key)),
            Self::Endpoint(name) => ("endpoint", name.clone()),
        }
    }

    /// Whether a process has a part of it.
    #[must_use]
    pub fn is_of(&self, process: &Process) -> bool {
        match self {
            Self::Process(key) => process.id == *key,
            Self::Endpoint(name) => process.endpoints.iter().any(|one| one.name == *name),
        }
    }

    /// What a process did of it; `None`: it has no part of it, or ended no request of this endpoint.
    pub fn sums(&self, row: &ProcessRow) -> Option<Sums> {
        match self {
            Self::Process(key) => (row.process.id == *key).then_some(row.sums),
            Self::Endpoint(name) => {
                let found = row.endpoints.iter().find(|(one, _)| one == name);
                found.map(|(_, sums)| *sums)
            }
        }
    }
}
