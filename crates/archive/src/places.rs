//! Where files are in the folder, and which there are.

use crate::collections::GC;
use crate::counters::COUNTED;
use crate::memory::MEMORY;
use crate::requests::REQUESTS;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The folder of what is kept of exporters.
pub const EXPORTERS: &str = ".exporters";
/// Behind the name of a file that is not there yet: no pattern `*.parquet` finds it.
pub const UNFINISHED: &str = "unfinished";
const SERVICE: &str = "service=";
const DAY: &str = "day=";
/// Of UTC, in names of files.
const TIME: &str = "%Y%m%dT%H%M%S%.6fZ";

/// A file of an exporter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub path: PathBuf,
    pub instance: String,
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

/// The name of an exporter's file that is written at this time.
pub fn file_name(instance: &str, at: Timestamp) -> String {
    format!("{instance}-{}.parquet", at.strftime(TIME))
}

/// The exporter that gave a file this name, and whether the file is unfinished; `None` where no exporter did.
fn exporter_of(name: &str) -> Option<(&str, bool)> {
    let (name, unfinished) = match name.strip_prefix('.') {
        Some(hidden) => (hidden.strip_suffix(UNFINISHED)?.strip_suffix('.')?, true),
        None => (name, false),
    };
    let (instance, time) = name.strip_suffix(".parquet")?.rsplit_once('-')?;
    let at = DateTime::strptime(TIME, time).ok()?;
    // Parsing alone takes shorter numbers as well.
    let is_time = at.strftime(TIME).to_string() == time;
    (is_time && !instance.is_empty()).then_some((instance, unfinished))
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
        let name = entry.file_name();
        let (instance, unfinished) = exporter_of(name.to_str()?)?;
        Some(Kept {
            path: entry.path(),
            instance: instance.to_owned(),
            unfinished,
            day,
            modified: metadata.modified().ok()?,
            bytes: metadata.len(),
        })
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_file_it_is() {
        let at: Timestamp = "2026-11-28T13:00:00.5Z".parse().unwrap();
        let name = file_name("shop-1", at);
        assert_eq!(name, "shop-1-20261128T130000.500000Z.parquet");
        assert_eq!(exporter_of(&name), Some(("shop-1", false)));
        let hidden = format!(".{name}.unfinished");
        assert_eq!(exporter_of(&hidden), Some(("shop-1", true)));
        for other in [
            "data_0.parquet",
            "a-1.parquet",
            "-20261128T130000.500000Z.parquet",
            "a-20261128T130000.5Z.parquet",
            "a-20261328T130000.500000Z.parquet",
            "a-20261128T130000.500000Z.parquet.unfinished",
            ".a-20261128T130000.500000Z.parquet",
            ".a-1.parquet.unfinished",
        ] {
            assert_eq!(exporter_of(other), None, "{other}");
        }
    }
}
