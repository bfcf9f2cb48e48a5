//! What a recorder says of itself.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Whether records reach a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// They do.
    #[default]
    Recording,
    /// The disk is full; recording goes on when there is room.
    Paused,
    /// Recording has ended at its limit.
    LimitReached,
    /// Recording has ended with an error of the medium.
    Failed,
    /// The recording is finished: the mirror ended, or a reload removed the shadows.
    Ended,
}

impl State {
    /// No record reaches a file any more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::LimitReached | Self::Failed | Self::Ended)
    }

    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Recording,
        Self::Paused,
        Self::LimitReached,
        Self::Failed,
        Self::Ended,
    ];

    /// In metrics.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Recording => "recording",
            Self::Paused => "paused",
            Self::LimitReached => "limit_reached",
            Self::Failed => "failed",
            Self::Ended => "ended",
        }
    }
}

/// Records that are in no file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// The disk was full.
    pub no_space: u64,
    /// Another error of the medium ended the recording.
    pub failed: u64,
    /// They fit into no block.
    pub too_large: u64,
    /// The block that they waited for exceeded the limit of all files.
    pub limit: u64,
}

/// What became of the records. Those that come after the limit are not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Whether records reach a file now.
    pub state: State,
    /// In a file.
    pub written: u64,
    /// In none.
    pub lost: Lost,
    /// Bytes of all files.
    pub bytes: u64,
    /// Files begun.
    pub files: u32,
    /// The last of them.
    pub path: PathBuf,
}

/// A recorder's state has changed. Given once.
#[derive(Debug)]
pub enum Change {
    /// The disk is full.
    Paused {
        /// The file that was written, or was to be begun.
        path: PathBuf,
        /// The system's words.
        error: io::Error,
        /// Bytes that are free, where the system says.
        free: Option<u64>,
    },
    /// The disk is full at the end of the recording.
    Unwritten {
        /// The last file.
        path: PathBuf,
        /// The system's words.
        error: io::Error,
        /// The last records, which are not in the file.
        lost: u64,
    },
    /// There is room again.
    Resumed {
        /// The file that is written.
        path: PathBuf,
        /// Records that were lost meanwhile.
        lost: u64,
    },
    /// All files together have as many bytes as they may have.
    LimitReached {
        /// The last file.
        path: PathBuf,
        /// The limit.
        limit: u64,
    },
    /// An error that is no full disk.
    Failed {
        /// The file that was written, or was to be begun.
        path: PathBuf,
        /// The system's words.
        error: io::Error,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused { path, error, free } => {
                write!(f, "{}: {} ({error})", path.display(), full(error))?;
                if let Some(free) = free {
                    write!(f, ", {} MiB are free", free >> 20)?;
                }
                f.write_str(": recording is paused and resumes when there is room")
            }
            Self::Unwritten { path, error, lost } => write!(
                f,
                "{}: {} ({error}): the last {lost} records are not written",
                path.display(),
                full(error)
            ),
            Self::Resumed { path, lost } => write!(
                f,
                "{}: there is room again: recording resumes; {lost} records were lost",
                path.display()
            ),
            Self::LimitReached { path, limit } => write!(
                f,
                "{}: the files have reached the limit of {limit} bytes: recording has ended",
                path.display()
            ),
            Self::Failed { path, error } => write!(
                f,
                "{}: {error}: nothing is recorded any more; correct that and start the mirror again",
                path.display()
            ),
        }
    }
}

fn full(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::QuotaExceeded => "the disk quota is used up",
        _ => "the disk is full",
    }
}
