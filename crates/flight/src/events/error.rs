//! Why an events file could not be read or asked for.

use std::io;
use std::path::PathBuf;

/// Why bytes or a file gave no events.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: io::Error },

    #[error(
        "{path} is not a regular file; events files are made next to flight files, one per process"
    )]
    NotAFile { path: PathBuf },

    #[error("not an events file: it begins with \"{}\" instead of \"PBEVENTS\"", found.escape_ascii())]
    Foreign { found: Vec<u8> },

    #[error("events file version {found} is not supported; this powerband reads version 1")]
    Version { found: u32 },

    #[error(
        "the file ends at byte {have}, inside its header, which needs {need} bytes; it was cut off when it was copied"
    )]
    Truncated { need: u64, have: u64 },

    #[error("the header says {field} = {value}, but {limit}; the file is damaged")]
    Layout {
        field: &'static str,
        value: u64,
        limit: &'static str,
    },

    #[error("{path} has {bytes} bytes, more than the {limit} that an events file may have")]
    TooLarge {
        path: PathBuf,
        bytes: u64,
        limit: u64,
    },

    #[error("cannot make room for {bytes} bytes of events at {path}: {source}")]
    NoRoom {
        path: PathBuf,
        bytes: u64,
        source: io::Error,
    },

    /// The file system promised room and then took none: on a full disk a write through a mapping would kill the server.
    #[error(
        "the file system of {path} does not set room aside for a file (does it compress?); let the agent record on a \
         tmpfs or on ext4 or XFS, with POWERBAND_DIR"
    )]
    NothingSetAside { path: PathBuf },

    #[error(
        "{path} is not a file in its own user's folder, with one name: the agent makes no such file, and it is left alone"
    )]
    Misplaced { path: PathBuf },
}
