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

impl Subject {
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
