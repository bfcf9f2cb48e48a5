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
//! the positions' file names the others before these are renamed, and whoever opens the store next renames what is left.

use crate::error::StoreError;
use crate::part::Part;
use crate::places::{self, EXPORTERS, UNFINISHED, of_day};
use crate::position::Positions;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
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
        let mut options = File::options();
        options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options
            .open(&path)
            .map_err(StoreError::io("create", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Taken {
                    service: service.to_owned(),
                    instance: instance.to_owned(),
                    path: folder.to_owned(),
                });
            }
            Err(TryLockError::Error(e)) => return Err(StoreError::io("lock", &path)(e)),
        }
        let store = Store {
            folder: folder.to_owned(),
            service: service.to_owned(),
            instance: instance.to_owned(),
            _lock: lock,
        };
        let state = store.state()?;
        store.finish(&state.files)?;
        store.clear();
        Ok((store, state.positions))
    }

    /// Writes files and how far was read: both are there afterwards, or neither, whenever the process is killed.
    ///
    /// # Errors
    /// When the system refuses. Then nothing was written, or the next one to open the folder finds all of it.
    pub fn commit(
        &mut self,
        parts: &[Part],
        positions: &Positions,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut written = Vec::new();
        let done = self.write(parts, now, &mut written).and_then(|()| {
            let state = State {
                files: written.clone(),
                positions: positions.clone(),
            };
            self.write_state(&state)
        });
        if let Err(e) = done {
            for file in &written {
                let _ = fs::remove_file(unfinished(&self.folder.join(file)));
            }
            return Err(e);
        }
        self.finish(&written)
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
                let time = at.strftime("%Y%m%dT%H%M%S%.6fZ");
                let name = place.join(format!("{}-{time}.parquet", self.instance));
                if !self.folder.join(&name).exists() {
                    break name;
                }
                at += jiff::SignedDuration::from_micros(1);
            };
            written.push(name.clone());
            write_unfinished(&self.folder.join(name), &part.bytes)?;
        }
        Ok(())
    }

    /// Renames the files of a commit that are not yet renamed.
    fn finish(&self, files: &[PathBuf]) -> Result<(), StoreError> {
        for file in files {
            let path = self.folder.join(file);
            match fs::rename(unfinished(&path), &path) {
                // It was renamed before, and may have been removed since.
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                renamed => {
                    renamed.map_err(StoreError::io("rename", &path))?;
                    sync_folder(&path)?;
                }
            }
        }
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
            let name = file.path.file_name().and_then(|name| name.to_str());
            let time = name.and_then(|name| name.strip_prefix(&format!(".{}-", self.instance)));
            // Behind the name of another exporter, which may begin with this one's, there is more than a time.
            if is_service && time.is_some_and(|time| !time.contains('-')) {
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

    fn write_state(&self, state: &State) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(state).expect("paths of UTF-8 and numbers are JSON");
        write_whole(&self.state_path(), &bytes)
    }
}

/// Writes a file with rows of a run, whose name makes it the file's only one. An older one is replaced.
///
/// # Errors
/// When the system refuses.
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

fn make(folder: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
        .create(folder)
        .map_err(StoreError::io("create", folder))
}

fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{UNFINISHED}"))
}

fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_unfinished(path, bytes)?;
    fs::rename(unfinished(path), path).map_err(StoreError::io("rename", path))?;
    sync_folder(path)
}

fn write_unfinished(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let unfinished = unfinished(path);
    let folder = unfinished.parent().unwrap_or(Path::new("."));
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    make(folder)?;
    let mut file = match options.open(&unfinished) {
        // Another exporter has removed the day's folder, which was empty.
        Err(e) if e.kind() == ErrorKind::NotFound => make(folder).and_then(|()| {
            options
                .open(&unfinished)
                .map_err(StoreError::io("create", &unfinished))
        })?,
        opened => opened.map_err(StoreError::io("create", &unfinished))?,
    };
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|e| {
        let _ = fs::remove_file(&unfinished);
        StoreError::io("write", &unfinished)(e)
    })
}

fn sync_folder(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(StoreError::io("sync", folder))
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
        let mut written = Vec::new();
        let (store, positions) = Store::open(folder, "shop", "app1").unwrap();
        assert!(
            positions.is_empty(),
            "before the positions are written it never was"
        );
        assert!(files(folder).is_empty(), "{:?}", files(folder));
        store.write(&[part(b"a")], now, &mut written).unwrap();
        let state = State {
            files: written,
            positions: at(7),
        };
        store.write_state(&state).unwrap();
        drop(store);
        let (_store, positions) = Store::open(folder, "shop", "app1").unwrap();
        assert_eq!(positions, at(7));
        assert_eq!(files(folder), ["app1-19700101T000000.000000Z.parquet"]);
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
