//! The folder of Parquet files.
//!
//! ```text
//! FOLDER/
//!   requests/service=shop/day=2026-11-28/app1-20261128T130000.000000Z.parquet
//!   gc/… counters/… memory/… trials/… comparisons/… verdicts/…
//!   .exporters/shop/app1.json    how far app1 has read, and which files of its last commit had yet to be renamed
//!   .exporters/shop/app1.lock    held while it runs
//! ```
//!
//! Files are written next to their place, synced and renamed. Those of a commit and the positions that go with them become valid together:
//! the positions' file names the others before these are renamed, and the next commit, or the next one to open the store, renames what is left.

use crate::error::StoreError;
use crate::lock;
use crate::part::Part;
use crate::places::{self, EXPORTERS, of_day};
use crate::position::Positions;
use crate::whole::{make, replace, sync, sync_folder, unfinished, write_unfinished, write_whole};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What is kept of an exporter.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// Files of the last commit, relative to the folder.
    files: Vec<PathBuf>,
    positions: Positions,
}

/// A folder that one exporter writes to.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    service: String,
    instance: String,
    /// Files of the last commit that may have to be renamed yet, relative to the folder.
    pending: Vec<PathBuf>,
    _lock: File,
}

impl Store {
    /// Opens the folder, which is made where it is not there, for this service and exporter, and ends a commit that was broken off.
    /// Both names are parts of names of files: see [`is_name`].
    ///
    /// # Errors
    /// When another exporter has the same names, or the system refuses.
    pub fn open(
        folder: &Path,
        service: &str,
        instance: &str,
    ) -> Result<(Store, Positions), StoreError> {
        let own = folder.join(EXPORTERS).join(service);
        make(&own)?;
        let path = own.join(format!("{instance}.lock"));
        let Some(lock) = lock::taken(&path)? else {
            return Err(StoreError::Taken {
                service: service.to_owned(),
                instance: instance.to_owned(),
                path: folder.to_owned(),
            });
        };
        let mut store = Store {
            folder: folder.to_owned(),
            service: service.to_owned(),
            instance: instance.to_owned(),
            pending: Vec::new(),
            _lock: lock,
        };
        let state = store.state()?;
        store.pending = state.files;
        store.finish()?;
        store.clear();
        Ok((store, state.positions))
    }

    /// Writes files and how far was read: both are valid afterwards, or neither, whenever the process is killed.
    ///
    /// # Errors
    /// A file cannot be written. Then nothing of this commit was written. A file that could not be renamed is no error: its rows are
    /// kept, and the next commit, [`Store::finish`] or the next one to open the folder renames it.
    pub fn commit(
        &mut self,
        parts: &[Part],
        positions: &Positions,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        // The new state does not name the files of the one before.
        self.finish()?;
        self.begin(parts, positions, now)?;
        let _ = self.finish();
        Ok(())
    }

    /// Makes a commit valid: the state names its files, which have yet to be renamed.
    fn begin(
        &mut self,
        parts: &[Part],
        positions: &Positions,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut files = Vec::new();
        let begun = self.write(parts, now, &mut files).and_then(|()| {
            let state = State {
                files: files.clone(),
                positions: positions.clone(),
            };
            let bytes = serde_json::to_vec(&state).expect("paths of UTF-8 and numbers are JSON");
            replace(&self.state_path(), &bytes)
        });
        if begun.is_err() {
            for file in &files {
                let _ = fs::remove_file(unfinished(&self.folder.join(file)));
            }
        } else {
            self.pending = files;
        }
        begun
    }

    fn write(
        &self,
        parts: &[Part],
        now: Timestamp,
        written: &mut Vec<PathBuf>,
    ) -> Result<(), StoreError> {
        for part in parts {
            let place = of_day(part.table, &self.service, part.day);
            let mut at = now;
            // A clock that was set back must not replace a file.
            let name = loop {
                let name = place.join(places::file_name(&self.instance, at));
                if !self.folder.join(&name).exists() {
                    break name;
                }
                at += jiff::SignedDuration::from_micros(1);
            };
            let path = self.folder.join(&name);
            written.push(name);
            write_unfinished(&path, &part.bytes)?;
            // The state must not name a file whose entry a crash of the system can lose.
            sync_folder(&path)?;
        }
        Ok(())
    }

    /// Renames the files of the last commit that are not yet renamed.
    ///
    /// # Errors
    /// A file cannot be renamed. It can be called again.
    pub fn finish(&mut self) -> Result<(), StoreError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        // First: files that were renamed without it would be written again.
        sync_folder(&self.state_path())?;
        let paths = self.pending.iter().map(|file| self.folder.join(file));
        let mut folders = BTreeSet::new();
        for path in paths {
            match fs::rename(unfinished(&path), &path) {
                // It was renamed before, and may have been removed since, with its folder.
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                renamed => renamed.map_err(StoreError::io("rename", &path))?,
            }
            folders.extend(path.parent().map(Path::to_owned));
        }
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            sync(folder)?;
        }
        self.pending.clear();
        Ok(())
    }

    /// Removes what a killed predecessor had begun to write.
    fn clear(&self) {
        for file in places::found(&self.folder)
            .into_iter()
            .filter(|file| file.unfinished)
        {
            let of_service = file.path.parent().and_then(Path::parent);
            let is_service = of_service
                .is_some_and(|path| path.ends_with(places::of_service("", &self.service)));
            if is_service && file.instance == self.instance {
                let _ = fs::remove_file(&file.path);
            }
        }
    }

    fn state_path(&self) -> PathBuf {
        let own = self.folder.join(EXPORTERS).join(&self.service);
        own.join(format!("{}.json", self.instance))
    }

    fn state(&self) -> Result<State, StoreError> {
        let path = self.state_path();
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| StoreError::Damaged {
                path,
                why: e.to_string(),
            }),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(State::default()),
            Err(e) => Err(StoreError::io("read", &path)(e)),
        }
    }
}

/// Writes a file with rows of a run, whose name makes it the file's only one. An older one is replaced.
///
/// # Errors
/// The file cannot be written.
pub fn write_named(
    folder: &Path,
    service: &str,
    name: &str,
    part: &Part,
) -> Result<(), StoreError> {
    let place = folder.join(of_day(part.table, service, part.day));
    write_whole(&place.join(format!("{name}.parquet")), &part.bytes)
}

/// What [`is_name`] wants, as a remedy.
pub const NAMES: &str =
    "give at most 100 letters, digits, dots, hyphens and underscores, and no dot first";

/// Whether a text can be part of names of files, and of a partition that every reader finds by it.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=100).contains(&text.len()) && text.chars().all(plain) && !text.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::Position;
    use jiff::civil::Date;

    const DAY: Date = jiff::civil::date(2026, 11, 28);

    fn part(bytes: &[u8]) -> Part {
        Part {
            table: "requests",
            day: DAY,
            bytes: bytes.to_vec(),
        }
    }

    fn at(records: u64) -> Positions {
        let position = Position {
            records,
            collections: 0,
        };
        [("1-2-3.flight".to_owned(), position)].into()
    }

    fn files(folder: &Path) -> Vec<String> {
        let day = folder.join("requests/service=shop/day=2026-11-28");
        let mut names: Vec<String> = fs::read_dir(day)
            .map(|all| {
                all.map(|e| e.unwrap().file_name().into_string().unwrap())
                    .collect()
            })
            .unwrap_or_default();
        names.sort();
        names
    }

    #[test]
    fn files_and_positions_are_there_together() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let now: Timestamp = "2026-11-28T13:00:00.5Z".parse().unwrap();
        let (mut store, positions) = Store::open(folder, "shop", "app1").unwrap();
        assert!(positions.is_empty());
        store.commit(&[part(b"a")], &at(1), now).unwrap();
        // The clock does not go on.
        store.commit(&[part(b"b")], &at(2), now).unwrap();
        drop(store);
        let names = [
            "app1-20261128T130000.500000Z.parquet",
            "app1-20261128T130000.500001Z.parquet",
        ];
        assert_eq!(files(folder), names);
        assert_eq!(Store::open(folder, "shop", "app1").unwrap().1, at(2));
    }

    /// Killed at each step of a commit.
    #[test]
    fn a_commit_that_was_broken_off_is_whole_or_never_was() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (store, _) = Store::open(folder, "shop", "app1").unwrap();
        let now = Timestamp::UNIX_EPOCH;
        store.write(&[part(b"a")], now, &mut Vec::new()).unwrap();
        assert_eq!(
            files(folder),
            [".app1-19700101T000000.000000Z.parquet.unfinished"]
        );
        drop(store);
        let (mut store, positions) = Store::open(folder, "shop", "app1").unwrap();
        assert!(
            positions.is_empty(),
            "before the positions are written it never was"
        );
        assert!(files(folder).is_empty(), "{:?}", files(folder));
        store.begin(&[part(b"a")], &at(7), now).unwrap();
        drop(store);
        let (_store, positions) = Store::open(folder, "shop", "app1").unwrap();
        assert_eq!(positions, at(7));
        assert_eq!(files(folder), ["app1-19700101T000000.000000Z.parquet"]);
    }

    #[test]
    fn a_commit_that_fails_leaves_nothing_and_can_be_done_again() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (mut store, _) = Store::open(folder, "shop", "app1").unwrap();
        let now = Timestamp::UNIX_EPOCH;
        // The state cannot be renamed to the name of a folder.
        let state = store.state_path();
        fs::create_dir(&state).unwrap();
        let said = store.commit(&[part(b"a")], &at(1), now).unwrap_err();
        assert!(said.to_string().starts_with("cannot rename"), "{said}");
        assert!(files(folder).is_empty(), "{:?}", files(folder));
        assert!(!unfinished(&state).exists());
        fs::remove_dir(&state).unwrap();
        store.commit(&[part(b"a")], &at(1), now).unwrap();
        assert_eq!(files(folder).len(), 1);
    }

    /// The folder of the state can be written and not synced: the commit is valid, and the next one finishes it.
    #[test]
    fn a_valid_commit_is_no_error_and_loses_nothing() {
        use std::os::unix::fs::PermissionsExt;
        testkit::as_nobody(|| {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path();
            let (mut store, _) = Store::open(folder, "shop", "app1").unwrap();
            let own = store.state_path().parent().unwrap().to_owned();
            let allow = |mode| fs::set_permissions(&own, fs::Permissions::from_mode(mode)).unwrap();
            let now = Timestamp::UNIX_EPOCH;
            allow(0o300);
            store.commit(&[part(b"a")], &at(1), now).unwrap();
            assert_eq!(
                files(folder),
                [".app1-19700101T000000.000000Z.parquet.unfinished"]
            );
            let said = store.commit(&[part(b"b")], &at(2), now).unwrap_err();
            assert!(said.to_string().starts_with("cannot sync"), "{said}");
            assert_eq!(store.state().unwrap().positions, at(1));
            allow(0o700);
            store.commit(&[part(b"b")], &at(2), now).unwrap();
            let names = [
                "app1-19700101T000000.000000Z.parquet",
                "app1-19700101T000000.000001Z.parquet",
            ];
            assert_eq!(files(folder), names);
        });
    }

    /// A file that cannot be renamed, because a folder has its name, delays the next commit.
    #[test]
    fn a_valid_commit_is_finished_before_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (mut store, _) = Store::open(folder, "shop", "app1").unwrap();
        let first = "2026-11-28T13:00:00Z".parse().unwrap();
        let second = "2026-11-28T14:00:00Z".parse().unwrap();
        store.begin(&[part(b"a")], &at(1), first).unwrap();
        let taken = folder.join(&store.pending[0]);
        fs::create_dir(&taken).unwrap();
        let said = store.commit(&[part(b"b")], &at(2), second).unwrap_err();
        assert!(said.to_string().starts_with("cannot rename"), "{said}");
        let unfinished = ".app1-20261128T130000.000000Z.parquet.unfinished";
        let names = [unfinished, "app1-20261128T130000.000000Z.parquet"];
        assert_eq!(files(folder), names, "the rows of the first commit stay");
        assert_eq!(store.state().unwrap().positions, at(1));
        fs::remove_dir(&taken).unwrap();
        store.commit(&[part(b"b")], &at(2), second).unwrap();
        let names = [
            "app1-20261128T130000.000000Z.parquet",
            "app1-20261128T140000.000000Z.parquet",
        ];
        assert_eq!(files(folder), names);
        assert_eq!(store.state().unwrap().positions, at(2));
    }

    #[test]
    fn two_exporters_have_two_names() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (_one, _) = Store::open(folder, "shop", "app1").unwrap();
        let (_two, _) = Store::open(folder, "shop", "app2").unwrap();
        let (_three, _) = Store::open(folder, "admin", "app1").unwrap();
        let said = Store::open(folder, "shop", "app1").unwrap_err().to_string();
        assert!(
            said.starts_with("another exporter writes files of shop as app1"),
            "{said}"
        );
    }

    #[test]
    fn only_this_user_reads_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("a/b");
        let (mut store, _) = Store::open(&folder, "shop", "app1").unwrap();
        store
            .commit(&[part(b"a")], &at(1), Timestamp::UNIX_EPOCH)
            .unwrap();
        let day = folder.join("requests/service=shop/day=2026-11-28");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!([mode(&folder), mode(&day)], [0o700; 2]);
        let file = day.join(&files(&folder)[0]);
        assert_eq!([mode(&file), mode(&store.state_path())], [0o600; 2]);
    }

    #[test]
    fn names_hold_no_path() {
        for (text, is) in [
            ("shop", true),
            ("a.b_c-9", true),
            ("", false),
            ("..", false),
            ("a/b", false),
            ("a=b", false),
        ] {
            assert_eq!(is_name(text), is, "{text}");
        }
    }
}
