//! The run folder on disk.
//!
//! ```text
//! powerband-runs/20261120-214512-tune-1f3a/
//!   run.json            the document without raw histograms, rewritten after each trial
//!   trials/ID.json      one trial each, raw histograms included, written once
//!   trials/ID/          its server's log and flight files
//!   capacity.json       instead of run.json, where `powerband capacity` made the folder
//!   capacity.svg        its chart
//!   validation.json     instead of run.json, where `powerband predict --validate` made the folder
//!   lock                held while a process works on the folder
//! ```
//!
//! Every file is written beside its place and renamed, so that a reader sees the old or the new, never a half.

use crate::document::{Document, SCHEMA};
use crate::trial::Trial;
use crate::{capacity, validation};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

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
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A file that is no run document of this version.
    #[error("{path} is no run document of version {SCHEMA}: {why}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        why: String,
    },
    /// Another process measures in it.
    #[error(
        "{0} is being worked on by another powerband process; wait for it or stop it, then try again"
    )]
    Busy(PathBuf),
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Io {
        action,
        path,
        source,
    }
}

impl Folder {
    /// Makes the folder `root/id`; an error if it is there already.
    pub fn create(root: &Path, id: &str) -> Result<Folder, FolderError> {
        fs::create_dir_all(root).map_err(io("create", root))?;
        let path = root.join(id);
        private_dir(&path)?;
        private_dir(&path.join("trials"))?;
        Ok(Folder { path })
    }

    /// Opens a folder that a run left.
    pub fn open(path: &Path) -> Result<Folder, FolderError> {
        let document = path.join("run.json");
        fs::metadata(&document).map_err(io("read", &document))?;
        Ok(Folder {
            path: path.to_owned(),
        })
    }

    /// Every run folder under `root`, oldest first.
    pub fn list(root: &Path) -> Result<Vec<Folder>, FolderError> {
        let mut found = Vec::new();
        let entries = match fs::read_dir(root) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(found),
            Err(e) => return Err(io("read", root)(e)),
        };
        for entry in entries {
            let path = entry.map_err(io("read", root))?.path();
            if path.join("run.json").is_file() {
                found.push(Folder { path });
            }
        }
        // Ids begin with the UTC time, so their order is the order in time.
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
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

    /// Takes the folder for this process.
    pub fn lock(&self) -> Result<Lock, FolderError> {
        let path = self.path.join("lock");
        let file = File::create(&path).map_err(io("create", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock { _file: file }),
            Err(fs::TryLockError::WouldBlock) => Err(FolderError::Busy(self.path.clone())),
            Err(fs::TryLockError::Error(e)) => Err(io("lock", &path)(e)),
        }
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

    /// Writes what `powerband capacity` found, and its chart.
    pub fn write_capacity(
        &self,
        found: &capacity::Document,
        chart: &str,
    ) -> Result<(), FolderError> {
        self.write_json("capacity.json", found)?;
        self.write_whole("capacity.svg", chart.as_bytes())
    }

    /// Writes what `powerband predict --validate` found.
    pub fn write_validation(&self, found: &validation::Document) -> Result<(), FolderError> {
        self.write_json("validation.json", found)
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
        let mut file = tempfile::Builder::new()
            .prefix(".writing-")
            .tempfile_in(parent)
            .map_err(io("write in", parent))?;
        file.write_all(text)
            .and_then(|()| file.as_file().sync_data())
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

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, FolderError> {
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
