//! Why a dump or a log is not read.

use std::io;

/// What is wrong with a dump or a log.
#[derive(Debug, thiserror::Error)]
pub enum HeapError {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A line is none of the format.
    #[error("line {line}: {why}")]
    Line {
        /// From 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// It would take too much memory.
    #[error("the heap has more than {most} {what}: too many to search")]
    TooLarge {
        /// So many may be.
        most: usize,
        /// Of these.
        what: &'static str,
    },
}
