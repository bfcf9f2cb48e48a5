//! The copy of the gem inside this program, so that the program alone is a whole installation.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;

use super::error::{AgentError, cache_error};
use super::own_folder::{create_own, make_own, trusted};

// From build.rs: `FILES: &[(&str, usize)]`, the paths below the gem's folder and their lengths, and `DIGEST: &str`.
include!(concat!(env!("OUT_DIR"), "/gem_files.rs"));
/// The bytes of all files, one after another.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gem_files"));

/// Writes the copy below `cache_dir`, unless it is there already, and gives its folder.
pub fn written_to(cache_dir: &Path) -> Result<PathBuf, AgentError> {
    let folder = cache_dir.join(format!("gem-{DIGEST}"));
    make_own(cache_dir)?;
    trusted(cache_dir)?;
    let gem = unpacked().map_err(cache_error(&folder))?;
    if !folder.exists() {
        // A run that starts at the same moment sees the whole gem or none of it.
        let staged = staged(cache_dir);
        // A killed run with the same process id may have left one.
        let _ = fs::remove_dir_all(&staged);
        let written = write(&gem, &staged).and_then(|()| fs::rename(&staged, &folder));
        if written.is_err() {
            let _ = fs::remove_dir_all(&staged);
        }
        // The other run's copy has the same bytes.
        if !folder.exists() {
            written.map_err(cache_error(&folder))?;
        }
    }
    trusted(&folder)?;
    match files(&gem).all(|(name, bytes)| is_there(&folder.join(name), bytes)) {
        true => Ok(folder),
        false => Err(AgentError::Damaged { path: folder }),
    }
}

fn staged(cache_dir: &Path) -> PathBuf {
    cache_dir.join(format!(".gem-{DIGEST}-{}", std::process::id()))
}

fn unpacked() -> io::Result<Vec<u8>> {
    let mut gem = Vec::new();
    ZlibDecoder::new(PACKED).read_to_end(&mut gem)?;
    Ok(gem)
}

/// The path of each file below the gem's folder, and its bytes.
fn files(gem: &[u8]) -> impl Iterator<Item = (&'static str, &[u8])> {
    let mut from = 0;
    FILES.iter().map(move |(name, bytes)| {
        let at = from;
        from += bytes;
        (*name, &gem[at..from])
    })
}

/// Servers of other users (Passenger's) read it, where the umask allows it. Only this user may write to it, at any moment.
fn write(gem: &[u8], folder: &Path) -> io::Result<()> {
    let mut own = OpenOptions::new();
    own.write(true).create_new(true).mode(0o644);
    for (name, bytes) in files(gem) {
        let path = folder.join(name);
        create_own(path.parent().unwrap_or(folder))?;
        own.open(&path)?.write_all(bytes)?;
    }
    Ok(())
}

fn is_there(path: &Path, bytes: &[u8]) -> bool {
    fs::read(path).is_ok_and(|found| found == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_a_killed_run_left_does_not_become_part_of_the_copy() {
        let dir = tempfile::tempdir().unwrap();
        let left = staged(dir.path());
        fs::create_dir_all(left.join("lib")).unwrap();
        fs::write(left.join("lib/left.rb"), "exit").unwrap();
        let folder = written_to(dir.path()).unwrap();
        assert!(!folder.join("lib/left.rb").exists());
    }

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
