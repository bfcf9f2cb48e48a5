//! The folder that run folders are made in: what is in it, and what may be deleted from it.
//!
//! Only what is certainly a run folder is deleted: a directory, no link, with the name that runs get and a document of ours, that
//! no process works on.

use crate::document::{Document, Host, Kind, State};
use crate::folder::{
    CAPACITY_FILE, Folder, FolderError, LEAK_FILE, LOCK, VALIDATION_FILE, Worker, io, read_json,
};
pub use crate::root::is_name_of_run;
use crate::{capacity, leak, validation};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Exit code of a verdict that gives no answer.
const NO_ANSWER: u8 = 3;
/// Folders that are looked into for earlier measurements.
const MOST_LOOKED_INTO: usize = 30;

/// How far what a folder holds came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Has its answer.
    Done,
    /// Was measured to its end, which allows no answer.
    NoAnswer,
    /// Ended for a reason that its document names; `tune`, `compare` and `sweep` can be resumed.
    Failed,
    /// Stopped by a signal; can be resumed.
    Interrupted,
    /// Under way where a process works on it; otherwise that was killed, and it can be resumed.
    Unfinished,
    /// Its folder has another name than the run: its owner keeps it.
    Renamed,
    /// This user may not list the folder.
    NotReadable,
    /// Its document cannot be read: another version of powerband wrote it, or it is damaged.
    Unreadable,
    /// It has the name of a run and no document: perhaps a search or a validation that is under way.
    Unknown,
}

/// A folder of a run, a search or a validation.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// Its name.
    pub id: String,
    /// How far it came.
    pub standing: Standing,
    /// UTC start time, RFC 3339; where no document says it, the one in the name.
    pub started_at: String,
    /// Seconds that it took.
    pub elapsed_s: f64,
    /// Its answer, or why it failed, where it has either.
    pub sentence: String,
    /// What it occupies on the disk.
    pub bytes: u64,
    /// Why its document cannot be read, where it has one.
    pub unreadable: Option<String>,
    /// Whether `--resume` can go on with it, once no process works on it.
    pub resumable: bool,
    /// The process that worked on it when it was listed.
    pub worker: Option<Worker>,
    path: PathBuf,
}

/// Everything under `root` that has the name of a run or a document of ours, oldest first.
pub fn kept(root: &Path) -> Result<Vec<Kept>, FolderError> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(io("read", root)(e)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(io("read", root))?;
        let name = entry.file_name();
        let Some(id) = name.to_str() else {
            continue;
        };
        // The type of the entry itself: a link to a folder is none.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(Kept::at(entry.path(), id));
        }
    }
    for run in &mut found {
        run.worker = Worker::of(&run.path);
    }
    found.sort_by_cached_key(|kept| (second(&kept.started_at), kept.id.clone()));
    Ok(found)
}

/// A run by its folder, or by its name under the runs.
pub fn find(runs: &Path, run: &Path) -> PathBuf {
    use std::io::ErrorKind::PermissionDenied;
    let is_here = match fs::metadata(run.join("run.json")) {
        Ok(found) => found.is_file(),
        // What this user may not read is there nevertheless.
        Err(why) => why.kind() == PermissionDenied,
    };
    match is_here {
        true => run.to_owned(),
        false if other_document(run).is_some() => run.to_owned(),
        false => runs.join(run),
    }
}

/// The newest folder with a run.json under `root`: of `tune`, `compare`, `sweep` or `check`.
pub fn newest_experiment(root: &Path) -> Result<Option<PathBuf>, FolderError> {
    let found = kept(root)?.into_iter().map(|kept| kept.path);
    Ok(found.rev().find(|path| path.join("run.json").is_file()))
}

/// The newest run of this kind under `root`.
pub fn newest_of(root: &Path, kind: Kind) -> Result<Option<PathBuf>, FolderError> {
    let mut newest_first = kept(root)?.into_iter().rev();
    let found = newest_first.find(|kept| kept.experiment().is_some_and(|run| run.kind == kind));
    Ok(found.map(|kept| kept.path))
}

/// The runs under `root` that measured on this machine to their end, newest first, each read when it is asked for. Only the newest
/// folders with the name of a run are looked into.
pub fn newest_measured(root: &Path, host: &Host) -> impl Iterator<Item = (Folder, Document)> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let of_run = |entry: &fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_dir())
            && entry.file_name().to_str().is_some_and(is_name_of_run)
    };
    let mut names: Vec<PathBuf> = entries.filter(of_run).map(|entry| entry.path()).collect();
    // A name begins with the time of the start.
    names.sort_unstable_by(|one, other| other.cmp(one));
    names.truncate(MOST_LOOKED_INTO);
    names.into_iter().filter_map(|path| {
        // An earlier run only helps, so one that cannot be read is passed over.
        let folder = Folder::open(&path).ok()?;
        let document = folder.read().ok()?;
        let is_alike = document.has_measured() && document.host.is_same_machine(host);
        is_alike.then_some((folder, document))
    })
}

/// The newest folder with a document under `root`.
pub fn newest(root: &Path) -> Result<Option<PathBuf>, FolderError> {
    let found = kept(root)?.into_iter().map(|kept| kept.path);
    let has_document =
        |path: &PathBuf| path.join("run.json").is_file() || other_document(path).is_some();
    Ok(found.rev().find(has_document))
}

/// The document of a folder that `capacity`, `leak` or `predict --validate` made, which have no run.json.
pub fn other_document(folder: &Path) -> Option<PathBuf> {
    let names = [CAPACITY_FILE, LEAK_FILE, VALIDATION_FILE].iter();
    names
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
}

/// The newest run under `root` that can be resumed, one of `kind` before others, with what it is a run of.
pub fn newest_to_resume(root: &Path, kind: Kind) -> Result<Option<(Kind, PathBuf)>, FolderError> {
    let mut newest = None;
    for kept in kept(root)?.into_iter().rev() {
        if kept.worker.is_some() || !kept.resumable {
            continue;
        }
        let Some(run) = kept.experiment() else {
            continue;
        };
        if run.kind == kind {
            return Ok(Some((kind, kept.path)));
        }
        newest.get_or_insert((run.kind, kept.path));
    }
    Ok(newest)
}

/// What orders start times: fractions of a second have different lengths.
fn second(started_at: &str) -> String {
    started_at
        .chars()
        .take("2026-11-20T21:45:12".len())
        .collect()
}

impl Kept {
    /// The folder; `None` where it has neither the name of a run nor a document of ours.
    fn at(path: PathBuf, id: &str) -> Option<Kept> {
        let mut found = Kept {
            id: id.to_owned(),
            standing: Standing::Unknown,
            started_at: start_in_name(id).unwrap_or_default(),
            elapsed_s: 0.0,
            sentence: String::new(),
            bytes: 0,
            unreadable: None,
            resumable: false,
            worker: None,
            path,
        };
        let is_named = is_name_of_run(id);
        if let Err(why) = fs::read_dir(&found.path)
            && why.kind() == std::io::ErrorKind::PermissionDenied
        {
            found.standing = Standing::NotReadable;
            return is_named.then_some(found);
        }
        if let Err(why) = found.read(is_named) {
            found.standing = Standing::Unreadable;
            found.unreadable = Some(why.to_string());
        }
        let is_of_ours = !matches!(found.standing, Standing::Unknown | Standing::Unreadable);
        (is_named || is_of_ours).then(|| Kept {
            bytes: occupied(&found.path),
            ..found
        })
    }

    /// Reads what its document says, if it has one.
    fn read(&mut self, is_named: bool) -> Result<(), FolderError> {
        let other = match is_named {
            true => Standing::Done,
            false => Standing::Renamed,
        };
        if let Ok(folder) = Folder::open(&self.path) {
            let run = folder.read()?;
            self.standing = match run.state {
                _ if !is_named || run.id != self.id => Standing::Renamed,
                State::Running => Standing::Unfinished,
                State::Interrupted => Standing::Interrupted,
                State::Done => match &run.verdict {
                    Some(verdict) if verdict.exit_code == NO_ANSWER => Standing::NoAnswer,
                    _ => Standing::Done,
                },
                State::Failed => Standing::Failed,
            };
            let stopped = matches!(
                self.standing,
                Standing::Failed | Standing::Interrupted | Standing::Unfinished
            );
            // Runs of a command are not resumed, and a run that failed before anything was measured has nothing to keep.
            self.resumable = stopped && !run.is_failed_empty() && run.command.is_none();
            let why_failed = run.why_failed().map(str::to_owned);
            let sentence = run
                .verdict
                .map(|v| v.sentence)
                .or(why_failed)
                .unwrap_or_default();
            (self.started_at, self.elapsed_s, self.sentence) =
                (run.started_at, run.elapsed_s, sentence);
        } else if let Some(found) = self.document::<capacity::Document>(CAPACITY_FILE)? {
            self.standing = match (found.exit_code, other) {
                (NO_ANSWER, Standing::Done) => Standing::NoAnswer,
                (_, other) => other,
            };
            (self.started_at, self.elapsed_s, self.sentence) =
                (found.started_at, found.elapsed_s, found.sentence);
        } else if let Some(found) = self.document::<leak::Document>(LEAK_FILE)? {
            self.standing = match (found.exit_code, other) {
                (NO_ANSWER, Standing::Done) => Standing::NoAnswer,
                (_, other) => other,
            };
            (self.started_at, self.elapsed_s, self.sentence) =
                (found.started_at, found.elapsed_s, found.sentence);
        } else if let Some(found) = self.document::<validation::Document>(VALIDATION_FILE)? {
            self.standing = other;
            (self.started_at, self.elapsed_s, self.sentence) =
                (found.started_at, found.elapsed_s, found.sentence);
        }
        Ok(())
    }

    fn document<T: serde::de::DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, FolderError> {
        let path = self.path.join(name);
        path.is_file().then(|| read_json(&path)).transpose()
    }

    /// Its document; `None` where it has none that can be read, and of a search or a validation.
    pub fn experiment(&self) -> Option<Document> {
        Folder::open(&self.path)
            .and_then(|folder| folder.read())
            .ok()
    }

    /// Whether it may be deleted; what can be resumed or cannot be read only where that is wanted.
    pub fn may_go(&self, unfinished_too: bool) -> bool {
        match self.standing {
            _ if self.worker.is_some() => false,
            Standing::Done | Standing::NoAnswer => true,
            Standing::Failed => unfinished_too || !self.resumable,
            Standing::Interrupted | Standing::Unfinished | Standing::Unreadable => unfinished_too,
            Standing::Renamed | Standing::Unknown | Standing::NotReadable => false,
        }
    }

    /// Deletes it, unless a process works on it or it has changed since it was listed.
    pub fn delete(&self) -> Result<(), FolderError> {
        let lock = self.path.join(LOCK);
        let is_link = |found: Metadata| found.file_type().is_symlink();
        let changed = fs::symlink_metadata(&lock).is_ok_and(is_link)
            || fs::symlink_metadata(&self.path).map_or(true, is_link);
        let held = match Folder::open(&self.path) {
            Ok(folder) if !changed => Some(folder.lock()?),
            _ => None,
        };
        let is_as_listed = |now: Kept| now.standing == self.standing;
        if changed || !Kept::at(self.path.clone(), &self.id).is_some_and(is_as_listed) {
            return Err(FolderError::Changed(self.path.clone()));
        }
        let deleted = fs::remove_dir_all(&self.path).map_err(io("delete", &self.path));
        drop(held);
        deleted
    }
}

/// The start time in the name of a run, which begins with it.
fn start_in_name(id: &str) -> Option<String> {
    is_name_of_run(id).then(|| {
        let part = |from: usize, to: usize| &id[from..to];
        format!(
            "{}-{}-{}T{}:{}:{}Z",
            part(0, 4),
            part(4, 6),
            part(6, 8),
            part(9, 11),
            part(11, 13),
            part(13, 15)
        )
    })
}

/// Bytes that the folder and all in it occupy; links count as themselves.
fn occupied(path: &Path) -> u64 {
    let own = fs::symlink_metadata(path).map_or(0, |found| found.blocks() * 512);
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let within = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => occupied(&entry.path()),
        _ => entry.metadata().map_or(0, |found| found.blocks() * 512),
    });
    own + within.sum::<u64>()
}

#[cfg(test)]
mod tests;
