//! The folder that run folders are made in: what is in it, and what may be deleted from it.
//!
//! Only what is certainly a run folder is deleted: a directory, no link, with the name that runs get and a document of ours, that
//! no process works on.

use crate::document::{Kind, State};
use crate::folder::{Folder, FolderError, LOCK, Worker, io, read_json};
pub use crate::root::is_name_of_run;
use crate::trial::Trial;
use crate::{capacity, validation};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How far what a folder holds came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Has its answer.
    Done,
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
        false => runs.join(run),
    }
}

/// The newest folder of `tune`, `compare` or `sweep` under `root`.
pub fn newest(root: &Path) -> Result<Option<PathBuf>, FolderError> {
    let found = kept(root)?.into_iter().map(|kept| kept.path);
    Ok(found.rev().find(|path| path.join("run.json").is_file()))
}

/// The newest run under `root` that can be resumed, one of `kind` before others, with what it is a run of.
pub fn newest_to_resume(root: &Path, kind: Kind) -> Result<Option<(Kind, PathBuf)>, FolderError> {
    let mut newest = None;
    for kept in kept(root)?.into_iter().rev() {
        if kept.worker.is_some() || !kept.resumable {
            continue;
        }
        let Ok(run) = Folder::open(&kept.path).and_then(|folder| folder.read()) else {
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
                State::Done => Standing::Done,
                State::Failed => Standing::Failed,
            };
            let stopped = matches!(
                self.standing,
                Standing::Failed | Standing::Interrupted | Standing::Unfinished
            );
            // Runs of a command are not resumed, and a run that failed before anything was measured has nothing to keep.
            let is_empty = run.state == State::Failed && !run.trials.iter().any(Trial::counts);
            self.resumable = stopped && !is_empty && run.command.is_none();
            let why_failed = run.why_failed().map(str::to_owned);
            let sentence = run
                .verdict
                .map(|v| v.sentence)
                .or(why_failed)
                .unwrap_or_default();
            (self.started_at, self.elapsed_s, self.sentence) =
                (run.started_at, run.elapsed_s, sentence);
        } else if let Some(found) = self.document::<capacity::Document>("capacity.json")? {
            self.standing = other;
            (self.started_at, self.elapsed_s, self.sentence) =
                (found.started_at, found.elapsed_s, found.sentence);
        } else if let Some(found) = self.document::<validation::Document>("validation.json")? {
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

    /// Whether it may be deleted; what can be resumed or cannot be read only where that is wanted.
    pub fn may_go(&self, unfinished_too: bool) -> bool {
        match self.standing {
            _ if self.worker.is_some() => false,
            Standing::Done => true,
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
mod tests {
    use super::*;
    use crate::folder::BETWEEN_TRIES;
    use std::fs::{File, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    const SAMPLE: &str = include_str!("../../../contract/samples/run/tune.json");
    const VALIDATION: &str = include_str!("../../../contract/samples/validation/bursts.json");

    /// A finished run of this name.
    fn run(root: &Path, id: &str, state: &str) -> PathBuf {
        let folder = Folder::create(root, id).unwrap();
        let mut document: serde_json::Value = serde_json::from_str(SAMPLE).unwrap();
        document["id"] = id.into();
        document["state"] = state.into();
        if let Some(started_at) = start_in_name(id) {
            document["started_at"] = started_at.into();
        }
        fs::write(folder.path().join("run.json"), document.to_string()).unwrap();
        folder.path().to_owned()
    }

    #[test]
    fn a_folder_without_a_run_is_answered_with_the_list_of_runs() {
        let dir = tempfile::tempdir().unwrap();
        let why = Folder::open(&dir.path().join("nosuch"))
            .unwrap_err()
            .to_string();
        assert!(
            why.contains("nosuch: it has no run.json; powerband runs lists"),
            "{why}"
        );
        assert!(!why.contains("os error"), "{why}");
    }

    #[test]
    fn what_this_user_may_not_read_is_not_called_missing() {
        let dir = tempfile::tempdir().unwrap();
        let path = run(dir.path(), "20261120-214512-tune-1f3a", "done");
        let (root, named) = (dir.path().to_owned(), path.clone());
        fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
        let (listed, found, why) = testkit::as_nobody(move || {
            let found = find(Path::new("powerband-runs"), &named);
            let why = Folder::open(&found).unwrap_err().to_string();
            (kept(&root).unwrap().remove(0), found, why)
        });
        assert_eq!((listed.standing, listed.bytes), (Standing::NotReadable, 0));
        assert!(!listed.may_go(true));
        assert_eq!(found, path);
        assert!(
            why.contains("/run.json: Permission denied") && why.contains("chmod"),
            "{why}"
        );
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    }

    #[test]
    fn what_is_certainly_a_run_goes_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let done = run(root, "20261120-214512-tune-1f3a", "done");
        run(root, "20261120-214513-tune-1f3a", "interrupted");
        let validated = root.join("20261120-214514-validate-1f3a");
        fs::create_dir(&validated).unwrap();
        let under_way = kept(root).unwrap();
        assert_eq!(under_way[2].standing, Standing::Unknown);
        fs::write(validated.join("validation.json"), VALIDATION).unwrap();
        run(root, "before-rails-8", "done");
        let copy = root.join("20261120-214515-tune-1f3a");
        fs::create_dir(&copy).unwrap();
        fs::copy(done.join("run.json"), copy.join("run.json")).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        run(elsewhere.path(), "20261120-214516-tune-1f3a", "done");
        let link = root.join("20261120-214516-tune-1f3a");
        symlink(elsewhere.path().join("20261120-214516-tune-1f3a"), &link).unwrap();

        let found = kept(root).unwrap();
        let of = |id: &str| found.iter().find(|kept| kept.id == id).unwrap();
        for (id, standing, goes, goes_unfinished) in [
            ("20261120-214512-tune-1f3a", Standing::Done, true, true),
            (
                "20261120-214513-tune-1f3a",
                Standing::Interrupted,
                false,
                true,
            ),
            ("20261120-214514-validate-1f3a", Standing::Done, true, true),
            ("before-rails-8", Standing::Renamed, false, false),
            ("20261120-214515-tune-1f3a", Standing::Renamed, false, false),
        ] {
            let kept = of(id);
            assert_eq!(kept.standing, standing, "{id}");
            assert_eq!(
                (kept.may_go(false), kept.may_go(true)),
                (goes, goes_unfinished),
                "{id}"
            );
        }
        assert_eq!(found.len(), 5);
        let (first, third) = (
            of("20261120-214512-tune-1f3a"),
            of("20261120-214514-validate-1f3a"),
        );
        assert!(first.bytes > 0 && !first.sentence.is_empty());

        // A link inside leads nowhere that is deleted.
        let precious = elsewhere.path().join("precious");
        fs::write(&precious, "kept").unwrap();
        symlink(elsewhere.path(), done.join("trials/link")).unwrap();
        first.delete().unwrap();
        third.delete().unwrap();
        assert!(!done.exists() && !validated.exists() && precious.exists());
        assert!(link.join("run.json").exists() && root.join("before-rails-8").exists());
    }

    /// One rule for `--resume` and `--prune`.
    #[test]
    fn a_run_that_can_be_resumed_goes_only_with_what_is_unfinished() {
        let dir = tempfile::tempdir().unwrap();
        let path = run(dir.path(), "20261120-214512-tune-1f3a", "failed");
        let offered = newest_to_resume(dir.path(), Kind::Tune).unwrap();
        assert_eq!(offered, Some((Kind::Tune, path.clone())));
        let failed = kept(dir.path()).unwrap().remove(0);
        assert!(!failed.may_go(false) && failed.may_go(true));

        let file = path.join("run.json");
        let mut document: serde_json::Value =
            serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let trials = document["trials"].take();
        document["trials"] = serde_json::json!([]);
        fs::write(&file, document.to_string()).unwrap();
        assert_eq!(newest_to_resume(dir.path(), Kind::Tune).unwrap(), None);
        assert!(
            kept(dir.path()).unwrap()[0].may_go(false),
            "nothing was measured"
        );
        document["trials"] = trials;
        document["command"] = serde_json::json!({
            "command": "bin/rails test", "timeout_s": 60.0, "sample_every_s": 0.5, "measure": "pss", "runs": [], "arms": [],
            "comparisons": []
        });
        fs::write(&file, document.to_string()).unwrap();
        assert_eq!(newest_to_resume(dir.path(), Kind::Tune).unwrap(), None);
        let of_command = kept(dir.path()).unwrap().remove(0);
        assert_eq!(of_command.standing, Standing::Failed);
        assert!(of_command.may_go(false));
    }

    #[test]
    fn what_a_process_works_on_or_has_changed_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = run(dir.path(), "20261120-214512-tune-1f3a", "done");
        let listed = kept(dir.path()).unwrap().remove(0);
        let held = Folder::open(&path).unwrap().lock().unwrap();
        assert!(matches!(listed.delete(), Err(FolderError::Busy { .. })));
        let busy = kept(dir.path()).unwrap().remove(0);
        assert_eq!(busy.worker.unwrap().pid, Some(std::process::id()));
        assert!(!busy.may_go(true));
        drop(held);
        assert_eq!(kept(dir.path()).unwrap()[0].worker, None);
        // An older version holds the lock without its id.
        let lock = File::options().write(true).open(path.join("lock")).unwrap();
        lock.set_len(0).unwrap();
        lock.lock().unwrap();
        let older = kept(dir.path()).unwrap().remove(0);
        assert_eq!(older.worker, Some(Worker { pid: None }));
        assert!(!older.may_go(true));
        drop(lock);
        // As `powerband capacity`, which writes its document at the end.
        let name = "20261121-000000-capacity-1f3b";
        let folder = Folder::create(dir.path(), name).unwrap();
        let held = folder.lock().unwrap();
        let mut all = kept(dir.path()).unwrap().into_iter();
        let begun = all.find(|run| run.id == name).unwrap();
        assert_eq!(begun.worker.unwrap().pid, Some(std::process::id()));
        drop(held);
        // A look at the lock, as `runs` takes it, makes no folder busy.
        let looks = File::open(path.join("lock")).unwrap();
        looks.lock_shared().unwrap();
        let releases = std::thread::spawn(move || {
            std::thread::sleep(BETWEEN_TRIES);
            drop(looks);
        });
        drop(Folder::open(&path).unwrap().lock().unwrap());
        releases.join().unwrap();
        run_again(&path);
        assert!(matches!(listed.delete(), Err(FolderError::Changed(_))));
        assert!(path.exists());
    }

    #[test]
    fn a_run_under_another_name_keeps_its_place_in_time() {
        let dir = tempfile::tempdir().unwrap();
        let older = run(dir.path(), "20261120-214512-tune-1f3a", "done");
        let newest_run = run(dir.path(), "20261120-214513-tune-1f3a", "done");
        fs::rename(&older, dir.path().join("before-rails-8")).unwrap();
        fs::create_dir(dir.path().join("zeitwerk")).unwrap();
        assert_eq!(newest(dir.path()).unwrap(), Some(newest_run));
        let found = kept(dir.path()).unwrap();
        let listed: Vec<(&str, Standing)> =
            found.iter().map(|k| (k.id.as_str(), k.standing)).collect();
        let expected = [
            ("before-rails-8", Standing::Renamed),
            ("20261120-214513-tune-1f3a", Standing::Done),
        ];
        assert_eq!(listed, expected);
    }

    #[test]
    fn what_cannot_be_read_says_so_has_an_age_and_goes_with_what_is_unfinished() {
        let dir = tempfile::tempdir().unwrap();
        for (id, document) in [
            ("20261120-214512-tune-1f3a", "run.json"),
            ("20261120-214513-capacity-1f3a", "capacity.json"),
        ] {
            let folder = Folder::create(dir.path(), id).unwrap();
            fs::write(folder.path().join(document), r#"{"schema": "older"}"#).unwrap();
            let found = kept(dir.path()).unwrap().remove(0);
            assert_eq!(found.standing, Standing::Unreadable);
            assert!(found.unreadable.as_ref().unwrap().contains(document));
            assert!(found.started_at.starts_with("2026-11-20T21:45:1"));
            assert!(!found.may_go(false) && found.may_go(true));
            found.delete().unwrap();
            assert!(!folder.path().exists());
        }
    }

    fn run_again(path: &Path) {
        let document = fs::read_to_string(path.join("run.json")).unwrap();
        let resumed = document.replace("\"state\":\"done\"", "\"state\":\"running\"");
        assert_ne!(resumed, document);
        fs::write(path.join("run.json"), resumed).unwrap();
    }
}
