//! Fetches the bytes of an events file whose process may be writing to it.

use super::error::EventsError;
use super::header::EventsHeader;
use super::{Events, parse_from};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The most that is read of one file.
pub const MAX_EVENTS_BYTES: u64 = 1 << 30;

/// Where a trace of the process of this flight file is.
#[must_use]
pub fn events_path(flight: &Path) -> PathBuf {
    flight.with_extension("events")
}

/// Where the sampled requests of the process of this flight file are.
#[must_use]
pub fn bursts_path(flight: &Path) -> PathBuf {
    flight.with_extension("bursts")
}

/// Reads an events file, also while its process goes on writing.
///
/// # Errors
/// When it cannot be opened or read, is no regular file (a link is none), is larger than [`MAX_EVENTS_BYTES`], or as for
/// [`super::parse_events`].
pub fn read_events(path: &Path) -> Result<Events, EventsError> {
    let file = open(path, OFlags::RDONLY)?;
    let failed = |source| EventsError::Io {
        path: path.to_owned(),
        source,
    };
    let bytes = file.metadata().map_err(failed)?.len();
    if bytes > MAX_EVENTS_BYTES {
        return Err(EventsError::TooLarge {
            path: path.to_owned(),
            bytes,
            limit: MAX_EVENTS_BYTES,
        });
    }
    let mut copied = vec![0; bytes as usize];
    let got = read_at(&file, &mut copied, 0).map_err(failed)?;
    copied.truncate(got);
    // A ring's slot may have been overwritten while it was copied. The writer of event k claims it first: an event
    // beyond every claim at the end of the copy is intact.
    let header = header(&file, path)?;
    let first = match header.mode {
        super::Mode::Trace => 0,
        super::Mode::Sampling { .. } => header.claimed.saturating_sub(header.capacity()),
    };
    parse_from(&copied, first)
}

/// Reads the header alone.
///
/// # Errors
/// The file cannot be opened or read, is not a regular file (a symbolic link is refused), or has no valid header.
pub fn read_header(path: &Path) -> Result<EventsHeader, EventsError> {
    header(&open(path, OFlags::RDONLY)?, path)
}

/// The header of an open file.
pub(super) fn header(file: &File, path: &Path) -> Result<EventsHeader, EventsError> {
    let mut bytes = vec![0; super::header::HEADER_SIZE as usize];
    let got = read_at(file, &mut bytes, 0).map_err(|source| EventsError::Io {
        path: path.to_owned(),
        source,
    })?;
    EventsHeader::parse(&bytes[..got])
}

/// Opening a named pipe would wait for its writer, and a link in a folder that others may write to lead anywhere.
pub(crate) fn open(path: &Path, access: OFlags) -> Result<File, EventsError> {
    open_at(rustix::fs::CWD, path, path, access)
}

/// The same, of a name in an open folder; `path` is for messages.
pub(super) fn open_at(
    folder: impl AsFd,
    name: &Path,
    path: &Path,
    access: OFlags,
) -> Result<File, EventsError> {
    let flags = access | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let not_a_file = || EventsError::NotAFile {
        path: path.to_owned(),
    };
    let failed = |source| EventsError::Io {
        path: path.to_owned(),
        source,
    };
    let file = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::LOOP | Errno::NXIO) => return Err(not_a_file()),
        Err(errno) => return Err(failed(errno.into())),
    };
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(not_a_file());
    }
    Ok(file)
}

/// Fills `buffer` from `offset`, as far as the file goes; says how far that was.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}
