//! Finds the flight files of all processes under a root folder.

use small_sort::SmallSort;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::FlightError;
use crate::file::FlightFile;
use crate::snapshot::Snapshot;

/// A path and what reading it gave.
pub type FileResult = (PathBuf, Result<Snapshot, FlightError>);

/// Reads `<root>/<uid>/*.flight` and `<root>/*.flight`, ordered by path. A folder of another user that
/// may not be read stands in the result with its error.
///
/// # Errors
/// When the root itself cannot be read, for instance because no agent has made it.
pub fn read_dir(root: &Path) -> Result<Vec<FileResult>, FlightError> {
    read_all(root, FlightFile::snapshot)
}

/// Like [`read_dir`], but leaves the rings alone: see [`FlightFile::counters`].
///
/// # Errors
/// As for [`read_dir`].
pub fn read_dir_counters(root: &Path) -> Result<Vec<FileResult>, FlightError> {
    read_all(root, FlightFile::counters)
}

fn read_all(
    root: &Path,
    read: impl Fn(&FlightFile) -> Result<Snapshot, FlightError>,
) -> Result<Vec<FileResult>, FlightError> {
    Ok(find(root)?
        .into_iter()
        .map(|path| {
            let result = FlightFile::open(&path).and_then(|file| read(&file));
            (path, result)
        })
        .collect())
}

/// The paths that [`read_dir`] reads, without reading them: a folder of another user that may not be listed
/// stands among them.
///
/// # Errors
/// As for [`read_dir`].
pub fn find(root: &Path) -> Result<Vec<PathBuf>, FlightError> {
    find_named(root, |path| path.extension().is_some_and(|e| e == "flight"))
}

/// The same for files of other names.
pub(crate) fn find_named(
    root: &Path,
    named: impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, FlightError> {
    let mut found = Vec::new();
    for path in list(root)? {
        if named(&path) {
            found.push(path);
        } else if is_user_folder(&path) {
            match list(&path) {
                Ok(paths) => found.extend(paths.into_iter().filter(|p| named(p))),
                Err(FlightError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                }
                Err(_) => found.push(path),
            }
        }
    }
    found.small_sort();
    Ok(found)
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, FlightError> {
    let failed = |source| FlightError::Io {
        path: folder.to_owned(),
        source,
    };
    fs::read_dir(folder)
        .map_err(failed)?
        .map(|entry| entry.map(|e| e.path()).map_err(failed))
        .collect()
}

/// Folders of users are named by user id; others under the root are none of ours.
fn is_user_folder(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) && path.is_dir()
}
