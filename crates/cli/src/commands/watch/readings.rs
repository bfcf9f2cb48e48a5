//! The readings of what was asked for, one after the other.

use crate::Failure;
use crate::args::WatchArgs;
use ::watch::{Reader, Reading};
use std::path::PathBuf;
use std::time::Instant;

/// One reading after the other of what was asked for.
pub struct Readings {
    reader: Reader,
    sources: Vec<PathBuf>,
    root: PathBuf,
    application: Option<String>,
    began: Instant,
}

impl Readings {
    /// What the arguments name.
    pub fn of(args: &WatchArgs) -> Self {
        Self {
            reader: Reader::of(args.application.clone()),
            sources: args.sources.clone(),
            root: super::super::flight_root::flight_root(),
            application: args.application.clone(),
            began: Instant::now(),
        }
    }

    /// Fails where no process runs.
    pub fn read(&mut self) -> Result<Reading, Failure> {
        let files = super::super::inspect::found(&self.sources, &self.root)?;
        let now_ns = super::super::inspect::now_ns();
        let reading = self.reader.read(&files, self.began.elapsed(), now_ns);
        if !reading.processes.is_empty() {
            return Ok(reading);
        }
        Err(self.nothing_runs())
    }

    /// Why there is nothing to show.
    pub fn nothing_runs(&self) -> Failure {
        let of = self.application.as_ref();
        let of = of.map_or_else(String::new, |root| format!(" of --application = {root:?}"));
        Failure::no_answer(format!(
            "no process{of} runs that writes to the flight files in {}; powerband inspect shows what was recorded, powerband run -- CMD \
             starts a server with the agent",
            self.shown()
        ))
    }

    /// Where the files are.
    pub fn shown(&self) -> String {
        let uid = rustix::process::getuid().as_raw();
        let names: Vec<String> = match self.sources.as_slice() {
            [] => vec![::inspect::folder_of_user(&self.root, uid)],
            sources => sources.to_vec(),
        }
        .iter()
        .map(|path| path.display().to_string())
        .collect();
        names.join(", ")
    }
}
