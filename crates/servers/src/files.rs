//! Private folders and files of one start.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::error::StartError;

/// Makes the folder and its parents where missing; only the user can enter the new ones.
pub(crate) fn private_dir(path: &Path) -> Result<(), StartError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(failed("make the folder", path))
}

/// Writes a file that only the user can read, in place of an older one.
///
/// # Errors
/// When it cannot be written.
pub fn private_file(path: &Path, text: &str) -> Result<(), StartError> {
    let write = || -> io::Result<()> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?
            .write_all(text.as_bytes())
    };
    write().map_err(failed("write", path))
}

/// Removes a file that an earlier start may have left.
pub(crate) fn absent(path: &Path) -> Result<(), StartError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}

/// A Ruby literal without interpolation.
pub(crate) fn ruby_string(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

pub(crate) fn failed(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> StartError + use<> {
    let path = path.to_path_buf();
    move |source| StartError::File {
        action,
        path,
        source,
    }
}

/// 128 random bits in hexadecimal, for tokens and names that cannot be guessed.
///
/// # Errors
/// When the system gives none.
pub fn nonce() -> Result<String, StartError> {
    let mut bytes = [0_u8; 16];
    let path = Path::new("/dev/urandom");
    std::fs::File::open(path)
        .and_then(|mut file| io::Read::read_exact(&mut file, &mut bytes))
        .map_err(failed("read", path))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
