//! Tables that are kept next to the code that they are about: `--markdown FILE`.

use crate::Failure;
use std::path::Path;

/// Whether the file can be written, minutes before it is, and without emptying what stands there now.
pub fn try_to_write(path: &Path) -> Result<(), Failure> {
    let mut options = std::fs::OpenOptions::new();
    let tried = options.append(true).create(true).open(path);
    tried.map(|_| ()).map_err(|e| unwritable(path, &e))
}

/// Writes it.
pub fn write(path: &Path, page: &str) -> Result<(), Failure> {
    std::fs::write(path, page).map_err(|e| unwritable(path, &e))
}

/// The command as it was typed but for its secrets, so that the tables say how to make them again.
pub fn typed() -> String {
    let quoted = |word: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:%+@".contains(c);
        match !word.is_empty() && word.chars().all(plain) {
            true => word,
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| {
        quoted(knobs::shown_command(&knobs::masked(
            &word.to_string_lossy(),
        )))
    });
    std::iter::once("powerband".to_owned())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!(
        "--markdown = {:?}: {error}; name a file that can be written",
        path.display().to_string()
    ))
}
