//! The reasons why a file, or a part of it, counts in no figure.

use crate::instant::printable;
use flight::{FlightError, Header, Skipped};
use run::inspect::NotRead;
use std::io::ErrorKind;
use std::path::Path;

/// What of a file is not whole.
pub(crate) fn skipped(path: &Path, skipped: &Skipped) -> Option<NotRead> {
    let parts = [
        (
            skipped.missing,
            "records beyond the end of the file, which was cut off",
        ),
        (
            skipped.torn,
            "records that were being overwritten as they were read",
        ),
        (skipped.unwritten, "records that were never finished"),
        (
            skipped.endpoints_missing,
            "entries of the endpoint table beyond the end of the file, which was cut off",
        ),
        (
            skipped.pool_samples,
            "samples of connection pools that were not whole",
        ),
    ];
    let missing: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!missing.is_empty()).then(|| NotRead {
        file: printable(&path.display().to_string()),
        partly: true,
        reason: missing.join("; "),
    })
}

/// A file that was not read.
#[must_use]
pub fn refused(path: &Path, error: &FlightError) -> NotRead {
    let reason = match error {
        // The path stands before the reason.
        FlightError::Io { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            format!("{source}{}", run::AS_ITS_USER)
        }
        FlightError::Io { source, .. } => source.to_string(),
        FlightError::NotAFile { .. } => "no regular file".to_owned(),
        other => other.to_string(),
    };
    NotRead {
        file: printable(&path.display().to_string()),
        partly: false,
        reason,
    }
}

/// A file without a log of collections.
#[must_use]
pub fn without_log(path: &Path, header: &Header) -> NotRead {
    NotRead {
        file: printable(&path.display().to_string()),
        partly: true,
        reason: format!(
            "the agent of process {} keeps no log of collections: it is an older one ({})",
            header.pid, header.agent_version
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_user_is_named_with_what_to_do() {
        let path = Path::new("/dev/shm/powerband/0/1-2.flight");
        let denied = FlightError::Io {
            path: path.to_owned(),
            source: ErrorKind::PermissionDenied.into(),
        };
        let said = refused(path, &denied);
        assert_eq!(said.file, path.display().to_string());
        assert!(said.reason.contains("sudo -u USER"), "{}", said.reason);
        let folder = crate::sources::InspectError::Source {
            path: path.to_owned(),
            reason: ErrorKind::PermissionDenied.into(),
        };
        let said = folder.to_string();
        assert!(
            said.contains("chmod") && !said.contains("name a folder"),
            "{said}"
        );
    }
}
