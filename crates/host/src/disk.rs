//! Room on the disk.

use std::io;
use std::path::Path;

/// Bytes that may still be written to the file system of this path; a quota of the user is not among what it says.
///
/// # Errors
/// When the path cannot be looked at.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}
