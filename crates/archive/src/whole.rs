//! Files that are there whole or not at all, and outlive a crash of the system. Only this user can read them.

use crate::error::StoreError;
use crate::places::UNFINISHED;
use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Makes a folder, and those around it, where it is not there.
pub fn make(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        return Ok(());
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => sync_folder(folder).inspect_err(|_| {
            // The next attempt must sync it as well.
            let _ = fs::remove_dir(folder);
        }),
        // Another exporter has made it.
        Err(e) if e.kind() == ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(e) => match folder.parent() {
            Some(parent) if e.kind() == ErrorKind::NotFound => {
                make(parent).and_then(|()| make(folder))
            }
            _ => Err(StoreError::io("create", folder)(e)),
        },
    }
}

/// The name of a file until it is finished.
pub fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{UNFINISHED}"))
}

/// Writes a file whole or not at all; it outlives a crash of the system.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    replace(path, bytes)?;
    sync_folder(path)
}

/// The same; its folder has yet to be synced.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_unfinished(path, bytes)?;
    fs::rename(unfinished(path), path).map_err(|e| {
        let _ = fs::remove_file(unfinished(path));
        StoreError::io("rename", path)(e)
    })
}

/// Writes and syncs a file under its unfinished name. Its folder has yet to be synced.
pub fn write_unfinished(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
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

/// Syncs the folder that holds this path.
pub fn sync_folder(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    sync(folder.unwrap_or(Path::new(".")))
}

pub fn sync(folder: &Path) -> Result<(), StoreError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(StoreError::io("sync", folder))
}
