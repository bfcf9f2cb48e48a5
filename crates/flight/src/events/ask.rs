//! Asks a living process for a trace: makes the file, names it in the flight file, takes both back.

use super::error::EventsError;
use super::file::{self, events_path};
use super::header::{EventsHeader, EventsLayout, EventsState, Mode};
use super::place::Place;
use crate::{Header, Snapshot};
use rustix::fs::{FallocateFlags, OFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, fchown};
use std::path::{Path, PathBuf};

const TRACE_REQUEST_OFFSET: u64 = 472;
const DEADLINE_OFFSET: u64 = 104;
const THREADS: u32 = 1024;
const CHUNK: usize = 1 << 20;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// Distinguishes this trace from others; not 0.
    pub request: u64,
    /// How long, from when the file is made: making it takes a while on a busy disk.
    pub duration_ns: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Now, on both clocks.
    pub wall_ns: u64,
    pub mono_ns: u64,
}

/// The file that a recording is asked for with.
pub(crate) struct Wanted<'a> {
    pub path: PathBuf,
    pub request: u64,
    /// Its length.
    pub bytes: u64,
    pub header: Vec<u8>,
    /// Offsets of fields for instants, and how long after the file is made those are.
    pub deadlines: &'a [(u64, u64)],
}

/// A trace that was asked for. Dropping it leaves everything as it is; [`Trace::withdraw`] takes it back.
#[derive(Debug)]
pub struct Trace {
    place: Place,
    flight: PathBuf,
    path: PathBuf,
    /// The very file, whatever may be renamed over it.
    file: File,
    request: u64,
}

impl Trace {
    /// Makes the file in full, so that the server neither waits for a disk nor can be killed by one that is full, and
    /// asks for the trace. `flight` and `snapshot` are the process's flight file.
    ///
    /// # Errors
    /// When there is no room, or a file cannot be made or written, or the flight file and its folder belong to different
    /// users.
    pub fn ask(flight: &Path, snapshot: &Snapshot, ask: Ask) -> Result<Self, EventsError> {
        let header = header(&snapshot.header, &ask);
        let wanted = Wanted {
            path: events_path(flight),
            request: ask.request,
            bytes: header.layout.end(),
            header: header.to_bytes(),
            deadlines: &[(DEADLINE_OFFSET, ask.duration_ns)],
        };
        Self::ask_for(flight, &wanted)
    }

    /// The same for any kind of file.
    pub(crate) fn ask_for(flight: &Path, wanted: &Wanted) -> Result<Self, EventsError> {
        let path = wanted.path.clone();
        let place = Place::of(flight)?;
        let owner = place.owner(flight)?;
        // Next to its place under another name, so that the agent finds it whole or not at all.
        let mut making = path.clone().into_os_string();
        making.push(format!("-{:016x}", wanted.request));
        let making = PathBuf::from(making);
        let named = |file: &File| {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            let now_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
            for (offset, duration_ns) in wanted.deadlines {
                let deadline = now_ns.saturating_add(*duration_ns).to_le_bytes();
                file.write_all_at(&deadline, *offset)?;
            }
            place.rename(&making, &path)
        };
        let made = make(&place, &making, owner, wanted).and_then(|file| {
            named(&file).map_err(|source| failed(&path, source))?;
            Ok(file)
        });
        let file = made.inspect_err(|_| {
            let _ = place.remove(&making);
        })?;
        let trace = Self {
            place,
            flight: flight.to_owned(),
            path,
            file,
            request: wanted.request,
        };
        trace.write_request(wanted.request).inspect_err(|_| {
            let _ = trace.place.remove(&trace.path);
        })?;
        Ok(trace)
    }

    /// How far the process has come.
    ///
    /// # Errors
    /// When the header cannot be read.
    pub fn header(&self) -> Result<EventsHeader, EventsError> {
        file::header(&self.file, &self.path)
    }

    /// The very file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Where the events are.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the recording where it still goes on, without a message: at its next request the process lets go of the
    /// file. With `remove` the file's name goes too.
    ///
    /// # Errors
    /// When a file cannot be written or removed.
    pub fn withdraw(self, remove: bool) -> Result<(), EventsError> {
        // Another reader may have asked since.
        if request_of(&self.flight)? == self.request {
            self.write_request(0)?;
            if remove {
                self.place
                    .remove(&self.path)
                    .map_err(|source| failed(&self.path, source))?;
            }
        }
        Ok(())
    }

    fn write_request(&self, request: u64) -> Result<(), EventsError> {
        self.place
            .open(&self.flight, OFlags::RDWR)?
            .write_all_at(&request.to_le_bytes(), TRACE_REQUEST_OFFSET)
            .map_err(|source| failed(&self.flight, source))
    }
}

/// Until when (`CLOCK_MONOTONIC`) another reader's trace of this process goes on; `None` when there is none.
#[must_use]
pub fn is_traced_until(flight: &Path) -> Option<u64> {
    let request = open_request(flight)?;
    let header = file::read_header(&events_path(flight)).ok()?;
    let goes_on = header.request == request && header.state != EventsState::Over;
    goes_on.then_some(header.deadline_mono_ns)
}

/// The number under which a reader asked the process of this flight file for a recording and has not taken it back.
pub(crate) fn open_request(flight: &Path) -> Option<u64> {
    request_of(flight).ok().filter(|&request| request != 0)
}

fn request_of(flight: &Path) -> Result<u64, EventsError> {
    let mut word = [0; 8];
    let file = file::open(flight, OFlags::RDONLY)?;
    file::read_at(&file, &mut word, TRACE_REQUEST_OFFSET).map_err(|e| failed(flight, e))?;
    Ok(u64::from_le_bytes(word))
}

fn header(flight: &Header, ask: &Ask) -> EventsHeader {
    EventsHeader {
        mode: Mode::Trace,
        state: EventsState::Asked,
        request: ask.request,
        pid: flight.pid,
        worker_index: flight.server.worker_index,
        start_ticks: flight.start_ticks,
        origin: flight.origin,
        created_wall_ns: ask.wall_ns,
        created_mono_ns: ask.mono_ns,
        deadline_mono_ns: 0,
        began_mono_ns: 0,
        ended_mono_ns: 0,
        claimed: 0,
        layout: EventsLayout::for_trace(ask.bytes, THREADS),
    }
}

/// `owner` is the user and the group that the file is for.
fn make(
    place: &Place,
    path: &Path,
    owner: (u32, u32),
    wanted: &Wanted,
) -> Result<File, EventsError> {
    let bytes = wanted.bytes;
    let no_room = |source| EventsError::NoRoom {
        path: path.to_owned(),
        bytes,
        source,
    };
    let file = place.create(path).map_err(|source| failed(path, source))?;
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes)
        .map_err(|e| no_room(e.into()))?;
    // Written as well, so that the server's first touch of each page finds it in memory.
    let zeros = vec![0; CHUNK];
    let mut at = 0;
    while at < bytes {
        let length = (bytes - at).min(CHUNK as u64);
        file.write_all_at(&zeros[..length as usize], at)
            .map_err(no_room)?;
        at += length;
    }
    file.write_all_at(&wanted.header, 0).map_err(no_room)?;
    let made = file.metadata().map_err(|source| failed(path, source))?;
    if made.blocks() * 512 < bytes {
        return Err(EventsError::NothingSetAside {
            path: path.to_owned(),
        });
    }
    if (made.uid(), made.gid()) != owner {
        fchown(&file, Some(owner.0), Some(owner.1)).map_err(|source| failed(path, source))?;
    }
    Ok(file)
}

fn failed(path: &Path, source: io::Error) -> EventsError {
    EventsError::Io {
        path: path.to_owned(),
        source,
    }
}
