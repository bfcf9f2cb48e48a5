//! Why an experiment stopped before its verdict.

use crate::progress::Watcher;
use run::FolderError;

/// Why an experiment stopped before its verdict.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// The user stopped it; the measurements so far are in the folder.
    #[error("interrupted")]
    Interrupted,
    /// Something that was asked cannot be done here: exit code 2.
    #[error("{0}")]
    Configuration(String),
    /// Measuring gave no honest answer: exit code 3.
    #[error("{0}")]
    NoAnswer(String),
    /// The run folder failed.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

impl Stopped {
    /// A command that failed, unless it failed because the user stopped everything.
    pub(crate) fn hook(watcher: &dyn Watcher, message: String) -> Stopped {
        if watcher.cancelled() {
            Stopped::Interrupted
        } else {
            Stopped::Configuration(message)
        }
    }
}

/// How an attempt ended early.
#[derive(Debug)]
pub enum Failure {
    Interrupted,
    /// Would fail for every arm alike.
    Fatal(String),
    /// This trial does not count.
    Trial(String),
}
