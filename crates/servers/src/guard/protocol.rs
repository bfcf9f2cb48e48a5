//! What powerband and its guard say to each other: one JSON document a line, each way.
//!
//! Commands travel over the guard's standard input rather than in a file or in arguments, so that
//! the environment of a server, which may hold secrets, is written nowhere.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Exit;

/// What is removed at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remove {
    /// Files and empty folders, in order.
    pub files: Vec<PathBuf>,
    /// With all that they hold.
    pub folders: Vec<PathBuf>,
    /// Empty folders that powerband removes after it has read them. The guard removes them only if powerband is gone.
    pub orphaned: Vec<PathBuf>,
}

impl From<Vec<PathBuf>> for Remove {
    fn from(files: Vec<PathBuf>) -> Self {
        Remove {
            files,
            ..Remove::default()
        }
    }
}

impl Remove {
    /// What is gone already, or a folder that is not empty, is no reason to stay.
    pub(crate) fn now(&self) {
        for path in &self.files {
            let _ = if path.is_dir() {
                std::fs::remove_dir(path)
            } else {
                std::fs::remove_file(path)
            };
        }
        for folder in &self.folders {
            let _ = std::fs::remove_dir_all(folder);
        }
        for folder in &self.orphaned {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum Command {
    /// Comes first, once.
    Configure {
        /// The processors that the guard and all it starts may use; `None` leaves them as they are.
        cpus: Option<Vec<usize>>,
        /// How long processes have to end by themselves when powerband died.
        orphan_grace_ms: u64,
        remove: Remove,
    },
    Spawn {
        id: u32,
        words: Vec<String>,
        cwd: PathBuf,
        env: BTreeMap<String, String>,
        /// Standard error, and standard output unless `output` is given; appended to. `None`: the guard's standard error.
        log: Option<PathBuf>,
        output: Option<PathBuf>,
    },
    /// To a spawned process, by its reaper, so that no other process can be meant.
    Signal { id: u32, signal: i32 },
    /// SIGTERM to what was spawned, the grace, then the end of whatever is left.
    Stop { grace_ms: u64 },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event {
    /// Answers `Configure`.
    Ready { error: Option<String> },
    /// Answers `Spawn`.
    Started { id: u32, pid: u32 },
    /// Answers `Spawn`.
    NotStarted { id: u32, error: String },
    /// A spawned process ended, whatever the cause.
    Exited { id: u32, exit: Exit },
    /// The last word: who had to be killed, and who could not be.
    Ended { killed: Vec<u32>, left: Vec<u32> },
}
