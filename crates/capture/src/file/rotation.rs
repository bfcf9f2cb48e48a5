//! Names of a capture's files, and when the next one begins.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// When a file is followed by the next, and when recording ends; any of it, or nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// A file has about so many bytes at most: a block may be begun below and end above.
    pub bytes: Option<u64>,
    /// Or covers so much time.
    pub age: Option<Duration>,
    /// All files together have at most so many bytes, heads of files aside. Files of earlier recorders that have the names
    /// of parts count.
    pub total: Option<u64>,
}

/// `traffic.pbc`, `traffic.1.pbc`, `traffic.2.pbc`, …
#[must_use]
pub fn part_of(path: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// A new file that its owner alone may read. A link in its place is not followed: exclusive creation fails where
/// the name exists in any form.
///
/// # Errors
/// The system's; `AlreadyExists` where the name is taken.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(path)
}

/// A part that has just been made.
#[derive(Debug)]
pub struct Created<F> {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub path: PathBuf,
    /// The open file.
    pub file: F,
    /// Bytes of the existing parts that were passed over.
    pub passed: u64,
}

/// The first file of this name, from a number on, that is not there yet.
pub(super) fn create_next(path: &Path, from: u32) -> io::Result<Created<File>> {
    let (mut number, mut passed) = (from, 0_u64);
    loop {
        let part = part_of(path, number);
        match create(&part) {
            Ok(file) => {
                return Ok(Created {
                    number,
                    path: part,
                    file,
                    passed,
                });
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && number < u32::MAX => {
                let found = std::fs::symlink_metadata(&part);
                passed = passed.saturating_add(found.map_or(0, |found| found.len()));
                number += 1;
            }
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_before_the_extension() {
        let of = |path: &str, number| part_of(Path::new(path), number).display().to_string();
        assert_eq!(of("a/traffic.pbc", 0), "a/traffic.pbc");
        assert_eq!(of("a/traffic.pbc", 2), "a/traffic.2.pbc");
        assert_eq!(of("traffic", 1), "traffic.1");
        assert_eq!(of("web.1.pbc", 3), "web.1.3.pbc");
    }
}
