//! Reads what processes left: flight files, and the events kept next to each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use flight::events::{Events, bursts_path, events_path, read_events};
use flight::{FlightFile, Snapshot};

use crate::PredictError;

/// What one process left.
#[derive(Debug, Clone)]
pub struct ProcessTrace {
    pub path: PathBuf,
    pub flight: Snapshot,
    /// The course of sampled requests (`POWERBAND_BURSTS`).
    pub bursts: Option<Events>,
    /// All threads' events, where a trace of them was kept (`powerband trace --keep`).
    pub trace: Option<Events>,
}

impl ProcessTrace {
    /// Its application's root folder, whichever the release.
    pub(crate) fn application(&self) -> &str {
        flight::application_of(&self.flight.header.app_root)
    }
}

/// The root folders of their applications, each once.
pub(crate) fn applications(processes: &[ProcessTrace]) -> Vec<String> {
    let roots: BTreeSet<&str> = processes.iter().map(ProcessTrace::application).collect();
    roots.into_iter().map(str::to_owned).collect()
}

/// A p99 of fewer has less than 5 slower than it.
pub const LEAST_REQUESTS: usize = 500;

/// Which requests count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Those that arrived at the application since, and before (nanoseconds since 1970).
    pub since_ns: Option<u64>,
    pub until_ns: Option<u64>,
    /// Of processes of the application with this root folder.
    pub application: Option<String>,
    /// Fewer are refused. Below the usual number there is a throughput, and no p99.
    pub least: usize,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            since_ns: None,
            until_ns: None,
            application: None,
            least: LEAST_REQUESTS,
        }
    }
}

impl Selection {
    pub(crate) fn takes(&self, wall_ns: u64) -> bool {
        (self.since_ns.unwrap_or(0)..self.until_ns.unwrap_or(u64::MAX)).contains(&wall_ns)
    }

    /// The processes of the application that is asked for.
    pub(crate) fn of_application(
        &self,
        mut processes: Vec<ProcessTrace>,
    ) -> Result<Vec<ProcessTrace>, PredictError> {
        let Some(asked) = &self.application else {
            return Ok(processes);
        };
        let found = applications(&processes);
        processes.retain(|process| process.application() == flight::application_of(asked));
        match processes.is_empty() && !found.is_empty() {
            true => Err(PredictError::OtherApplications {
                asked: asked.clone(),
                found,
            }),
            false => Ok(processes),
        }
    }
}

/// Reads the flight files of `paths` and the files next to them.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<ProcessTrace>, PredictError> {
    paths.iter().map(|path| read_one(path)).collect()
}

fn read_one(path: &Path) -> Result<ProcessTrace, PredictError> {
    let failed = |path: &Path, reason: String| PredictError::NotRead {
        path: path.to_owned(),
        reason,
    };
    let file = FlightFile::open(path).map_err(|e| failed(path, e.to_string()))?;
    let flight = file.snapshot().map_err(|e| failed(path, e.to_string()))?;
    let beside = |path: PathBuf| match path.exists() {
        true => read_events(&path)
            .map(Some)
            .map_err(|e| failed(&path, e.to_string())),
        false => Ok(None),
    };
    Ok(ProcessTrace {
        path: path.to_owned(),
        flight,
        bursts: beside(bursts_path(path))?,
        trace: beside(events_path(path))?,
    })
}
