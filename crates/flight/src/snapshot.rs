//! A whole flight file at one instant, from its bytes.

use crate::bytes::section;
use crate::collection::CollectionLog;
use crate::endpoint::Endpoint;
use crate::error::FlightError;
use crate::header::Header;
use crate::lock::Lock;
use crate::pool::PoolSample;
use crate::record::{Decoder, Record, Slot};
use crate::ring::runs;
use crate::totals::Totals;

/// What a flight file said when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub header: Header,
    /// Over all endpoints, since the file was made.
    pub totals: Totals,
    /// Those in use, in the order of the table.
    pub endpoints: Vec<Endpoint>,
    /// The latest requests, oldest first, as many as the ring holds.
    pub records: Vec<Record>,
    /// The latest samples of connection pools, oldest first, as many as are kept.
    pub pool_samples: Vec<PoolSample>,
    /// The latest collections of Ruby's collector; `None` in files of older agents, and where only the counters were read.
    pub log: Option<CollectionLog>,
    /// Locks that requests waited for, by row; `None` in files of older agents.
    pub locks: Option<Vec<Lock>>,
    /// What should have been there and was not.
    pub skipped: Skipped,
}

/// Parts of a file that did not make it into its [`Snapshot`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Records that were being overwritten as they were read.
    pub torn: u64,
    /// Records that the header counts and that were not finished.
    pub unwritten: u64,
    /// Records beyond the end of the file.
    pub missing: u64,
    /// Endpoint entries beyond the end of the file; whether they were in use is not known.
    pub endpoints_missing: u64,
    /// Pool samples that were being written, or lie beyond the end of the file.
    pub pool_samples: u64,
}

impl Skipped {
    /// Everything that the file should hold was there.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Snapshot {
    /// The endpoint of a record; `None` when its entry was not whole or not in the file.
    #[must_use]
    pub fn endpoint_of(&self, record: &Record) -> Option<&Endpoint> {
        let found = self
            .endpoints
            .binary_search_by_key(&record.endpoint, |e| e.index);
        found.ok().and_then(|at| self.endpoints.get(at))
    }

    /// Requests that arrived from `from_mono_ns` on and before `to_mono_ns` (`CLOCK_MONOTONIC`), as
    /// far as the ring still has them: compare [`Snapshot::reaches_back_to`].
    pub fn records_in(
        &self,
        from_mono_ns: u64,
        to_mono_ns: u64,
    ) -> impl Iterator<Item = &Record> + '_ {
        self.records
            .iter()
            .filter(move |r| (from_mono_ns..to_mono_ns).contains(&r.start_mono_ns))
    }

    /// The instant (`CLOCK_MONOTONIC`) since when every request that ended is in `records`: the end of
    /// the oldest one there once older ones were lost, else the making of the file.
    #[must_use]
    pub fn reaches_back_to(&self) -> u64 {
        match self.records.first() {
            Some(oldest) if oldest.index > 0 => oldest.end_mono_ns(),
            _ => self.header.created_mono_ns,
        }
    }
}

/// Reads a flight file from its bytes. Pure; any bytes whatever are safe.
///
/// Bytes copied from a file that is being written may hold a record half old and half new whose
/// sequence number was copied before the writer cleared it. [`crate::FlightFile::snapshot`] rules that
/// out by looking again; here it cannot be seen.
///
/// # Errors
/// When the bytes are no flight file, one that is still being made, or too damaged or too short for
/// the header and the totals. Records and endpoints that are missing are counted instead.
pub fn parse(bytes: &[u8]) -> Result<Snapshot, FlightError> {
    let mut snapshot = parse_counters(bytes)?;
    let decoder = Decoder::new(&snapshot.header.fields);
    parse_records(bytes, &decoder, &mut snapshot);
    let place = snapshot.header.collections;
    snapshot.log = place.map(|place| place.read(tail(bytes, place.offset)));
    Ok(snapshot)
}

/// Like [`parse`], but leaves the ring alone: `records` is empty and none count as skipped.
///
/// # Errors
/// As for [`parse`].
pub fn parse_counters(bytes: &[u8]) -> Result<Snapshot, FlightError> {
    let header = Header::parse(bytes)?;
    let layout = header.layout;
    let totals = |offset: u64, size| {
        section(bytes, offset, size).ok_or(FlightError::Truncated {
            section: "totals",
            need: offset.saturating_add(size),
            have: bytes.len() as u64,
        })
    };
    let first = totals(layout.totals_offset, Totals::SIZE as u64)?;
    let further = match layout.totals_further() {
        Some((offset, size)) => totals(offset, size)?,
        None => &[],
    };
    let mut snapshot = Snapshot {
        totals: Totals::from_le_bytes(first, further),
        header,
        endpoints: Vec::new(),
        records: Vec::new(),
        pool_samples: Vec::new(),
        log: None,
        locks: None,
        skipped: Skipped::default(),
    };
    let place = snapshot.header.locks;
    snapshot.locks = place.map(|place| place.read(tail(bytes, place.offset)));
    parse_endpoints(bytes, &mut snapshot);
    parse_pool_samples(bytes, &mut snapshot);
    Ok(snapshot)
}

fn parse_endpoints(bytes: &[u8], snapshot: &mut Snapshot) {
    let layout = snapshot.header.layout;
    let capacity = u64::from(layout.endpoint_capacity);
    let table = tail(bytes, layout.endpoint_offset);
    let entries = table.chunks_exact(layout.endpoint_size as usize);
    let present = (entries.len() as u64).min(capacity);
    snapshot.skipped.endpoints_missing = capacity - present;
    // Records point to entries with 16 bits, so that no later entry can be in use.
    snapshot.endpoints = (0..=u16::MAX)
        .zip(entries.take(present as usize))
        .filter_map(|(index, entry)| Endpoint::from_le_bytes(index, entry))
        .collect();
}

fn parse_pool_samples(bytes: &[u8], snapshot: &mut Snapshot) {
    let layout = snapshot.header.layout;
    let (written, capacity) = (
        snapshot.header.pool_written,
        u64::from(layout.pool_capacity),
    );
    if capacity == 0 {
        return;
    }
    let size = layout.pool_sample_size as usize;
    let samples = tail(bytes, layout.pool_offset);
    let present = ((samples.len() / size) as u64).min(capacity);
    let first = written.saturating_sub(capacity);
    for run in runs(first..written, capacity, present) {
        for (index, slot) in run.entries.zip(run.slot..) {
            let at = slot as usize * size;
            snapshot
                .pool_samples
                .extend(PoolSample::from_le_bytes(&samples[at..at + size], index));
        }
    }
    snapshot.skipped.pool_samples = (written - first) - snapshot.pool_samples.len() as u64;
}

fn parse_records(bytes: &[u8], decoder: &Decoder, snapshot: &mut Snapshot) {
    let layout = snapshot.header.layout;
    let (written, capacity) = (snapshot.header.written, u64::from(layout.ring_capacity));
    let size = layout.record_size as usize;
    let ring = tail(bytes, layout.ring_offset);
    let present = ((ring.len() / size) as u64).min(capacity);
    let first = written.saturating_sub(capacity);
    let skipped = &mut snapshot.skipped;

    let mut expected = 0;
    for run in runs(first..written, capacity, present) {
        for (index, slot) in run.entries.zip(run.slot..) {
            let at = slot as usize * size;
            expected += 1;
            match decoder.decode(&ring[at..at + size], index) {
                Slot::Whole(record) => snapshot.records.push(record),
                Slot::Torn => skipped.torn += 1,
                Slot::Unwritten => skipped.unwritten += 1,
            }
        }
    }
    skipped.missing = (written - first) - expected;
}

/// What follows `offset`; nothing when that lies beyond the end.
fn tail(bytes: &[u8], offset: u64) -> &[u8] {
    usize::try_from(offset)
        .ok()
        .and_then(|offset| bytes.get(offset..))
        .unwrap_or_default()
}
