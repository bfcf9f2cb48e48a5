//! Fetches the bytes of a flight file whose process may be writing to it.
//!
//! Plain reads see what the process has stored through its mapping: both go through the page cache.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::bytes::u64_at;
use crate::collection::{CollectionLog, CollectionPlace};
use crate::error::FlightError;
use crate::header::{HEADER_SIZE, Header, Layout, parse_layout};
use crate::lock::LockPlace;
use crate::record::{Decoder, Place, Record, Slot};
use crate::ring::runs;
use crate::snapshot::{Snapshot, parse, parse_counters};

/// The most that is read of one file: several times what the largest ring and endpoint table take.
pub const MAX_READ_BYTES: u64 = 1 << 30;

const WRITTEN_OFFSET: usize = 384;
const POOL_WRITTEN_OFFSET: usize = 464;

/// Opens a file of the agent's for reading. Opening a named pipe would wait for its writer, and a link in a folder that
/// others may write to lead anywhere.
pub(crate) fn open_regular(path: &Path) -> Result<File, FlightError> {
    let not_a_file = || FlightError::NotAFile {
        path: path.to_owned(),
    };
    let failed = |source| FlightError::Io {
        path: path.to_owned(),
        source,
    };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        // What a link and a socket give.
        Err(Errno::LOOP | Errno::NXIO) => return Err(not_a_file()),
        Err(errno) => return Err(failed(errno.into())),
    };
    let metadata = file.metadata().map_err(failed)?;
    metadata.is_file().then_some(file).ok_or_else(not_a_file)
}

/// Slots that are written in turn, over and over.
struct Ring {
    offset: u64,
    slot_size: u32,
    capacity: u32,
    /// Where the header counts them.
    written_at: usize,
    sequence: Place,
}

/// An open flight file. Each reading is a new snapshot; the file may grow older, never invalid.
#[derive(Debug)]
pub struct FlightFile {
    file: File,
    path: PathBuf,
    /// It does not change once the file is made.
    pub(crate) layout: Layout,
}

impl FlightFile {
    /// Opens a file and looks whether it is a flight file.
    ///
    /// # Errors
    /// When it cannot be opened or read, is no regular file (a link is none), or its head is no flight file's (see
    /// [`parse`]); [`FlightError::BeingMade`] passes.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, FlightError> {
        let path = path.into();
        let file = open_regular(&path)?;
        let mut opened = Self {
            file,
            path,
            layout: Layout::default(),
        };
        opened.layout = parse_layout(&opened.read(Some(HEADER_SIZE as u64))?)?;
        Ok(opened)
    }

    /// The path that it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads everything. Records that the process wrote over meanwhile count as torn.
    ///
    /// # Errors
    /// As for [`parse`], and when reading fails.
    pub fn snapshot(&self) -> Result<Snapshot, FlightError> {
        let layout = self.layout;
        let mut bytes = self.read(layout.end())?;
        self.mark_overwritten(&layout, &mut bytes)?;
        let mut snapshot = parse(&bytes)?;
        self.read_locks(&mut snapshot, bytes.len() as u64)?;
        // It lies behind the ring, and its slots say themselves whether they are whole. A damaged place hides no record.
        snapshot.log = self.log_at(snapshot.header.collections)?;
        Ok(snapshot)
    }

    /// Reads header, totals and endpoints and leaves the ring alone, which is cheaper:
    /// `records` is empty.
    ///
    /// # Errors
    /// As for [`parse`], and when reading fails.
    pub fn counters(&self) -> Result<Snapshot, FlightError> {
        let bytes = self.read(self.layout.counters_end())?;
        let mut snapshot = parse_counters(&bytes)?;
        self.read_locks(&mut snapshot, bytes.len() as u64)?;
        Ok(snapshot)
    }

    /// Reads the table of locks where it is not in the first `have` bytes, which were parsed. A damaged place hides no counter.
    fn read_locks(&self, snapshot: &mut Snapshot, have: u64) -> Result<(), FlightError> {
        let place = snapshot.header.locks;
        let is_behind = |place: &LockPlace| place.offset.saturating_add(place.bytes()) > have;
        if let Some(place) = place.filter(is_behind) {
            snapshot.locks = Some(place.read(&self.section(place.offset, place.bytes())?));
        }
        Ok(())
    }

    /// Reads the records from number `first` on, oldest first, as far as the ring has them, and the number of the next one.
    /// Records that the process wrote over meanwhile are left out, and the oldest of a full ring, which may be next.
    ///
    /// # Errors
    /// As for [`parse`], and when reading fails.
    pub fn records_from(&self, first: u64) -> Result<(Vec<Record>, u64), FlightError> {
        let layout = self.layout;
        let header = Header::parse(&self.read(layout.header_end())?)?;
        let (written, capacity) = (header.written, u64::from(layout.ring_capacity));
        let (decoder, size) = (Decoder::new(&header.fields), u64::from(layout.record_size));
        let first = first.max(written.saturating_sub(capacity));
        let mut records = Vec::new();
        for run in runs(first..written.max(first), capacity, capacity) {
            let offset = layout.ring_offset.saturating_add(run.slot * size);
            let bytes = (run.entries.end - run.entries.start) * size;
            let section = self.section(offset, bytes)?;
            let slots = run.entries.zip(section.chunks_exact(size as usize));
            records.extend(
                slots.filter_map(|(index, slot)| match decoder.decode(slot, index) {
                    Slot::Whole(record) => Some(record),
                    Slot::Torn | Slot::Unwritten => None,
                }),
            );
        }
        let mut head = [0; HEADER_SIZE];
        self.read_at(&mut head, 0)?;
        let after = u64_at(&head, WRITTEN_OFFSET).unwrap_or(u64::MAX);
        // The next one may be under way.
        records.retain(|record| record.index.saturating_add(capacity) > after);
        Ok((records, written))
    }

    /// Reads the log of collections alone; `None` in files of older agents.
    ///
    /// # Errors
    /// As for [`parse`], and when reading fails.
    pub fn log(&self) -> Result<Option<CollectionLog>, FlightError> {
        let (header, _) = self.totals()?;
        self.log_at(header.collections)
    }

    fn log_at(&self, place: Option<CollectionPlace>) -> Result<Option<CollectionLog>, FlightError> {
        let log = place.map(|place| {
            let bytes = place.bytes().min(MAX_READ_BYTES);
            Ok(place.read(&self.section(place.offset, bytes)?))
        });
        log.transpose()
    }

    /// The file's bytes up to `end`, or as many of them as there are.
    pub(crate) fn read(&self, end: Option<u64>) -> Result<Vec<u8>, FlightError> {
        self.section(0, end.unwrap_or(u64::MAX))
    }

    /// So many bytes from `offset`, or as many of them as there are.
    pub(crate) fn section(&self, offset: u64, bytes: u64) -> Result<Vec<u8>, FlightError> {
        let limit = MAX_READ_BYTES;
        if bytes > limit {
            return Err(FlightError::TooLarge { bytes, limit });
        }
        let length = self.file.metadata().map_err(|e| self.failed(e))?.len();
        let mut section = vec![0; bytes.min(length.saturating_sub(offset)) as usize];
        let got = self.read_at(&mut section, offset)?;
        section.truncate(got);
        Ok(section)
    }

    /// Looks again at the slots of both rings that the process may have begun to write since `bytes` were
    /// copied, and spoils in the copy the sequence numbers of those that changed.
    fn mark_overwritten(&self, layout: &Layout, bytes: &mut [u8]) -> Result<(), FlightError> {
        let mut head = [0; HEADER_SIZE];
        self.read_at(&mut head, 0)?;
        let records = Ring {
            offset: layout.ring_offset,
            slot_size: layout.record_size,
            capacity: layout.ring_capacity,
            written_at: WRITTEN_OFFSET,
            sequence: Decoder::new(&Header::parse(bytes)?.fields).sequence_place(),
        };
        let samples = Ring {
            offset: layout.pool_offset,
            slot_size: layout.pool_sample_size,
            capacity: layout.pool_capacity,
            written_at: POOL_WRITTEN_OFFSET,
            sequence: Place::U64_AT_0,
        };
        self.spoil_overwritten(&records, &head, bytes)?;
        self.spoil_overwritten(&samples, &head, bytes)
    }

    /// The writer clears a slot's number before it touches the rest, so a number that stayed vouches for
    /// what was copied in between.
    fn spoil_overwritten(
        &self,
        ring: &Ring,
        head: &[u8],
        bytes: &mut [u8],
    ) -> Result<(), FlightError> {
        let before = u64_at(bytes, ring.written_at).unwrap_or(0);
        let after = u64_at(head, ring.written_at).unwrap_or(0);
        let capacity = u64::from(ring.capacity);
        // One more than were written: the next may be under way.
        let touched = after.saturating_sub(before).saturating_add(1).min(capacity);
        let size = u64::from(ring.slot_size);
        let copied = (bytes.len() as u64).saturating_sub(ring.offset) / size.max(1);
        let mut again = vec![0; size as usize];
        for run in runs(
            before..before.saturating_add(touched),
            capacity,
            copied.min(capacity),
        ) {
            for (_, slot) in run.entries.zip(run.slot..) {
                let offset = ring.offset.saturating_add(slot * size);
                self.read_at(&mut again, offset)?;
                let start = offset as usize;
                let slot = &mut bytes[start..start + size as usize];
                if ring.sequence.read(slot) != ring.sequence.read(&again) {
                    ring.sequence.spoil(slot);
                }
            }
        }
        Ok(())
    }

    /// Fills `buffer` from `offset`, as far as the file goes; says how far that was.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, FlightError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self
                .file
                .read_at(&mut buffer[filled..], offset + filled as u64)
            {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.failed(e)),
            }
        }
        Ok(filled)
    }

    fn failed(&self, source: io::Error) -> FlightError {
        FlightError::Io {
            path: self.path.clone(),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const RING: usize = 16_384;
    const RECORD: usize = 128;

    /// The sample whose ring of 64 holds records 86 to 149, read; then the process goes on while the
    /// copy's oldest slot is half old (its number) and half new (the rest).
    fn reading_overtaken_by(change: impl Fn(&mut [u8])) -> Snapshot {
        let sample = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../contract/samples/flight/wrapped.flight");
        let whole = fs::read(sample).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("live.flight");
        fs::write(&path, &whole).unwrap();
        let file = FlightFile::open(&path).unwrap();
        let layout = file.layout;
        let mut copy = file.read(layout.end()).unwrap();
        let oldest = RING + RECORD * (150 % 64);
        copy[oldest + 8..oldest + RECORD].fill(0x11);

        let mut now = whole;
        change(&mut now);
        fs::write(&path, &now).unwrap();
        file.mark_overwritten(&layout, &mut copy).unwrap();
        parse(&copy).unwrap()
    }

    #[test]
    fn later_records_are_those_of_the_whole_ring() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/flight");
        for name in [
            "basic",
            "wide",
            "wrapped",
            "wide_wrapped",
            "torn",
            "truncated",
        ] {
            let file = FlightFile::open(samples.join(name).with_extension("flight")).unwrap();
            let whole = file.snapshot().unwrap();
            let written = whole.header.written;
            let capacity = u64::from(whole.header.ring_capacity());
            let sure = |index| index + capacity > written;
            for first in [0, written / 2, written.saturating_sub(1), written, u64::MAX] {
                let of_ring = whole.records.iter().copied();
                let of_ring = of_ring.filter(|r| r.index >= first && sure(r.index));
                let (records, next) = file.records_from(first).unwrap();
                assert_eq!(records, of_ring.collect::<Vec<_>>(), "{name} from {first}");
                assert_eq!(next, written, "{name}");
            }
        }
    }

    #[test]
    fn the_log_alone_is_that_of_the_whole_file() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/flight");
        for (name, has_log) in [("collected", true), ("basic", false)] {
            let file = FlightFile::open(samples.join(name).with_extension("flight")).unwrap();
            let log = file.log().unwrap();
            assert_eq!(log, file.snapshot().unwrap().log, "{name}");
            assert_eq!(log.is_some(), has_log, "{name}");
        }
    }

    fn assert_torn(snapshot: &Snapshot, torn: u64) {
        assert_eq!(snapshot.skipped.torn, torn);
        let oldest = snapshot.records.first().unwrap().index;
        assert_eq!(oldest, 86 + torn);
    }

    #[test]
    fn a_record_that_was_overwritten_during_the_reading_is_torn() {
        assert_torn(
            &reading_overtaken_by(|now| {
                now[WRITTEN_OFFSET..][..8].copy_from_slice(&151_u64.to_le_bytes());
                now[RING + RECORD * 22..][..8].copy_from_slice(&151_u64.to_le_bytes());
            }),
            1,
        );
    }

    #[test]
    fn a_record_that_is_being_overwritten_is_torn_though_the_count_has_not_moved() {
        assert_torn(
            &reading_overtaken_by(|now| now[RING + RECORD * 22..][..8].fill(0)),
            1,
        );
    }

    #[test]
    fn an_idle_process_loses_no_record() {
        assert_torn(&reading_overtaken_by(|_| {}), 0);
    }

    #[test]
    fn a_process_that_went_once_around_leaves_only_what_it_had_not_reached() {
        let snapshot = reading_overtaken_by(|now| {
            now[WRITTEN_OFFSET..][..8].copy_from_slice(&213_u64.to_le_bytes());
            for index in 150_u64..213 {
                let slot = RING + RECORD * (index % 64) as usize;
                now[slot..][..8].copy_from_slice(&(index + 1).to_le_bytes());
            }
        });
        assert_eq!(snapshot.skipped.torn, 63);
        assert_eq!(snapshot.records[0].index, 149);
    }
}
