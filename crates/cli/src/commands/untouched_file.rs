//! A file that is opened before a run, so that a wrong name costs none, and keeps what it holds until there is something to write.

use std::fs::File;
use std::path::Path;

/// Opens a file for writing and leaves in it what there is, until [`emptied`].
pub fn open(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false).open(path)
}

/// Empties a file; a pipe or a device has nothing to be rid of.
pub fn emptied(file: &File) -> std::io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(())
}
