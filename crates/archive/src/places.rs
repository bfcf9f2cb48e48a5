//! Where files are in the folder, and which there are.

use crate::collections::GC;
use crate::counters::COUNTED;
use crate::memory::MEMORY;
use crate::requests::REQUESTS;
use jiff::civil::Date;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The folder of what is kept of exporters.
pub const EXPORTERS: &str = ".exporters";
/// Behind the name of a file that is not there yet: no pattern `*.parquet` finds it.
pub const UNFINISHED: &str = "unfinished";
const SERVICE: &str = "service=";
const DAY: &str = "day=";

/// A file of an exporter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub path: PathBuf,
    /// It is being written, or its writer was killed.
    pub unfinished: bool,
    pub day: Date,
    pub modified: SystemTime,
    pub bytes: u64,
}

/// The folder of a service's files of one table.
pub fn of_service(table: &str, service: &str) -> PathBuf {
    Path::new(table).join(format!("{SERVICE}{service}"))
}

/// The folder of its files of one day.
pub fn of_day(table: &str, service: &str, day: Date) -> PathBuf {
    of_service(table, service).join(format!("{DAY}{day}"))
}

/// The files of all exporters, also those that are not finished.
pub fn found(folder: &Path) -> Vec<Kept> {
    let tables = [REQUESTS.name, GC.name, COUNTED.name, MEMORY.name];
    let tables = tables.into_iter().map(|table| folder.join(table));
    let services = tables.flat_map(|table| named(&table, SERVICE));
    let days = services.flat_map(|(_, service)| named(&service, DAY));
    let files = days.filter_map(|(day, path)| Some((day.parse::<Date>().ok()?, path)));
    files.flat_map(|(day, path)| files_of(&path, day)).collect()
}

/// Folders with this prefix; links are none.
pub fn named(folder: &Path, prefix: &str) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let named = folders.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some((name.strip_prefix(prefix)?.to_owned(), entry.path()))
    });
    named.collect()
}

fn files_of(folder: &Path, day: Date) -> Vec<Kept> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let kept = entries.filter_map(|entry| {
        let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        let path = entry.path();
        let end = path.extension()?;
        let unfinished = end == UNFINISHED;
        let modified = metadata.modified().ok()?;
        (unfinished || end == "parquet").then(|| Kept {
            unfinished,
            path: path.clone(),
            day,
            modified,
            bytes: metadata.len(),
        })
    });
    kept.collect()
}
