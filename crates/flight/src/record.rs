//! One request, and how it lies in a slot of the ring.

use crate::call::{Call, PerCall};
use crate::field::Field;

/// Bytes of a record of agents before 0.1; later ones are longer.
pub(crate) const RECORD_SIZE: usize = 128;
/// Bytes that a later record's fields take.
const WIDE_SIZE: usize = 192;

/// The request's method, as far as the agent distinguishes them.
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
/// that [`crate::Header::measures`] denies is 0 and says nothing: agents before 0.1 deny `lock_wait_ns` (then
/// part of `io_ns`), `gc_ns` and all from `gc_own_us` on. Fields in microseconds saturate.
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
    /// CPU time of its thread since that finished its previous request, hence to be compared with
    /// `held_ns` and `server_held_us` together; by agents before 0.1 between arrival and return.
    pub cpu_ns: u64,
    /// The GC stopped it: in its own thread, or in another while it was ready.
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
    /// A job, not a request: its status is 0 and its queue time the queue's latency.
    pub job: bool,
    /// Its events were recorded.
    pub events: bool,
    /// The part of `gc_ns` that its own thread ran.
    pub gc_own_us: u32,
    /// Thread CPU of that part.
    pub gc_cpu_us: u32,
    /// GC pauses that stopped it.
    pub gc_count: u16,
    pub calls: PerCall<Call>,
    /// From its thread taking the connection up to the application; `None` when unknown.
    pub parse_us: Option<u32>,
    /// From the application's return until the response was written; `None` when unknown.
    pub write_us: Option<u32>,
    /// GVL held by its thread outside the application since its previous request.
    pub server_held_us: u32,
    /// GVL wait likewise.
    pub server_gvl_wait_us: u32,
    /// The part of `gc_ns` that was of major collections.
    pub gc_major_us: u32,
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
/// Offsets come from the file's field table. Where they are those of the contract, as they are in every
/// file that an agent writes, the slot is read with offsets that the compiler knows.
#[derive(Debug)]
pub(crate) enum Decoder {
    /// As agents before 0.1 write it.
    Narrow,
    Wide,
    Moved(Box<[Place; FIELDS]>),
}

/// Where a field lies in its slot, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    offset: usize,
    size: usize,
}

/// Fields of agents before 0.1, which come first.
const NARROW: usize = 19;
const FIELDS: usize = 42;
const ABSENT: Place = place(0, 0);

/// The record. [`assemble`] names fields by their position here.
const RECORD: [(&str, Place); FIELDS] = [
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
    ("gc_own_us", place(112, 4)),
    ("gc_cpu_us", place(116, 4)),
    ("sql_us", place(120, 4)),
    ("sql_gvl_us", place(124, 4)),
    ("http_us", place(128, 4)),
    ("http_gvl_us", place(132, 4)),
    ("cache_us", place(136, 4)),
    ("cache_gvl_us", place(140, 4)),
    ("redis_us", place(144, 4)),
    ("redis_gvl_us", place(148, 4)),
    ("pool_us", place(152, 4)),
    ("pool_gvl_us", place(156, 4)),
    ("sql_count", place(160, 2)),
    ("http_count", place(162, 2)),
    ("cache_count", place(164, 2)),
    ("redis_count", place(166, 2)),
    ("pool_count", place(168, 2)),
    ("gc_count", place(170, 2)),
    ("parse_us", place(172, 4)),
    ("write_us", place(176, 4)),
    ("server_held_us", place(180, 4)),
    ("server_gvl_wait_us", place(184, 4)),
    ("gc_major_us", place(188, 4)),
];

const fn place(offset: usize, size: usize) -> Place {
    Place { offset, size }
}

impl Place {
    /// Where every slot that is no record has its sequence number.
    pub(crate) const U64_AT_0: Self = place(0, 8);

    /// Makes a copied slot one that holds another record than was asked for.
    pub(crate) fn spoil(self, slot: &mut [u8]) {
        if let Some(bytes) = slot.get_mut(self.offset..self.offset + self.size) {
            bytes.fill(0xFF);
        }
    }

    /// The little-endian integer here; 0 where the slot is too short or the size is none of 1 to 8.
    #[inline(always)]
    pub(crate) fn read(self, slot: &[u8]) -> u64 {
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
    /// One of the first fields that the table leaves out lies where agents before 0.1 have it, since later versions
    /// keep the fields that there were; one of the others is not in the file.
    pub(crate) fn new(fields: &[Field]) -> Self {
        let narrow = std::array::from_fn(|at| if at < NARROW { RECORD[at].1 } else { ABSENT });
        let places = std::array::from_fn(|at| {
            let entry = fields.iter().find(|field| field.name == RECORD[at].0);
            entry.map_or(narrow[at], |f| place(f.offset.into(), f.size.into()))
        });
        // Agents that did not measure the last one wrote zeros in its place.
        let wide = RECORD.map(|(_, place)| place);
        let last = places[FIELDS - 1];
        if places[..FIELDS - 1] == wide[..FIELDS - 1] && [wide[FIELDS - 1], ABSENT].contains(&last)
        {
            Self::Wide
        } else if places == narrow {
            Self::Narrow
        } else {
            Self::Moved(Box::new(places))
        }
    }

    /// Record `index` from its slot.
    pub(crate) fn decode(&self, slot: &[u8], index: u64) -> Slot {
        match self {
            Self::Wide => match slot.first_chunk::<WIDE_SIZE>() {
                Some(slot) => assemble(index, |field| RECORD[field].1.read(slot)),
                None => Slot::Unwritten,
            },
            Self::Narrow => match slot.first_chunk::<RECORD_SIZE>() {
                Some(slot) => assemble(index, |field| match field {
                    0..NARROW => RECORD[field].1.read(slot),
                    _ => 0,
                }),
                None => Slot::Unwritten,
            },
            Self::Moved(places) => assemble(index, |field| places[field].read(slot)),
        }
    }

    /// Where a slot has its sequence number.
    pub(crate) fn sequence_place(&self) -> Place {
        match self {
            Self::Narrow | Self::Wide => RECORD[0].1,
            Self::Moved(places) => places[0],
        }
    }
}

/// What a slot held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one lives at a time, and boxing would allocate per record"
)]
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
        job: flags & 4 != 0,
        events: flags & 8 != 0,
        gc_own_us: read(19) as u32,
        gc_cpu_us: read(20) as u32,
        gc_count: read(36) as u16,
        calls: PerCall::from_fn(|kind| Call {
            seen_us: read(21 + 2 * kind as usize) as u32,
            gvl_us: read(22 + 2 * kind as usize) as u32,
            count: read(31 + kind as usize) as u16,
        }),
        parse_us: (flags & 16 != 0).then(|| read(37) as u32),
        write_us: (flags & 16 != 0).then(|| read(38) as u32),
        server_held_us: read(39) as u32,
        server_gvl_wait_us: read(40) as u32,
        gc_major_us: read(41) as u32,
    })
}
