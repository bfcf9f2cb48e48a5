//! One request, and how it lies in a slot of the ring.

use crate::header::Field;

/// Bytes of a version 1 record; later ones may be longer.
pub(crate) const RECORD_SIZE: usize = 128;

/// The request's method, as far as the agent tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    Other,
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

/// One request.
///
/// held + gvl_wait + lock_wait + io = wall. CPU and GC are parts of these and are never added. A field
/// that [`crate::Header::measures`] denies is 0 and says nothing: agent 0.1 denies `lock_wait_ns` (then
/// part of `io_ns`) and `gc_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The record's number from 0, in the order in which requests ended.
    pub index: u64,
    /// `CLOCK_REALTIME` at arrival.
    pub arrival_wall_ns: u64,
    /// `CLOCK_MONOTONIC` at arrival.
    pub start_mono_ns: u64,
    /// Time in queues before arrival; `None` when the request carried no `X-Request-Start`.
    pub queue_ns: Option<u64>,
    /// From arrival until the application returned.
    pub wall_ns: u64,
    /// Its thread held the GVL.
    pub held_ns: u64,
    /// Its thread was ready and waited for the GVL.
    pub gvl_wait_ns: u64,
    /// Its thread waited for a lock.
    pub lock_wait_ns: u64,
    /// Its thread had given the GVL up and was not ready.
    pub io_ns: u64,
    /// CPU time of its thread.
    pub cpu_ns: u64,
    /// Pauses of this process's GC during the request.
    pub gc_ns: u64,
    /// Objects that this request allocated.
    pub allocations: u64,
    /// Times that the GVL was given up.
    pub yields: u32,
    /// Kernel thread id.
    pub thread_id: u32,
    /// [`crate::Endpoint::index`] of its endpoint.
    pub endpoint: u16,
    /// HTTP status; 0 when the application raised.
    pub status: u16,
    /// Requests in flight in its process when it began, itself included.
    pub busy_threads: u16,
    pub method: Method,
    /// The application raised.
    pub raised: bool,
}

impl Record {
    /// `CLOCK_MONOTONIC` when the application returned.
    #[must_use]
    pub fn end_mono_ns(&self) -> u64 {
        self.start_mono_ns.saturating_add(self.wall_ns)
    }

    /// Status 500 to 599, or the application raised.
    #[must_use]
    pub fn server_error(&self) -> bool {
        self.raised || (500..600).contains(&self.status)
    }
}

/// Turns a slot into a [`Record`].
///
/// Offsets come from the file's field table. Where they are those of version 1, as they are in every
/// file that agent 0.1 writes, the slot is read with offsets that the compiler knows.
#[derive(Debug)]
pub(crate) enum Decoder {
    Version1,
    Moved(Box<[Place; FIELDS]>),
}

/// Where a field lies in its slot, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    offset: usize,
    size: usize,
}

const FIELDS: usize = 19;

/// The record of version 1. [`assemble`] names fields by their position here.
const VERSION_1: [(&str, Place); FIELDS] = [
    ("sequence", place(0, 8)),
    ("arrival_wall_ns", place(8, 8)),
    ("start_mono_ns", place(16, 8)),
    ("queue_ns", place(24, 8)),
    ("wall_ns", place(32, 8)),
    ("held_ns", place(40, 8)),
    ("gvl_wait_ns", place(48, 8)),
    ("lock_wait_ns", place(56, 8)),
    ("io_ns", place(64, 8)),
    ("cpu_ns", place(72, 8)),
    ("gc_ns", place(80, 8)),
    ("allocations", place(88, 8)),
    ("yields", place(96, 4)),
    ("thread_id", place(100, 4)),
    ("endpoint", place(104, 2)),
    ("status", place(106, 2)),
    ("busy_threads", place(108, 2)),
    ("method", place(110, 1)),
    ("flags", place(111, 1)),
];

const fn place(offset: usize, size: usize) -> Place {
    Place { offset, size }
}

impl Place {
    /// The little-endian integer here; 0 where the slot is too short or the size is none of 1 to 8.
    #[inline(always)]
    fn read(self, slot: &[u8]) -> u64 {
        let Some(bytes) = slot.get(self.offset..self.offset + self.size) else {
            return 0;
        };
        let mut word = [0; 8];
        match word.get_mut(..self.size) {
            Some(low) => low.copy_from_slice(bytes),
            None => return 0,
        }
        u64::from_le_bytes(word)
    }
}

impl Decoder {
    /// A field that the table leaves out lies where version 1 has it: later versions keep the fields
    /// that there were.
    pub(crate) fn new(fields: &[Field]) -> Self {
        let places = VERSION_1.map(|(name, version_1)| {
            let entry = fields.iter().find(|field| field.name == name);
            entry.map_or(version_1, |f| place(f.offset.into(), f.size.into()))
        });
        if places == VERSION_1.map(|(_, place)| place) {
            return Self::Version1;
        }
        Self::Moved(Box::new(places))
    }

    /// Record `index` from its slot.
    pub(crate) fn decode(&self, slot: &[u8], index: u64) -> Slot {
        match (self, slot.first_chunk::<RECORD_SIZE>()) {
            (Self::Version1, Some(slot)) => assemble(index, |field| VERSION_1[field].1.read(slot)),
            (Self::Moved(places), _) => assemble(index, |field| places[field].read(slot)),
            (Self::Version1, None) => Slot::Unwritten,
        }
    }

    /// The slot's sequence number.
    pub(crate) fn sequence_of(&self, slot: &[u8]) -> u64 {
        self.sequence_place().read(slot)
    }

    /// Makes a copied slot one that holds another record than was asked for.
    pub(crate) fn spoil_sequence(&self, slot: &mut [u8]) {
        let Place { offset, size } = self.sequence_place();
        if let Some(sequence) = slot.get_mut(offset..offset + size) {
            sequence.fill(0xFF);
        }
    }

    fn sequence_place(&self) -> Place {
        match self {
            Self::Version1 => VERSION_1[0].1,
            Self::Moved(places) => places[0],
        }
    }
}

/// What a slot held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    Whole(Record),
    /// Another record than the one asked for.
    Torn,
    /// A record that was never finished.
    Unwritten,
}

#[inline(always)]
fn assemble(index: u64, read: impl Fn(usize) -> u64) -> Slot {
    match read(0) {
        0 => return Slot::Unwritten,
        sequence if sequence != index.wrapping_add(1) => return Slot::Torn,
        _ => {}
    }
    let flags = read(18);
    Slot::Whole(Record {
        index,
        arrival_wall_ns: read(1),
        start_mono_ns: read(2),
        queue_ns: (flags & 1 != 0).then(|| read(3)),
        wall_ns: read(4),
        held_ns: read(5),
        gvl_wait_ns: read(6),
        lock_wait_ns: read(7),
        io_ns: read(8),
        cpu_ns: read(9),
        gc_ns: read(10),
        allocations: read(11),
        yields: read(12) as u32,
        thread_id: read(13) as u32,
        endpoint: read(14) as u16,
        status: read(15) as u16,
        busy_threads: read(16) as u16,
        method: match read(17) as u8 {
            1 => Method::Get,
            2 => Method::Head,
            3 => Method::Post,
            4 => Method::Put,
            5 => Method::Patch,
            6 => Method::Delete,
            7 => Method::Options,
            _ => Method::Other,
        },
        raised: flags & 2 != 0,
    })
}
