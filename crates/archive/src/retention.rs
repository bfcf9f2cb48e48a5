//! What is removed, so that the folder keeps its size: files of days that are too old, then the oldest until the rest fits.

use crate::error::StoreError;
use crate::lock;
use crate::part::day_of;
use crate::places::{EXPORTERS, Kept, found, named};
use jiff::Timestamp;
use jiff::civil::Date;
use small_sort::SmallSort;
use std::fs;
use std::io;
use std::path::Path;

/// What stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub oldest_day: Date,
    /// Of all files of exporters in the folder together.
    pub bytes: u64,
}

/// Removes what the limits do not allow, of all services and instances, and returns the number of files. Only files with the names
/// that exporters give are removed; those of runs stay.
///
/// # Errors
/// A file cannot be removed.
pub fn prune(folder: &Path, limits: Limits) -> Result<usize, StoreError> {
    let mut count = 0;
    for file in going(found(folder), limits) {
        match fs::remove_file(&file.path) {
            // Another exporter keeps the same limits.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            removed => {
                removed.map_err(StoreError::io("remove", &file.path))?;
                count += 1;
            }
        }
        // A folder that has other files stays.
        let _ = file.path.parent().map(fs::remove_dir);
    }
    forget(folder, limits);
    Ok(count)
}

/// Removes what is kept of exporters that have written nothing since the oldest day.
fn forget(folder: &Path, limits: Limits) {
    let is_old = |path: &Path| {
        let written = fs::metadata(path).and_then(|metadata| metadata.modified());
        let at = written.ok().and_then(|at| Timestamp::try_from(at).ok());
        at.is_some_and(|at| day_of(at.as_microsecond()) < limits.oldest_day)
    };
    for (_, service) in named(&folder.join(EXPORTERS), "") {
        let entries = fs::read_dir(&service).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if path.extension().is_none_or(|end| end != "json") || !is_old(&path) {
                continue;
            }
            let lock = path.with_extension("lock");
            // Held until both are removed: an exporter that starts meanwhile would lose its lock or its state.
            let Ok(Some(_held)) = lock::taken(&lock) else {
                continue;
            };
            // It may have run since.
            if is_old(&path) {
                let _ = fs::remove_file(&path);
                let _ = fs::remove_file(&lock);
            }
        }
    }
}

/// Which of these files go, oldest first.
fn going(mut files: Vec<Kept>, limits: Limits) -> Vec<Kept> {
    files.small_sort_by_key(|file| (file.day, file.modified));
    let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
    files.retain(|file| {
        // A file that is being written is left to its writer for as long as its day stays.
        let goes = file.day < limits.oldest_day || (bytes > limits.bytes && !file.unfinished);
        bytes -= if goes { file.bytes } else { 0 };
        goes
    });
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Position, Positions, Store};
    use std::time::{Duration, SystemTime};

    fn kept(day: &str, seconds: u64, bytes: u64) -> Kept {
        Kept {
            path: format!("{day}-{seconds}").into(),
            instance: "a".to_owned(),
            unfinished: false,
            day: day.parse().unwrap(),
            modified: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
            bytes,
        }
    }

    fn gone(files: &[Kept], oldest_day: &str, bytes: u64) -> Vec<String> {
        let limits = Limits {
            oldest_day: oldest_day.parse().unwrap(),
            bytes,
        };
        let going = going(files.to_vec(), limits);
        going
            .iter()
            .map(|file| file.path.display().to_string())
            .collect()
    }

    #[test]
    fn the_oldest_day_goes_first_and_no_more_than_needed() {
        let files = [
            kept("2026-11-28", 9, 50),
            kept("2026-11-26", 7, 50),
            kept("2026-11-27", 8, 50),
            // Written late.
            kept("2026-11-26", 99, 50),
        ];
        assert!(gone(&files, "2026-11-26", 200).is_empty());
        assert_eq!(gone(&files, "2026-11-26", 199), ["2026-11-26-7"]);
        assert_eq!(
            gone(&files, "2026-11-26", 100),
            ["2026-11-26-7", "2026-11-26-99"]
        );
        assert_eq!(
            gone(&files, "2026-11-27", 1_000),
            ["2026-11-26-7", "2026-11-26-99"]
        );
        assert_eq!(gone(&files, "2026-11-27", 0).len(), 4);
    }

    #[test]
    fn what_is_being_written_goes_with_its_day_alone() {
        let mut file = kept("2026-11-26", 7, 50);
        file.unfinished = true;
        let files = [file];
        assert!(gone(&files, "2026-11-26", 0).is_empty());
        assert_eq!(gone(&files, "2026-11-27", 100).len(), 1);
    }

    #[test]
    fn only_files_of_exporters_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let make = |path: &str| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "x").unwrap();
            path
        };
        let old = make("gc/service=shop/day=2026-11-01/a-20261101T130000.000000Z.parquet");
        let others = [
            make("gc/service=shop/day=2026-11-01/notes.txt"),
            // DuckDB's.
            make("gc/service=shop/day=2026-11-01/data_0.parquet"),
            make("gc/service=shop/day=yesterday/a-20261101T130000.000000Z.parquet"),
            make("trials/service=shop/day=2026-11-01/a-20261101T130000.000000Z.parquet"),
            make("gc/a-20261101T130000.000000Z.parquet"),
            make("elsewhere/day=2026-11-01/a-20261101T130000.000000Z.parquet"),
        ];
        std::os::unix::fs::symlink(folder.join("elsewhere"), folder.join("gc/service=link"))
            .unwrap();
        let limits = Limits {
            oldest_day: "2026-11-28".parse().unwrap(),
            bytes: 0,
        };
        assert_eq!(prune(folder, limits).unwrap(), 1);
        assert!(!old.exists());
        assert!(others.iter().all(|path| path.exists()));
    }

    #[test]
    fn an_exporter_that_is_gone_is_forgotten_and_one_that_runs_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let position = Position::default();
        let positions: Positions = [("1-2-3.flight".to_owned(), position)].into();
        let open = |instance| {
            let (mut store, _) = Store::open(folder, "shop", instance).unwrap();
            store.commit(&[], &positions, Timestamp::now()).unwrap();
            store
        };
        drop(open("gone"));
        let _runs = open("runs");
        let limits = |oldest_day: &str| Limits {
            oldest_day: oldest_day.parse().unwrap(),
            bytes: 0,
        };
        let kept = || {
            let entries = fs::read_dir(folder.join(EXPORTERS).join("shop")).unwrap();
            let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
            names.sort();
            names
        };
        prune(folder, limits("2000-01-01")).unwrap();
        assert_eq!(kept(), ["gone.json", "gone.lock", "runs.json", "runs.lock"]);
        prune(folder, limits("9000-01-01")).unwrap();
        assert_eq!(kept(), ["runs.json", "runs.lock"]);
    }
}
