//! What was asked for, as paths of flight files.

use crate::unrecorded::appended;
use flight::{FlightError, Unrecorded};
use small_sort::SmallSort;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Why there is nothing to inspect.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// What was named is not there, or may not be read.
    #[error("{path}: {reason}{}", remedy(reason))]
    Source { path: PathBuf, reason: io::Error },

    /// The agent's folder was never made.
    #[error(
        "no agent has written below {folder}; start the server with powerband run -- CMD, or name the folder that POWERBAND_DIR is set to there"
    )]
    NeverWritten { folder: PathBuf },

    /// A folder without files.
    #[error(
        "there is no flight file in {folder}{elsewhere}; is the server running with the agent, as this user?"
    )]
    NoFiles { folder: PathBuf, elsewhere: String },

    /// Nor can there be one.
    #[error("there is no flight file in {folder}{why}")]
    Unrecorded { folder: PathBuf, why: String },
}

fn remedy(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::PermissionDenied => run::AS_ITS_USER,
        _ => "; name a folder of flight files, or flight files (*.flight)",
    }
}

impl InspectError {
    /// Whether something was named that is not there, rather than nothing having been recorded.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Source { .. })
    }
}

/// Where the agent writes below a root for a user: a folder for each.
#[must_use]
pub fn folder_of_user(root: &Path, uid: u32) -> PathBuf {
    root.join(uid.to_string())
}

/// The flight files of folders and files; of the user's own folder below `root` when none are named. In a folder of
/// users the files of all are taken, and what of them may not be listed stands among the paths.
///
/// # Errors
/// When something named cannot be read, or no file is found.
pub fn files(named: &[PathBuf], root: &Path, uid: u32) -> Result<Vec<PathBuf>, InspectError> {
    let mut found = Vec::new();
    for path in named {
        let here = if path.is_dir() {
            in_folder(path)?
        } else {
            path.symlink_metadata()
                .map_err(|reason| refused(path, reason))?;
            vec![path.clone()]
        };
        if here.is_empty() {
            return Err(none_in(path, String::new()));
        }
        found.extend(here);
    }
    if named.is_empty() {
        found = own(root, uid)?;
    }
    found.small_sort();
    // A folder and a file in it, or one file under two names, is counted once.
    let mut seen = BTreeSet::new();
    found.retain(|path| match path.symlink_metadata() {
        Ok(file) => seen.insert((file.dev(), file.ino())),
        // Reading it says why.
        Err(_) => true,
    });
    Ok(found)
}

/// Running processes without a flight file, of the folders that are named, or of the user's own below `root` when
/// nothing is named.
#[must_use]
pub fn unrecorded(named: &[PathBuf], root: &Path, uid: u32) -> Vec<Unrecorded> {
    let own = [folder_of_user(root, uid)];
    let folders = if named.is_empty() { &own } else { named };
    let folders = folders.iter().filter(|path| path.is_dir());
    let found = folders.flat_map(|folder| flight::unrecorded(folder).unwrap_or_default());
    // A folder may be named twice, and together with one around it.
    let each: BTreeMap<PathBuf, Unrecorded> = found.map(|of| (of.path.clone(), of)).collect();
    each.into_values().collect()
}

fn own(root: &Path, uid: u32) -> Result<Vec<PathBuf>, InspectError> {
    let folder = folder_of_user(root, uid);
    let found = match in_folder(&folder) {
        Err(InspectError::Source { reason, .. }) if reason.kind() == io::ErrorKind::NotFound => {
            if !root.is_dir() {
                let folder = root.to_owned();
                return Err(InspectError::NeverWritten { folder });
            }
            Vec::new()
        }
        other => other?,
    };
    if found.is_empty() {
        return Err(none_in(&folder, others(root)));
    }
    Ok(found)
}

/// Folders of other users, one of whom the server may run as.
fn others(root: &Path) -> String {
    let mut folders: Vec<String> = in_folder(root)
        .unwrap_or_default()
        .iter()
        .filter_map(|path| {
            if path.is_dir() {
                Some(path.as_path())
            } else {
                path.parent()
            }
        })
        .map(|folder| folder.display().to_string())
        .collect();
    folders.dedup();
    if folders.is_empty() {
        return String::new();
    }
    format!(" (there are other users' in {})", folders.join(", "))
}

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, InspectError> {
    flight::find(folder).map_err(|e| match e {
        FlightError::Io { path, source } => refused(&path, source),
        other => refused(folder, io::Error::other(other)),
    })
}

fn refused(path: &Path, reason: io::Error) -> InspectError {
    InspectError::Source {
        path: path.to_owned(),
        reason,
    }
}

fn none_in(folder: &Path, elsewhere: String) -> InspectError {
    let why = appended(&flight::unrecorded(folder).unwrap_or_default());
    let folder = folder.to_owned();
    match why.is_empty() {
        true => InspectError::NoFiles { folder, elsewhere },
        false => InspectError::Unrecorded { folder, why },
    }
}
