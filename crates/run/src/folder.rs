//! The run folder on disk.
//!
//! ```text
//! powerband-runs/20261120-214512-tune-1f3a/
//!   run.json            the document without raw histograms, rewritten after each trial
//!   trials/ID.json      one trial each, raw histograms included, written once
//!   trials/ID/          its server's log and flight files
//!   capacity.json       instead of run.json, where `powerband capacity` made the folder
//!   capacity.svg        its chart
//!   leak.json           instead of run.json, where `powerband leak` made the folder
//!   validation.json     instead of run.json, where `powerband predict --validate` made the folder
//!   key                 the run's secret key: 32 random bytes, behind the digests in run.json's `asked`
//!   typed.json          the command line, but for secrets: what --resume need not be given again
//!   lock                held while a process works on the folder, with its id
//! ```
//!
//! Every file is written next to its place and renamed, so that a reader sees the old or the new, never a half.

use crate::document::{Document, SCHEMA};
use crate::trial::Trial;
use crate::typed::Typed;
use crate::{capacity, leak, validation};
use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The file that is locked while a process works on a folder.
pub const LOCK: &str = "lock";
/// Length of a run's key.
const KEY_BYTES: usize = 32;
/// What `powerband capacity` writes instead of run.json.
pub(crate) const CAPACITY_FILE: &str = "capacity.json";
/// What `powerband leak` writes instead of run.json.
pub(crate) const LEAK_FILE: &str = "leak.json";
/// What `powerband predict --validate` writes instead of run.json.
pub(crate) const VALIDATION_FILE: &str = "validation.json";

/// A run folder that exists.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

/// Held while a process works on a run; the kernel lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// What can go wrong with a run folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The system refused.
    #[error("cannot {action} {path}: {source}{}", remedy(action, source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// No folder, or one without a document.
    #[error("there is no run in {0}: it has no run.json; powerband runs lists the runs")]
    NoRun(PathBuf),
    /// A file that is no run document of this version.
    #[error("{path} is no run document of version {SCHEMA}: {why}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        why: String,
    },
    /// A key file of another length.
    #[error(
        "{path} has {length} bytes instead of {KEY_BYTES}: it is no key of a run; start a new run"
    )]
    NoKey {
        /// The file.
        path: PathBuf,
        /// Its length.
        length: usize,
    },
    /// Another process measures in it.
    #[error(
        "a run in {path} is {worker}; wait for its end, or stop it{}, then try again",
        worker.pid.map_or_else(String::new, |pid| format!(" (kill {pid})"))
    )]
    Busy {
        /// The folder.
        path: PathBuf,
        /// The process.
        worker: Worker,
    },
    /// Not what was listed.
    #[error("{0} has changed meanwhile and stays; list the runs again")]
    Changed(PathBuf),
}

/// The end of a message on something that only another user may read.
pub const AS_ITS_USER: &str =
    "; read it as the user that it belongs to (sudo -u USER), or let this user read it (chmod)";

/// The end of a message on a run folder that cannot be written or read.
fn remedy(action: &str, source: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::{
        FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
    };
    const ANOTHER: &str = "; name a folder that you can write with --runs DIR";
    match source.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => {
            "; free some room (powerband runs --prune deletes old runs), or name a folder on another disk with --runs DIR"
        }
        PermissionDenied | ReadOnlyFilesystem if action != "read" => ANOTHER,
        PermissionDenied => AS_ITS_USER,
        _ if action == "create" => ANOTHER,
        _ => "",
    }
}

pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Io {
        action,
        path,
        source,
    }
}

/// A look whether a process works on a folder holds the lock for a moment: it is tried again before the folder is busy.
const TRIES: u32 = 10;
pub(crate) const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// A process that works on a run folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worker {
    /// `None` where the lock's file does not have it: an older version holds it, or the process has only just begun.
    pub pid: Option<u32>,
}

impl Worker {
    /// The process that works on a folder, of which a document need not be there yet.
    pub(crate) fn of(folder: &Path) -> Option<Worker> {
        let path = folder.join(LOCK);
        let is_held = File::open(&path)
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)));
        is_held.then(|| Worker::named_in(&path))
    }

    /// The one that holds this lock.
    fn named_in(lock: &Path) -> Worker {
        let pid = || fs::read_to_string(lock).ok()?.trim().parse().ok();
        Worker { pid: pid() }
    }
}

impl fmt::Display for Worker {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(to, "running (PID {pid})"),
            None => write!(to, "running"),
        }
    }
}

impl Folder {
    /// Makes the folder; an error if it is there already.
    pub(crate) fn make(path: PathBuf) -> Result<Folder, FolderError> {
        private_dir(&path)?;
        private_dir(&path.join("trials"))?;
        Ok(Folder { path })
    }

    /// Opens a folder that a run left.
    pub fn open(path: &Path) -> Result<Folder, FolderError> {
        let document = path.join("run.json");
        fs::metadata(&document).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => FolderError::NoRun(path.to_owned()),
            _ => io("read", &document)(source),
        })?;
        Ok(Folder {
            path: path.to_owned(),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of one trial's log and flight files, made if it is not there.
    pub fn trial_dir(&self, id: &str) -> Result<PathBuf, FolderError> {
        let path = self.path.join("trials").join(id);
        fs::create_dir_all(&path).map_err(io("create", &path))?;
        Ok(path)
    }

    /// The folders of all trials, also of those that were broken off.
    pub fn trial_dirs(&self) -> Result<Vec<PathBuf>, FolderError> {
        let trials = self.path.join("trials");
        let mut folders = Vec::new();
        for entry in fs::read_dir(&trials).map_err(io("read", &trials))? {
            let entry = entry.map_err(io("read", &trials))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
        Ok(folders)
    }

    /// Writes the run's secret key, readable by its owner alone.
    pub fn write_key(&self, key: &[u8; KEY_BYTES]) -> Result<(), FolderError> {
        self.write_whole("key", key)
    }

    /// When the key was written, which is when the run began.
    pub fn key_written(&self) -> Option<SystemTime> {
        let key = std::fs::metadata(self.path.join("key"));
        key.and_then(|of| of.modified()).ok()
    }

    /// Reads the run's secret key.
    pub fn read_key(&self) -> Result<[u8; KEY_BYTES], FolderError> {
        let path = self.path.join("key");
        let bytes = fs::read(&path).map_err(io("read", &path))?;
        <[u8; KEY_BYTES]>::try_from(bytes).map_err(|bytes| FolderError::NoKey {
            path,
            length: bytes.len(),
        })
    }

    /// Writes what was typed.
    pub fn write_typed(&self, typed: &Typed) -> Result<(), FolderError> {
        self.write_json("typed.json", typed)
    }

    /// Reads what was typed; `None` where the run keeps nothing of it.
    pub fn read_typed(&self) -> Result<Option<Typed>, FolderError> {
        let path = self.path.join("typed.json");
        match path.exists() {
            true => read_json(&path).map(Some),
            false => Ok(None),
        }
    }

    /// Takes the folder for this process.
    pub fn lock(&self) -> Result<Lock, FolderError> {
        let path = self.path.join(LOCK);
        let mut options = File::options();
        // What another process has written there stays.
        options.write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(io("create", &path))?;
        let mut taken = file.try_lock();
        for _ in 0..TRIES {
            if !matches!(taken, Err(fs::TryLockError::WouldBlock)) {
                break;
            }
            std::thread::sleep(BETWEEN_TRIES);
            taken = file.try_lock();
        }
        match taken {
            Ok(()) => {
                let pid = format!("{}\n", std::process::id());
                file.set_len(0)
                    .and_then(|()| file.write_all(pid.as_bytes()))
                    .map_err(io("write", &path))?;
                Ok(Lock { _file: file })
            }
            Err(fs::TryLockError::WouldBlock) => Err(FolderError::Busy {
                path: self.path.clone(),
                worker: Worker::named_in(&path),
            }),
            Err(fs::TryLockError::Error(e)) => Err(io("lock", &path)(e)),
        }
    }

    /// The run folder that this process works on, whose lock it has open; `None` where the file is another program's, or the
    /// process does not hold it.
    #[must_use]
    pub fn of_lock(lock: &Path, pid: u32) -> Option<PathBuf> {
        let holder: u32 = fs::read_to_string(lock).ok()?.trim().parse().ok()?;
        let folder = lock
            .parent()
            .filter(|folder| folder.join("trials").is_dir());
        folder.filter(|_| holder == pid).map(Path::to_owned)
    }

    /// The process that works on the folder; `None` where none does.
    pub fn worker(&self) -> Option<Worker> {
        Worker::of(&self.path)
    }

    /// Writes the document, its raw histograms left to the trials' own files.
    pub fn write(&self, document: &Document) -> Result<(), FolderError> {
        let mut slim = document.clone();
        for trial in &mut slim.trials {
            trial.drop_histograms();
        }
        self.write_json("run.json", &slim)
    }

    /// Writes one trial with everything.
    pub fn write_trial(&self, trial: &Trial) -> Result<(), FolderError> {
        self.write_json(&format!("trials/{}.json", trial.id), trial)
    }

    /// Writes the run's page as HTML; where it is.
    pub fn write_page(&self, page: &str) -> Result<PathBuf, FolderError> {
        self.write_whole("page.html", page.as_bytes())?;
        Ok(self.path.join("page.html"))
    }

    /// Writes what `powerband capacity` found, and its chart.
    pub fn write_capacity(
        &self,
        found: &capacity::Document,
        chart: &str,
    ) -> Result<(), FolderError> {
        self.write_json(CAPACITY_FILE, found)?;
        self.write_whole("capacity.svg", chart.as_bytes())
    }

    /// Writes what `powerband leak` found.
    pub fn write_leak(&self, found: &leak::Document) -> Result<(), FolderError> {
        self.write_json(LEAK_FILE, found)
    }

    /// Writes what `powerband predict --validate` found.
    pub fn write_validation(&self, found: &validation::Document) -> Result<(), FolderError> {
        self.write_json(VALIDATION_FILE, found)
    }

    /// Reads the document as `run.json` has it.
    pub fn read(&self) -> Result<Document, FolderError> {
        let path = self.path.join("run.json");
        let document: Document = read_json(&path)?;
        if document.schema != SCHEMA {
            return Err(FolderError::Unreadable {
                path,
                why: format!("its schema is {:?}", document.schema),
            });
        }
        Ok(document)
    }

    /// Reads the document and, for each trial, the file with its raw histograms.
    pub fn read_whole(&self) -> Result<Document, FolderError> {
        let mut document = self.read()?;
        for trial in &mut document.trials {
            *trial = read_json(&self.path.join("trials").join(format!("{}.json", trial.id)))?;
        }
        Ok(document)
    }

    fn write_json<T: serde::Serialize>(&self, name: &str, value: &T) -> Result<(), FolderError> {
        let mut text = serde_json::to_vec_pretty(value)
            .expect("documents have string keys and no failing serialisers");
        text.push(b'\n');
        self.write_whole(name, &text)
    }

    fn write_whole(&self, name: &str, text: &[u8]) -> Result<(), FolderError> {
        let path = self.path.join(name);
        let parent = path
            .parent()
            .expect("a name inside the folder has a parent");
        let file = tempfile::Builder::new()
            .prefix(".writing-")
            .tempfile_in(parent)
            .map_err(io("write in", parent))?;
        // Not through the wrapper, whose errors name the temporary file.
        let mut inner = file.as_file();
        inner
            .write_all(text)
            .and_then(|()| inner.sync_data())
            .map_err(io("write", &path))?;
        file.persist(&path)
            .map_err(|e| io("write", &path)(e.error))?;
        Ok(())
    }
}

/// Logs and flight files tell of the application's traffic, so the folder is its owner's alone.
fn private_dir(path: &Path) -> Result<(), FolderError> {
    fs::DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(io("create", path))
}

pub(crate) fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, FolderError> {
    let bytes = fs::read(path).map_err(io("read", path))?;
    serde_json::from_slice(&bytes).map_err(|e| FolderError::Unreadable {
        path: path.to_owned(),
        why: e.to_string(),
    })
}

impl Trial {
    /// Leaves the percentiles and drops the raw histograms behind them.
    pub fn drop_histograms(&mut self) {
        for window in [&mut self.saturation, &mut self.objective]
            .into_iter()
            .flatten()
        {
            for latency in [
                &mut window.response,
                &mut window.service,
                &mut window.lateness,
            ] {
                latency.hdr = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_names_its_run_by_the_process_that_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(dir.path(), "20261120-214512-tune-1f3a").unwrap();
        let held = folder.lock().unwrap();
        let lock = folder.path().join(LOCK);
        let own = std::process::id();
        let found = Folder::of_lock(&lock, own);
        assert_eq!(found.as_deref(), Some(folder.path()));
        // Another program's file of this name, and a look of powerband runs.
        assert_eq!(Folder::of_lock(&lock, own + 1), None);
        fs::write(dir.path().join(LOCK), format!("{own}\n")).unwrap();
        assert_eq!(Folder::of_lock(&dir.path().join(LOCK), own), None);
        drop(held);
    }
}
