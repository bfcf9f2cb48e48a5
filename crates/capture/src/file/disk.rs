//! Where a recorder puts its files. A trait, so that tests have a disk that is full when they say so.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use super::rotation::{Created, create, create_next};

/// Space of a filesystem, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// May still be written.
    pub free: u64,
    /// Of the whole filesystem.
    pub size: u64,
}

/// Makes and cuts files.
pub trait Disk: Debug {
    /// One of them.
    type File: Write + Debug;

    /// The first file of this name, from a number on, that is not there yet.
    ///
    /// # Errors
    /// The system's.
    fn create_next(&self, path: &Path, from: u32) -> io::Result<Created<Self::File>>;

    /// Takes away what follows the first `bytes` bytes; writing goes on there.
    ///
    /// # Errors
    /// The system's.
    fn cut(&self, file: &mut Self::File, bytes: u64) -> io::Result<()>;

    /// A file that was made and has nothing in it.
    fn remove(&self, path: &Path);

    /// Writes so many bytes to a file next to this path and removes it.
    ///
    /// # Errors
    /// The system's.
    fn probe(&self, path: &Path, bytes: usize) -> io::Result<()>;

    /// Space of the filesystem of this path; `None` where the system does not say.
    fn space(&self, path: &Path) -> Option<Space>;
}

/// Those of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Files;

impl Disk for Files {
    type File = File;

    fn create_next(&self, path: &Path, from: u32) -> io::Result<Created<File>> {
        create_next(path, from)
    }

    fn cut(&self, file: &mut File, bytes: u64) -> io::Result<()> {
        file.set_len(bytes)?;
        file.seek(SeekFrom::Start(bytes)).map(drop)
    }

    fn remove(&self, path: &Path) {
        // What stays is an empty file, and the next one has another name.
        let _ = std::fs::remove_file(path);
    }

    fn probe(&self, path: &Path, bytes: usize) -> io::Result<()> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".probe");
        let probe = path.with_file_name(name);
        // A killed mirror may have left one.
        let _ = std::fs::remove_file(&probe);
        let mut file = create(&probe)?;
        let written = file.write_all(&vec![0; bytes]).and_then(|()| file.flush());
        std::fs::remove_file(&probe).and(written)
    }

    fn space(&self, path: &Path) -> Option<Space> {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let found = rustix::fs::statvfs(folder.unwrap_or(Path::new("."))).ok()?;
        Some(Space {
            free: found.f_bavail.saturating_mul(found.f_frsize),
            size: found.f_blocks.saturating_mul(found.f_frsize),
        })
    }
}
