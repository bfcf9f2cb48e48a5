//! The lock of an exporter's name, which ends with its process.

use crate::error::StoreError;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Makes the file where it is not there, and locks it. `None` where another process holds the lock.
///
/// # Errors
/// The file cannot be made or locked.
pub fn taken(path: &Path) -> Result<Option<File>, StoreError> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false).mode(0o600);
    loop {
        let lock = options.open(path).map_err(StoreError::io("create", path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(e)) => return Err(StoreError::io("lock", path)(e)),
        }
        // Otherwise it was removed before it was locked, and the lock keeps nobody out.
        if is_at(&lock, path).map_err(StoreError::io("read", path))? {
            return Ok(Some(lock));
        }
    }
}

/// Whether the file still has this path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_taken_once_and_lost_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app1.lock");
        let lock = taken(&path).unwrap().unwrap();
        assert!(is_at(&lock, &path).unwrap());
        assert!(taken(&path).unwrap().is_none());
        fs::remove_file(&path).unwrap();
        assert!(!is_at(&lock, &path).unwrap());
        let _other = taken(&path).unwrap().unwrap();
        assert!(!is_at(&lock, &path).unwrap());
    }
}
