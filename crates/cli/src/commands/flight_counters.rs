//! The counters of a folder of flight files, for `inspect --prometheus` and `export`.

use crate::Failure;
use flight::Life;
use metrics::{MetricsError, Reading};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const WHERE_TO_LOOK: &str =
    "start the server with powerband run -- CMD, or name the folder of its flight files";

/// What another user's folder needs.
pub const WHOSE: &str = "run this as the user whose servers write there";

/// The folder that holds files itself: of a folder of users, this user's. `None`: of the agent's.
pub fn with_files(folder: Option<&Path>) -> PathBuf {
    let Some(folder) = folder else {
        return own_in(&super::flight_root::flight_root());
    };
    let own = own_in(folder);
    match own.is_dir() {
        true => own,
        false => folder.to_owned(),
    }
}

fn own_in(root: &Path) -> PathBuf {
    ::inspect::folder_of_user(root, rustix::process::getuid().as_raw())
}

/// Adds up the files of one application, or all. `application` is its root folder.
pub fn read(folder: Option<&Path>, application: Option<&str>) -> Result<Reading, Failure> {
    let folder = &with_files(folder);
    let wanted = application.map(flight::application_of);
    let here = RefCell::new(BTreeSet::new());
    let mut reading = ::metrics::read(folder, wanted, |path, header| {
        let runs = flight::life(path, header) == Life::Runs;
        if runs && flight::runs_here(header) {
            here.borrow_mut().insert(header.pid);
        }
        runs
    })
    .map_err(|e| match &e {
        MetricsError::Io { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            Failure::no_answer(format!("{e}; {WHOSE}"))
        }
        MetricsError::Io { .. } => Failure::no_answer(format!("{e}; {WHERE_TO_LOOK}")),
        _ => Failure::no_answer(e.to_string()),
    })?;
    // A page of zeroes would take the place of the figures of earlier scrapes.
    if reading.sums == metrics::Sums::default() && reading.gauges.unrecorded.is_empty() {
        return Err(nothing(folder, application, reading.gauges.unreadable));
    }
    let resident = here.into_inner().into_iter().filter_map(host::memory::rss);
    reading.gauges.resident_bytes = resident.reduce(|a, b| a + b);
    Ok(reading)
}

fn nothing(folder: &Path, application: Option<&str>, unreadable: u64) -> Failure {
    let whose = application.map_or(String::new(), |root| format!(" of {root}"));
    let folder = folder.display();
    Failure::no_answer(match unreadable {
        0 => format!("no flight file{whose} is in {folder}; {WHERE_TO_LOOK}"),
        n => format!("no flight file{whose} in {folder} can be read, and {n} are there; {WHOSE}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_users_is_left_for_this_users_once() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        assert_eq!(with_files(Some(root)), root);
        let own = own_in(root);
        std::fs::create_dir_all(own_in(&own)).unwrap();
        assert_eq!(with_files(Some(root)), own);
        let agents = crate::commands::flight_root::flight_root();
        assert_eq!(with_files(None), own_in(&agents));
    }
}
