//! Processes that could not make their flight files: each leaves an empty file, the marker, and holds a lock on it.

use std::path::{Path, PathBuf};

use crate::directory::find_named;
use crate::error::FlightError;
use crate::file::open_regular;
use crate::life::is_locked;

/// A running process without a flight file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrecorded {
    /// Its marker.
    pub path: PathBuf,
    /// In its own PID namespace.
    pub pid: u32,
    /// The name of the error, such as `ENOSPC`.
    pub reason: String,
}

/// The running processes that have a marker in `<root>/<uid>/` or `<root>/`, ordered by path. Markers that processes have
/// left which were killed are not among them.
///
/// # Errors
/// When the root itself cannot be read.
pub fn unrecorded(root: &Path) -> Result<Vec<Unrecorded>, FlightError> {
    let markers = find_named(root, |path| named(path).is_some())?;
    let running = markers.into_iter().filter_map(|path| {
        let (pid, reason) = named(&path)?;
        let held = open_regular(&path).is_ok_and(|file| is_locked(&file));
        held.then_some(Unrecorded { path, pid, reason })
    });
    Ok(running.collect())
}

/// `<pid>-<start>-<nonce>.unrecorded-<error>`.
fn named(path: &Path) -> Option<(u32, String)> {
    let (stem, reason) = path.file_name()?.to_str()?.split_once(".unrecorded-")?;
    let mut parts = stem.split('-');
    let (pid, start, nonce) = (parts.next()?, parts.next()?, parts.next()?);
    let is_reason = reason.len() > 1
        && reason.starts_with('E')
        && reason
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let is_marker = parts.next().is_none()
        && start.parse::<u64>().is_ok()
        && nonce.len() == 8
        && nonce.bytes().all(|b| b.is_ascii_hexdigit())
        && is_reason;
    let pid = pid.parse().ok()?;
    is_marker.then(|| (pid, reason.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::FlockOperation;
    use std::fs::{self, File};

    #[test]
    fn a_marker_counts_while_its_process_holds_it() {
        let root = tempfile::tempdir().unwrap();
        let user = root.path().join("33");
        fs::create_dir(&user).unwrap();
        let held = user.join("11-22-0badcafe.unrecorded-ENOSPC");
        let file = File::create(&held).unwrap();
        rustix::fs::flock(&file, FlockOperation::LockExclusive).unwrap();
        File::create(user.join("12-22-0badcafe.unrecorded-EDQUOT")).unwrap();
        let wanted = [Unrecorded {
            path: held,
            pid: 11,
            reason: "ENOSPC".to_owned(),
        }];
        assert_eq!(unrecorded(root.path()).unwrap(), wanted);
        assert_eq!(unrecorded(&user).unwrap(), wanted);
        drop(file);
        assert_eq!(unrecorded(root.path()).unwrap(), []);
        assert!(unrecorded(&root.path().join("none")).is_err());
    }

    #[test]
    fn other_names_are_no_markers() {
        let of = |name: &str| named(Path::new(name));
        assert_eq!(
            of("/x/7-8-00000001.unrecorded-E95"),
            Some((7, "E95".to_owned()))
        );
        for name in [
            "7-8-00000001.flight",
            "7-8-00000001.unrecorded-",
            "7-8-00000001.unrecorded-E",
            "7-8-00000001.unrecorded-ENOSPC.bak",
            "7-8-0000001.unrecorded-ENOSPC",
            "7-8-00000001-9.unrecorded-ENOSPC",
            "x-8-00000001.unrecorded-ENOSPC",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
