//! `inspect --save`, and the files that it writes.

use crate::commands::folder_of;
use crate::{Failure, output};
use inspect::{Asked, SavedError};
use run::counters::Document;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Whether a source is a document, and neither a folder nor a flight file.
pub fn is(path: &Path) -> bool {
    let mut first = [0];
    path.is_file()
        && File::open(path).is_ok_and(|mut file| file.read_exact(&mut first).is_ok())
        && first == *b"{"
}

/// Reads a file that `--save` wrote.
pub fn document(path: &Path) -> Result<Document, Failure> {
    ::inspect::read_saved(path).map_err(|e| match e {
        SavedError::Io { .. } => Failure::usage(e.to_string()),
        SavedError::Json { .. } | SavedError::Schema { .. } => {
            Failure::usage(format!("{e}; write one with powerband inspect --save FILE"))
        }
    })
}

/// Writes the counters of the files to `path`, or to stdout for `-`.
pub fn save(path: &Path, files: &[PathBuf], asked: &Asked) -> Result<u8, Failure> {
    let document = ::inspect::saved(files, asked);
    if document.processes.is_empty() {
        let why = match document.not_read.first() {
            Some(first) => format!("{}: {}", first.file, first.reason),
            None => "there is no flight file".to_owned(),
        };
        return Err(Failure::no_answer(why));
    }
    if path.as_os_str() == "-" {
        output::json(&document)?;
        return Ok(0);
    }
    let shown = path.display();
    write(path, &document)
        .map_err(|e| Failure::usage(format!("--save = {shown}: it cannot be written: {e}")))?;
    output::print(&format!(
        "Saved the counters of {} to {shown}. Later: powerband inspect --since {shown}\n",
        run::counted(document.processes.len() as u64, "process")
    ))?;
    Ok(0)
}

/// Into a temporary file that is then renamed, so that no half of it is ever read; readable by its owner alone. A pipe, a
/// device or a symlink stays what it is and is written into.
fn write(path: &Path, document: &Document) -> std::io::Result<()> {
    if std::fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)?;
        serde_json::to_writer(&mut file, document)?;
        return file.write_all(b"\n");
    }
    let mut file = tempfile::NamedTempFile::new_in(folder_of(path))?;
    serde_json::to_writer(&mut file, document)?;
    file.write_all(b"\n")?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symlink_stays_and_its_target_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (link, target) = (folder.path().join("link"), folder.path().join("target"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let asked = Asked {
            version: String::new(),
            sources: Vec::new(),
            since: Vec::new(),
            now_ns: 0,
        };
        write(&link, &::inspect::saved(&[], &asked)).unwrap();
        assert!(link.is_symlink());
        assert!(document(&target).is_ok());
    }
}
