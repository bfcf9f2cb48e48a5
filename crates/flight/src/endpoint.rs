//! One entry of the endpoint table.

use crate::bytes::{text_at, u64_at};
use crate::histogram::{BUCKETS, Histogram};
use crate::totals::Totals;

/// Counters and histograms of one endpoint of one process, since its file was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Its entry in the table, to which [`crate::Record::endpoint`] points. Entry 0 is "(other)".
    pub index: u16,
    /// `products#index` in Rails, else method and normalised path.
    pub name: String,
    pub totals: Totals,
    pub wall: Histogram,
    pub gvl_wait: Histogram,
    /// Of the requests whose queue time is known; empty in files of agents before 0.1, which kept the sum alone.
    pub queue: Histogram,
}

/// The counters of one endpoint of one process, since its file was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointTally {
    /// As that of [`Endpoint`].
    pub index: u16,
    pub name: String,
    pub totals: Totals,
}

impl EndpointTally {
    /// As for [`Endpoint`].
    pub(crate) fn from_le_bytes(index: u16, entry: &[u8]) -> Option<Self> {
        if u64_at(entry, READY_OFFSET)? == 0 {
            return None;
        }
        let further = entry.get(FURTHER_OFFSET..Endpoint::WIDE_SIZE);
        let further = further.map(|wide| &wide[..QUEUE_OFFSET - FURTHER_OFFSET]);
        Some(Self {
            index,
            name: text_at(entry, NAME_OFFSET, NAME_SIZE),
            totals: Totals::from_le_bytes(entry, further.unwrap_or_default()),
        })
    }
}

const NAME_OFFSET: usize = 128;
const NAME_SIZE: usize = 120;
const READY_OFFSET: usize = 248;
const WALL_OFFSET: usize = 256;
const GVL_WAIT_OFFSET: usize = WALL_OFFSET + 4 * BUCKETS;
const FURTHER_OFFSET: usize = Endpoint::SIZE;
const QUEUE_OFFSET: usize = 1_536;

impl Endpoint {
    /// Bytes that every entry has; those of agents before 0.1 end here.
    pub(crate) const SIZE: usize = GVL_WAIT_OFFSET + 4 * BUCKETS;
    /// Bytes of an entry with the further counters.
    pub(crate) const WIDE_SIZE: usize = QUEUE_OFFSET + 4 * BUCKETS;

    /// What was added since `before` was read from the same entry; never below zero.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            index: self.index,
            name: self.name.clone(),
            totals: self.totals.since(&before.totals),
            wall: self.wall.since(&before.wall),
            gvl_wait: self.gvl_wait.since(&before.gvl_wait),
            queue: self.queue.since(&before.queue),
        }
    }

    /// `None` while the entry's name is not whole, which includes every unused entry.
    pub(crate) fn from_le_bytes(index: u16, entry: &[u8]) -> Option<Self> {
        let EndpointTally { name, totals, .. } = EndpointTally::from_le_bytes(index, entry)?;
        let queue = entry.get(QUEUE_OFFSET..Self::WIDE_SIZE).unwrap_or_default();
        Some(Self {
            index,
            name,
            totals,
            wall: Histogram::from_le_bytes(entry.get(WALL_OFFSET..GVL_WAIT_OFFSET)?),
            gvl_wait: Histogram::from_le_bytes(entry.get(GVL_WAIT_OFFSET..Self::SIZE)?),
            queue: Histogram::from_le_bytes(queue),
        })
    }
}
