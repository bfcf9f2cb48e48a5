//! Sums and times of an endpoint, of a class of jobs or of a process.

use crate::band::Sample;
use crate::sums::{Measured, Sums};
use flight::{Histogram, Snapshot};

/// Requests of one endpoint, or jobs of one class.
#[derive(Debug, Default)]
pub struct Group {
    pub jobs: bool,
    pub sums: Sums,
    pub wall: Histogram,
    pub gvl_wait: Histogram,
    pub queue: Histogram,
    pub samples: Vec<Sample>,
    /// Some of its requests are in no ring any more.
    pub records_lost: bool,
}

impl Group {
    /// All requests and jobs of a process.
    pub(crate) fn of_process(snapshot: &Snapshot, measured: &Measured) -> Self {
        let mut group = Self {
            records_lost: true,
            ..Self::default()
        };
        let further = snapshot.header.counts_further();
        group.sums.add(&snapshot.totals, measured, further);
        for endpoint in &snapshot.endpoints {
            group.wall = group.wall.plus(&endpoint.wall);
            group.gvl_wait = group.gvl_wait.plus(&endpoint.gvl_wait);
            group.queue = group.queue.plus(&endpoint.queue);
        }
        group
    }
}

/// Whether an endpoint of this name is a class of jobs.
pub(crate) fn is_job(name: &str) -> bool {
    name.starts_with("job ")
}
