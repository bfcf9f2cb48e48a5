//! The run folder of the verbs that make no run document: `capacity`, `leak` and `predict --validate`.

use super::experiments::{explain, id, note_image};
use crate::progress::Terminal;
use crate::signals::Signals;
use crate::{Failure, output};
use experiment::{Experiment, Stopped};
use jiff::Timestamp;
use run::{Folder, Lock};

#[derive(Debug)]
pub struct RunFolder {
    pub folder: Folder,
    /// Shows other runs on this machine that this one works.
    _held: Lock,
}

impl RunFolder {
    /// Makes the folder, named by the verb, and takes it for this process.
    pub fn begin(
        experiment: &Experiment,
        verb: &str,
        now: Timestamp,
        terminal: &Terminal,
    ) -> Result<RunFolder, Failure> {
        let is_new = !experiment.runs_dir.exists();
        let name = id(now, verb, experiment.seed);
        let usage = |e: run::FolderError| Failure::usage(e.to_string());
        let folder = Folder::create(&experiment.runs_dir, &name).map_err(usage)?;
        let _held = folder.lock().map_err(usage)?;
        note_image(experiment, is_new, terminal);
        Ok(RunFolder { folder, _held })
    }

    /// The failure of a run without a document. Removes the folder, unless it holds the logs of a started server (`has_logs`) and the run
    /// ended without an answer.
    pub fn failed(&self, stopped: &Stopped, signals: &Signals, has_logs: bool) -> Failure {
        if !(has_logs && matches!(stopped, Stopped::NoAnswer(_))) {
            let _ = std::fs::remove_dir_all(self.folder.path());
        }
        let mut failure = explain(stopped);
        if let (Stopped::Interrupted, Some(signal)) = (stopped, signals.received()) {
            failure.code = 128 + signal;
        }
        failure
    }

    /// Says where the document is.
    pub fn say_kept(&self, quiet: bool) {
        if !quiet {
            output::say(&format!("kept in {}", self.folder.path().display()));
        }
    }
}
