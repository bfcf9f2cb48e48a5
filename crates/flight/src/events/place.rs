//! The folder that a trace's files are made in: opened once, and no path is resolved again. Root may trace the processes of
//! another user, who could put a link in the place of the folder meanwhile.

use super::error::EventsError;
use super::file;
use rustix::fs::{AtFlags, Mode, OFlags};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[derive(Debug)]
pub(super) struct Place(File);

impl Place {
    /// The folder of a flight file.
    pub fn of(flight: &Path) -> Result<Self, EventsError> {
        let folder = match flight.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened =
            rustix::fs::open(folder, flags, Mode::empty()).map_err(|e| EventsError::Io {
                path: folder.to_owned(),
                source: e.into(),
            })?;
        Ok(Self(File::from(opened)))
    }

    /// User and group of the flight file. Its process keeps it in a private folder: one in another user's folder, or with a
    /// second name, was put there by another user.
    pub fn owner(&self, flight: &Path) -> Result<(u32, u32), EventsError> {
        let metadata = |file: &File| {
            file.metadata().map_err(|source| EventsError::Io {
                path: flight.to_owned(),
                source,
            })
        };
        let (folder, file) = (
            metadata(&self.0)?,
            metadata(&self.open(flight, OFlags::RDONLY)?)?,
        );
        if file.uid() != folder.uid() || file.nlink() != 1 {
            return Err(EventsError::Misplaced {
                path: flight.to_owned(),
            });
        }
        Ok((file.uid(), file.gid()))
    }

    /// Opens the regular file of this path's name.
    pub fn open(&self, path: &Path, access: OFlags) -> Result<File, EventsError> {
        file::open_at(&self.0, Path::new(name(path)), path, access)
    }

    /// Makes a file that was not there.
    pub fn create(&self, path: &Path) -> io::Result<File> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.0, name(path), flags, Mode::RUSR | Mode::WUSR)?;
        Ok(File::from(file))
    }

    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Ok(rustix::fs::renameat(
            &self.0,
            name(from),
            &self.0,
            name(to),
        )?)
    }

    pub fn remove(&self, path: &Path) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name(path), AtFlags::empty())?)
    }
}

fn name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_that_is_replaced_by_a_link_is_still_the_one_that_was_opened() {
        let root = tempfile::tempdir().unwrap();
        let [folder, elsewhere] = ["folder", "elsewhere"].map(|name| root.path().join(name));
        fs::create_dir(&folder).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        let flight = folder.join("1-2-3.flight");
        fs::write(&flight, "").unwrap();
        let place = Place::of(&flight).unwrap();
        let moved = root.path().join("moved");
        fs::rename(&folder, &moved).unwrap();
        symlink(&elsewhere, &folder).unwrap();

        place.owner(&flight).unwrap();
        place.create(&folder.join("1-2-3.events-1")).unwrap();
        let at = |name: &str| folder.join(name);
        place
            .rename(&at("1-2-3.events-1"), &at("1-2-3.events"))
            .unwrap();
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        assert!(moved.join("1-2-3.events").exists());
        place.remove(&at("1-2-3.events")).unwrap();
        assert!(!moved.join("1-2-3.events").exists());
    }

    #[test]
    fn a_file_with_a_second_name_is_nobodys() {
        let folder = tempfile::tempdir().unwrap();
        let flight = folder.path().join("1-2-3.flight");
        fs::write(&flight, "").unwrap();
        fs::hard_link(&flight, folder.path().join("other")).unwrap();
        let place = Place::of(&flight).unwrap();
        let said = place.owner(&flight).unwrap_err().to_string();
        assert!(said.contains("in its own user's folder"), "{said}");
        fs::remove_file(&flight).unwrap();
        symlink("other", &flight).unwrap();
        place.open(&flight, OFlags::RDWR).unwrap_err();
    }
}
