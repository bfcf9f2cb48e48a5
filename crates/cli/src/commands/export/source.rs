//! The folder that is read, and one reading at a time.

use crate::Failure;
use crate::commands::flight_counters;
use metrics::{Family, Reading, Shown};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A folder of flight files.
#[derive(Debug)]
pub struct Source {
    /// `None`: where the agent writes.
    folder: Option<PathBuf>,
    /// `None`: every application.
    application: Option<String>,
    endpoints: usize,
    last: Mutex<Option<Last>>,
}

/// What the folder held, or why that is not known.
pub type Read = Result<Arc<Reading>, Arc<Failure>>;

#[derive(Debug)]
struct Last {
    ended: Instant,
    read: Read,
}

impl Source {
    pub fn new(folder: Option<PathBuf>, application: Option<String>, endpoints: usize) -> Source {
        Source {
            folder,
            application,
            endpoints,
            last: Mutex::new(None),
        }
    }

    /// The folder that holds the files.
    pub fn folder(&self) -> PathBuf {
        flight_counters::with_files(self.folder.as_deref())
    }

    /// The root folder of the only application that is read; `None`: every application.
    pub fn application(&self) -> Option<&str> {
        self.application.as_deref()
    }

    /// Refuses a folder that this user will never be able to read. One that is not there yet, or empty, may come.
    pub fn check(&self) -> Result<(), Failure> {
        let folder = self.folder();
        match std::fs::read_dir(&folder) {
            Err(e) if e.kind() == ErrorKind::PermissionDenied => Err(Failure::no_answer(format!(
                "{}: {e}; {}",
                folder.display(),
                flight_counters::WHOSE
            ))),
            Err(e) if e.kind() == ErrorKind::NotADirectory => Err(Failure::usage(format!(
                "{} is no folder; name the folder of the flight files",
                folder.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Reads the folder. A caller that comes during another's reading waits for its end and gets the same.
    pub fn read(&self) -> Read {
        self.read_for(Instant::now())
    }

    /// For a caller that asked at this instant.
    fn read_for(&self, asked: Instant) -> Read {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Last { ended, read }) = &*last
            && *ended >= asked
        {
            return read.clone();
        }
        let read = flight_counters::read(self.folder.as_deref(), self.application.as_deref());
        let read = read.map(Arc::new).map_err(Arc::new);
        *last = Some(Last {
            ended: Instant::now(),
            read: read.clone(),
        });
        read
    }

    /// The families of a reading, and the version of this program.
    pub fn families(&self, reading: &Reading, opentelemetry: bool) -> Vec<Family> {
        let shown = Shown {
            endpoints: self.endpoints,
            opentelemetry,
        };
        let mut families = metrics::families(&reading.sums, &reading.gauges, shown);
        families.push(Family::build_info(env!("CARGO_PKG_VERSION")));
        families
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_yet_is_no_reason_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let source = |path: PathBuf| Source::new(Some(path), None, 20);
        let later = source(folder.path().join("later"));
        assert!(later.check().is_ok());
        let said = later.read().unwrap_err();
        assert_eq!(said.code, 3);
        assert!(said.message.contains("later"), "{}", said.message);
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(source(file).check().unwrap_err().code, 2);
    }

    #[test]
    fn who_waited_for_a_reading_has_it_and_who_comes_later_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let source = Source::new(Some(folder.path().to_owned()), None, 20);
        let asked = Instant::now();
        let first = source.read().unwrap_err();
        assert!(Arc::ptr_eq(&first, &source.read_for(asked).unwrap_err()));
        assert!(!Arc::ptr_eq(&first, &source.read().unwrap_err()));
    }
}
