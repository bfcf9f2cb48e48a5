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

/// Where a trial that does not count leaves the experiment without an answer.
impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Stopped {
        match failure {
            Failure::Interrupted => Stopped::Interrupted,
            Failure::Fatal(why) => Stopped::Configuration(why),
            Failure::Trial(why) => Stopped::NoAnswer(why),
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
