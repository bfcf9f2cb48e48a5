//! One process of an interval.

use crate::baseline::Change;
use crate::group::{Group, is_job};
use flight::{Origin, Snapshot};
use run::inspect::Process;

/// A process for itself.
#[derive(Debug)]
pub(crate) struct OfProcess {
    pub process: Process,
    pub change: Change,
    pub group: Group,
    pub place: Place,
}

/// Where a process ran, and what it served there.
#[derive(Debug, Default)]
pub(crate) struct Place {
    pub arm: String,
    /// The file that the process was saved in.
    pub saved_in: Option<String>,
    pub origin: Option<Origin>,
    pub requests: u64,
    pub errors: u64,
    pub wall_ns: u64,
}

impl Place {
    pub(crate) fn of(snapshot: &Snapshot, saved_in: Option<String>) -> Self {
        let mut place = Self {
            saved_in,
            arm: snapshot.header.about.arm.clone(),
            origin: snapshot.header.origin,
            ..Self::default()
        };
        for endpoint in snapshot.endpoints.iter().filter(|e| !is_job(&e.name)) {
            place.requests += endpoint.totals.requests;
            place.errors += endpoint.totals.server_errors;
            place.wall_ns += endpoint.totals.wall_ns;
        }
        place
    }
}
