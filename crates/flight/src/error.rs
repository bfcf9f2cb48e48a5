//! Why a flight file could not be read.

use std::io;
use std::path::PathBuf;

/// Why bytes or a file gave no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum FlightError {
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: io::Error },

    #[error("{path} is not a regular file; flight files are written by the agent, one per process")]
    NotAFile { path: PathBuf },

    #[error("not a flight file: it begins with \"{}\" instead of \"PBFLIGHT\"{}", found.escape_ascii(), of_events(found))]
    Foreign { found: Vec<u8> },

    /// The agent has reserved the file and is still filling its header. It passes within
    /// milliseconds; a file that stays so belongs to a process that died as it started.
    #[error("the agent is still making this file; read it again in a moment")]
    BeingMade,

    #[error(
        "flight file version {found} is not supported; this powerband reads version 1 and later \
         ones that only add fields"
    )]
    Version { found: u32 },

    #[error(
        "the file ends at byte {have}, inside its {section}, which needs {need} bytes; it was cut \
         off when it was copied"
    )]
    Truncated {
        section: &'static str,
        need: u64,
        have: u64,
    },

    #[error("the header says {field} = {value}, but {limit}; the file is damaged")]
    Layout {
        field: &'static str,
        value: u64,
        limit: &'static str,
    },

    #[error(
        "field {name:?} of the field table lies at bytes {offset}..{end}, in a record of \
         {record_size} bytes; the file is damaged"
    )]
    FieldOutside {
        name: String,
        offset: u16,
        end: u32,
        record_size: u32,
    },

    #[error(
        "the header describes {bytes} bytes, more than the {limit} that a flight file may have; \
         the file is damaged"
    )]
    TooLarge { bytes: u64, limit: u64 },

    #[error("{path} is no report of a set-up: {reason}")]
    Setup { path: PathBuf, reason: String },
}

/// Bursts and timelines are next to the flight files.
fn of_events(found: &[u8]) -> &'static str {
    if found.starts_with(crate::magic::EVENTS) {
        "; it is an events file, which powerband trace reads"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_bytes_are_shown_as_text_and_an_events_file_is_known() {
        let said = |found: &[u8]| {
            let found = found.to_vec();
            FlightError::Foreign { found }.to_string()
        };
        assert_eq!(
            said(b"GIF89a\x00\xff"),
            r#"not a flight file: it begins with "GIF89a\x00\xff" instead of "PBFLIGHT""#
        );
        assert!(
            said(crate::magic::EVENTS)
                .ends_with("; it is an events file, which powerband trace reads")
        );
    }
}
