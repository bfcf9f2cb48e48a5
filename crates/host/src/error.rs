//! Why something about the host could not be learned.

use std::io;
use std::path::{Path, PathBuf};

/// Why a reading failed.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: io::Error },

    #[error("{path} does not hold {expected}, as Linux 4.14 and later write it; found {found:?}")]
    Unexpected {
        path: PathBuf,
        expected: &'static str,
        found: String,
    },

    #[error("process {pid} does not run")]
    Gone { pid: u32 },

    #[error(
        "{path} is missing, so that the children of a process cannot be found; the kernel needs \
         CONFIG_PROC_CHILDREN, which Linux distributions set"
    )]
    NoChildren { path: PathBuf },

    #[error("cannot read a process's CPU affinity: {source}")]
    Affinity { source: io::Error },

    #[error("cannot {action} {path}: {source}")]
    Group {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },

    #[error(
        "no control group above this process enables {controllers} for its children (cgroup.subtree_control)"
    )]
    NoController { controllers: String },

    #[error("cannot start the sampling thread: {source}")]
    Thread { source: io::Error },
}

impl HostError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::Io { path, source }
    }

    pub(crate) fn group(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::Group {
            action,
            path,
            source,
        }
    }

    /// Keeps the first 80 characters of what was found.
    pub(crate) fn unexpected(path: &Path, expected: &'static str, found: &str) -> Self {
        Self::Unexpected {
            path: path.to_owned(),
            expected,
            found: found.chars().take(80).collect(),
        }
    }
}
