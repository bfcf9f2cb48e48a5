//! The copy of the gem inside this program, so that the program alone is a whole installation.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::error::{AgentError, cache_error};
use super::own_folder::{make_own, trusted};

/// A file of the gem: its path below the gem's folder, and its bytes.
type GemFile = (&'static str, &'static [u8]);

// `FILES: &[GemFile]` and `DIGEST: &str`, from build.rs.
include!(concat!(env!("OUT_DIR"), "/gem_files.rs"));

/// Writes the copy below `cache_dir`, unless it is there already, and gives its folder.
pub fn written_to(cache_dir: &Path) -> Result<PathBuf, AgentError> {
    let folder = cache_dir.join(format!("gem-{DIGEST}"));
    make_own(cache_dir)?;
    trusted(cache_dir)?;
    if !folder.exists() {
        // A run that starts at the same moment sees the whole gem or none of it.
        let staged = cache_dir.join(format!(".gem-{DIGEST}-{}", std::process::id()));
        let written = write(&staged).and_then(|()| fs::rename(&staged, &folder));
        if written.is_err() {
            let _ = fs::remove_dir_all(&staged);
        }
        // The other run's copy has the same bytes.
        if !folder.exists() {
            written.map_err(cache_error(&folder))?;
        }
    }
    trusted(&folder)?;
    match FILES.iter().all(|file| is_there(&folder, file)) {
        true => Ok(folder),
        false => Err(AgentError::Damaged { path: folder }),
    }
}

fn write(folder: &Path) -> io::Result<()> {
    for (name, bytes) in FILES {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent)?;
        fs::write(&path, bytes)?;
    }
    // Servers of other users (Passenger's) read it, and with a umask of 002 the group could write.
    for entry in folders_and_files(folder)? {
        let mode = if entry.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(&entry, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

fn folders_and_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![folder.to_path_buf()];
    let mut next = 0;
    while next < found.len() {
        if found[next].is_dir() {
            for entry in fs::read_dir(&found[next])? {
                found.push(entry?.path());
            }
        }
        next += 1;
    }
    Ok(found)
}

fn is_there(folder: &Path, (name, bytes): &GemFile) -> bool {
    fs::read(folder.join(name)).is_ok_and(|found| found == *bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_once_for_all_users_to_read_and_a_changed_copy_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("cache");
        let folder = written_to(&cache).unwrap();
        let inject = folder.join("lib/powerband/inject.rb");
        let first = fs::metadata(&inject).unwrap();
        assert_eq!(first.permissions().mode() & 0o777, 0o644);
        assert_eq!(
            fs::metadata(folder.join("lib"))
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o755
        );
        assert_eq!(written_to(&cache).unwrap(), folder);
        assert_eq!(
            fs::metadata(&inject).unwrap().modified().unwrap(),
            first.modified().unwrap()
        );
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 1);
        fs::write(&inject, "exit").unwrap();
        let message = written_to(&cache).unwrap_err().to_string();
        assert!(message.contains("remove it"), "{message}");
    }
}
