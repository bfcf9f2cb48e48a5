//! The header: who wrote the file, how the server really runs, what was measured
//! and where everything lies.

use crate::bytes::{section, text_at, u32_at, u64_at};
use crate::collection::CollectionPlace;
use crate::endpoint::Endpoint;
use crate::error::FlightError;
use crate::field::Field;
use crate::heap::Heap;
use crate::lock::LockPlace;
use crate::magic;
use crate::origin::Origin;
use crate::pool::PoolSample;
use crate::record::RECORD_SIZE;
use crate::totals::Totals;
use std::collections::BTreeMap;

/// The part of the header whose offsets version 1 fixes.
pub(crate) const HEADER_SIZE: usize = 512;
const UNKNOWN: u32 = u32::MAX;

// Far beyond what any version may come to need; damaged headers ask for more.
const MAX_ENTRY_SIZE: u32 = 1 << 16;
const MAX_RING_CAPACITY: u32 = 1 << 24;
const MAX_FIELDS: u32 = 1 << 10;
const MAX_ENDPOINTS: u32 = 1 << 16;
const MAX_POOL_SAMPLES: u32 = 1 << 20;

/// How far the process that writes the file has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Being written, or its process died without a word.
    Live,
    /// Closed in good order.
    Closed,
    /// A state that this version does not know.
    Other(u32),
}

/// Distinguishes processes, also those that reuse a pid, and those that keep theirs over Puma's
/// USR2 restart, which opens a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId {
    pub pid: u32,
    /// Field 22 of `/proc/<pid>/stat`.
    pub start_ticks: u64,
    /// `CLOCK_MONOTONIC` when the file was made.
    pub created_mono_ns: u64,
}

/// What the server really runs with, as it said itself; `None` where the agent could not learn it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Server {
    /// e.g. `puma 6.6.0`
    pub name: String,
    /// Worker processes; 0 is Puma's single mode.
    pub workers: Option<u32>,
    pub min_threads: Option<u32>,
    pub max_threads: Option<u32>,
    pub preload: Option<bool>,
    /// Puma's index of this worker; `None` in single mode or when unknown.
    pub worker_index: Option<u32>,
}

/// What a process runs with, in addition to its server; empty where the agent did not record it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// The value of `POWERBAND_ARM`: the group that an experiment compares.
    pub arm: String,
    /// e.g. `jemalloc`
    pub allocator: String,
    /// e.g. `yjit`, `off`, or `none` where there is no YJIT
    pub jit: String,
}

/// What the garbage collector did to the whole process since its file was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collector {
    /// Pauses; incremental and sweeping steps count one each.
    pub runs: u64,
    /// Their length, during which no Ruby thread of the process ran.
    pub pause_ns: u64,
    /// Thread CPU spent in them.
    pub cpu_ns: u64,
}

/// Everything that stands before the counters and the ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub version: u32,
    pub state: State,
    pub pid: u32,
    /// The parent's pid when the file was made.
    pub parent_pid: u32,
    /// Field 22 of `/proc/<pid>/stat`.
    pub start_ticks: u64,
    /// `CLOCK_REALTIME` when the file was made.
    pub created_wall_ns: u64,
    /// `CLOCK_MONOTONIC` at the same instant.
    pub created_mono_ns: u64,
    pub server: Server,
    pub ruby_version: String,
    /// e.g. `rails 7.2.2.1`, or empty.
    pub framework: String,
    pub agent_version: String,
    /// Cut at 127 bytes.
    pub app_root: String,
    /// The GVL hook was active: without it held, wait and I/O are not distinguished.
    pub gvl_hook: bool,
    /// A fiber scheduler serves requests, so that the split of their time is not valid.
    pub fiber_scheduler: bool,
    /// The process holds a lock on the file for as long as it runs: see [`crate::life`].
    pub locked: bool,
    /// Where its process number means something; `None` in files of older agents.
    pub origin: Option<Origin>,
    /// Totals and endpoints count requests by the class of their status.
    pub counts_statuses: bool,
    /// They count those whose wall time is at most 75 and at most 250 ms.
    pub counts_edges: bool,
    /// What the process runs with.
    pub about: About,
    /// Environment variables of the collector and of malloc; `None` in files of older agents, and where not all of them fit.
    pub variables: Option<BTreeMap<String, String>>,
    /// Ruby's heap as it was last written down; `None` in files of older agents.
    pub heap: Option<Heap>,
    /// The flags as written, for bits that this version does not know.
    pub flags: u32,
    /// Records ever written, also those that the ring has since overwritten.
    pub written: u64,
    /// Errors inside the agent that it swallowed.
    pub faults: u64,
    /// Requests whose queue time came out negative and was taken as 0, or was more than an hour off, hence unknown.
    pub clock_skew: u64,
    /// Requests booked under "(other)" because the endpoint table was full.
    pub endpoints_lost: u64,
    /// Requests being served when the header was read.
    pub in_flight: u64,
    /// `None` when this agent does not watch the collector.
    pub collector: Option<Collector>,
    /// Pool samples ever written, also those that have since been overwritten.
    pub pool_written: u64,
    /// What a reader wrote to ask for events; 0 none.
    pub trace_request: u64,
    /// The field table, in the file's order.
    pub fields: Vec<Field>,
    pub(crate) layout: Layout,
    /// `None` in files of older agents.
    pub(crate) collections: Option<CollectionPlace>,
    /// `None` in files of older agents.
    pub(crate) locks: Option<LockPlace>,
}

/// Where the sections lie. Sizes were checked to hold at least what version 1 has in them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub field_table_offset: u64,
    pub field_count: u32,
    pub totals_offset: u64,
    pub totals_size: u32,
    pub endpoint_offset: u64,
    pub endpoint_size: u32,
    pub endpoint_capacity: u32,
    pub ring_offset: u64,
    pub ring_capacity: u32,
    pub record_size: u32,
    /// 0 when there are no pool samples.
    pub pool_offset: u64,
    pub pool_sample_size: u32,
    pub pool_capacity: u32,
}

impl Layout {
    /// Where the further counters lie in the totals: after 128 bytes for the first ones.
    pub const TOTALS_FURTHER: u64 = 128;

    /// The totals' further counters, as offset and size; `None` in files of agents before 0.1.
    pub fn totals_further(&self) -> Option<(u64, u64)> {
        let (skip, size) = (Self::TOTALS_FURTHER, Totals::FURTHER_SIZE as u64);
        (u64::from(self.totals_size) >= skip + size)
            .then(|| (self.totals_offset.saturating_add(skip), size))
    }

    /// The first byte after the header and its field table; `None` when that exceeds 64 bits.
    pub fn header_end(&self) -> Option<u64> {
        let fields = u64::from(self.field_count) * Field::ENTRY_SIZE;
        let table = self.field_table_offset.checked_add(fields)?;
        Some(table.max(HEADER_SIZE as u64))
    }

    /// The first byte after the header's tables and the totals; `None` when that exceeds 64 bits.
    pub fn totals_end(&self) -> Option<u64> {
        let totals = self.totals_offset.checked_add(self.totals_size.into())?;
        Some(totals.max(self.header_end()?))
    }

    /// The first byte after the header's tables, the totals, the endpoints and the pool samples; `None`
    /// when that exceeds 64 bits.
    pub fn counters_end(&self) -> Option<u64> {
        let endpoints = u64::from(self.endpoint_size) * u64::from(self.endpoint_capacity);
        let samples = u64::from(self.pool_sample_size) * u64::from(self.pool_capacity);
        let ends = [
            self.totals_end()?,
            self.endpoint_offset.checked_add(endpoints)?,
            self.pool_offset.checked_add(samples)?,
        ];
        ends.into_iter().max()
    }

    /// The first byte after everything; `None` when that exceeds 64 bits.
    pub fn end(&self) -> Option<u64> {
        let ring = u64::from(self.record_size) * u64::from(self.ring_capacity);
        Some(
            self.ring_offset
                .checked_add(ring)?
                .max(self.counters_end()?),
        )
    }
}

impl Header {
    /// Which process this is.
    #[must_use]
    pub fn process(&self) -> ProcessId {
        ProcessId {
            pid: self.pid,
            start_ticks: self.start_ticks,
            created_mono_ns: self.created_mono_ns,
        }
    }

    /// Whether the agent measured a field of the record, such as `"gc_ns"`. When it did not, that
    /// field is 0 in every record and in the totals, and this 0 says nothing.
    #[must_use]
    pub fn measures(&self, field: &str) -> bool {
        self.fields.iter().any(|f| f.measured && f.name == field)
    }

    /// Whether the file has the counters since agent 0.1: [`Totals::gc_own_ns`] and all that follow it, in
    /// the totals and in every endpoint.
    #[must_use]
    pub fn counts_further(&self) -> bool {
        self.layout.totals_further().is_some()
            && self.layout.endpoint_size as usize >= Endpoint::WIDE_SIZE
    }

    /// Records that the ring holds.
    #[must_use]
    pub fn ring_capacity(&self) -> u32 {
        self.layout.ring_capacity
    }

    /// Reads the header from the start of a file.
    ///
    /// # Errors
    /// When the bytes are foreign, too few, not yet filled, or contradict themselves.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, FlightError> {
        let layout = parse_layout(bytes)?;
        let fields = parse_fields(bytes, &layout)?;
        let u32_of = |offset| u32_at(bytes, offset).unwrap_or(0);
        let u64_of = |offset| u64_at(bytes, offset).unwrap_or(0);
        let known = |offset| Some(u32_of(offset)).filter(|&value| value != UNKNOWN);
        let flags = u32_of(124);
        let watched = fields
            .iter()
            .any(|f: &Field| f.measured && f.name == "gc_ns");
        Ok(Self {
            version: u32_of(8),
            state: match u32_of(68) {
                1 => State::Live,
                2 => State::Closed,
                other => State::Other(other),
            },
            pid: u32_of(72),
            parent_pid: u32_of(76),
            start_ticks: u64_of(80),
            created_wall_ns: u64_of(88),
            created_mono_ns: u64_of(96),
            server: Server {
                name: text_at(bytes, 160, 32),
                workers: known(108),
                min_threads: known(112),
                max_threads: known(116),
                preload: match u32_of(120) {
                    0 => Some(false),
                    1 => Some(true),
                    _ => None,
                },
                // Negative (-1) is "none"; as unsigned that is beyond every index.
                worker_index: Some(u32_of(104)).filter(|&i| i <= i32::MAX as u32),
            },
            ruby_version: text_at(bytes, 128, 32),
            framework: text_at(bytes, 192, 32),
            agent_version: text_at(bytes, 224, 32),
            app_root: text_at(bytes, 256, 128),
            gvl_hook: flags & 1 != 0,
            fiber_scheduler: flags & 2 != 0,
            locked: flags & 4 != 0,
            origin: Origin::at(bytes, 480),
            counts_statuses: flags & 8 != 0,
            counts_edges: flags & 16 != 0,
            about: about(bytes),
            variables: variables(bytes),
            heap: heap(bytes),
            collections: CollectionPlace::of_about(about_section(bytes)),
            locks: LockPlace::of_about(about_section(bytes)),
            flags,
            written: u64_of(384),
            faults: u64_of(392),
            clock_skew: u64_of(400),
            endpoints_lost: u64_of(408),
            in_flight: u64_of(416),
            collector: watched.then(|| Collector {
                runs: u64_of(424),
                pause_ns: u64_of(432),
                cpu_ns: u64_of(440),
            }),
            pool_written: u64_of(464),
            trace_request: u64_of(472),
            fields,
            layout,
        })
    }
}

/// The section that says what the process runs with; empty in files of older agents.
fn about_section(bytes: &[u8]) -> &[u8] {
    let place = u32_at(bytes, 504).zip(u32_at(bytes, 508));
    let found = place.and_then(|(offset, size)| section(bytes, offset.into(), size.into()));
    found.unwrap_or_default()
}

fn heap(bytes: &[u8]) -> Option<Heap> {
    let about = about_section(bytes);
    Heap::at(bytes, u32_at(about, 112)?, u32_at(about, 116)?)
}

fn variables(bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    let about = about_section(bytes);
    let (offset, size) = (u32_at(about, 144)?, u32_at(about, 148)?);
    let found = section(bytes, offset.into(), size.into()).filter(|_| offset > 0)?;
    let text = text_at(found, 0, found.len());
    let pair = |line: &str| {
        let (name, value) = line.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    };
    text.lines().map(pair).collect()
}

fn about(bytes: &[u8]) -> About {
    let about = about_section(bytes);
    let text = |offset, length| text_at(about, offset, length);
    About {
        arm: text(0, 64),
        allocator: text(64, 32),
        jit: text(96, 16),
    }
}

/// Checks magic, version and state, then that every section can hold what version 1 has in it and is
/// no larger than any later version would make it.
pub(crate) fn parse_layout(bytes: &[u8]) -> Result<Layout, FlightError> {
    let magic = bytes.get(..magic::FLIGHT.len()).unwrap_or(bytes);
    if !magic.is_empty() && magic.iter().all(|&b| b == 0) {
        return Err(FlightError::BeingMade);
    }
    if !magic::FLIGHT.starts_with(magic) {
        let found = magic.to_vec();
        return Err(FlightError::Foreign { found });
    }
    let Some(head) = bytes.get(..HEADER_SIZE) else {
        return Err(FlightError::Truncated {
            section: "header",
            need: HEADER_SIZE as u64,
            have: bytes.len() as u64,
        });
    };
    let u32_of = |offset| u32_at(head, offset).unwrap_or(0);
    let u64_of = |offset| u64_at(head, offset).unwrap_or(0);
    if u32_of(68) == 0 {
        return Err(FlightError::BeingMade);
    }
    let version = u32_of(8);
    if version == 0 {
        return Err(FlightError::Version { found: version });
    }
    // Agent 0.1 has zeros there.
    let pool_offset = u64_of(448);
    let when_sampled = |value| if pool_offset == 0 { 0 } else { value };
    let layout = Layout {
        field_table_offset: u64::from(u32_of(36)),
        field_count: u32_of(32),
        totals_offset: u64_of(56),
        totals_size: u32_of(64),
        endpoint_offset: u64_of(40),
        endpoint_size: u32_of(48),
        endpoint_capacity: u32_of(52),
        ring_offset: u64_of(24),
        ring_capacity: u32_of(20),
        record_size: u32_of(16),
        pool_offset,
        pool_sample_size: when_sampled(u32_of(456)),
        pool_capacity: when_sampled(u32_of(460)),
    };
    let least_sample = when_sampled(PoolSample::SIZE);
    let sizes = [
        (
            "record_size",
            layout.record_size,
            RECORD_SIZE as u32..=MAX_ENTRY_SIZE,
            "a record has 128 to 65,536 bytes",
        ),
        (
            "ring_capacity",
            layout.ring_capacity,
            1..=MAX_RING_CAPACITY,
            "a ring holds 1 to 16,777,216 records",
        ),
        (
            "field_count",
            layout.field_count,
            0..=MAX_FIELDS,
            "a field table has at most 1,024 entries",
        ),
        (
            "totals_size",
            layout.totals_size,
            Totals::SIZE as u32..=MAX_ENTRY_SIZE,
            "the totals have 104 to 65,536 bytes",
        ),
        (
            "endpoint_size",
            layout.endpoint_size,
            Endpoint::SIZE as u32..=MAX_ENTRY_SIZE,
            "an endpoint entry has 1,280 to 65,536 bytes",
        ),
        (
            "endpoint_capacity",
            layout.endpoint_capacity,
            0..=MAX_ENDPOINTS,
            "an endpoint table has at most 65,536 entries",
        ),
        (
            "pool_sample_size",
            layout.pool_sample_size,
            least_sample..=MAX_ENTRY_SIZE,
            "a pool sample has 32 to 65,536 bytes",
        ),
        (
            "pool_capacity",
            layout.pool_capacity,
            least_sample.min(1)..=MAX_POOL_SAMPLES,
            "1 to 1,048,576 pool samples are kept",
        ),
    ];
    for (field, value, possible, limit) in sizes {
        if !possible.contains(&value) {
            let value = u64::from(value);
            return Err(FlightError::Layout {
                field,
                value,
                limit,
            });
        }
    }
    Ok(layout)
}

fn parse_fields(bytes: &[u8], layout: &Layout) -> Result<Vec<Field>, FlightError> {
    let size = u64::from(layout.field_count) * Field::ENTRY_SIZE;
    let Some(table) = section(bytes, layout.field_table_offset, size) else {
        return Err(FlightError::Truncated {
            section: "field table",
            need: layout.field_table_offset.saturating_add(size),
            have: bytes.len() as u64,
        });
    };
    table
        .chunks_exact(Field::ENTRY_SIZE as usize)
        .map(|entry| Field::parse(entry, layout.record_size))
        .collect()
}
