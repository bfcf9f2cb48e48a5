//! Locks that requests waited for: where, how long, and how long they were held.

use crate::bytes::{text_at, u32_at, u64_at};

const LEAST_SIZE: u32 = 192;
const MOST_SIZE: u32 = 1 << 16;
/// Events have a bit for each.
const MOST_ROWS: u32 = 64;
const SITE: (usize, usize) = (72, 120);

/// What requests waited in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockKind {
    Mutex,
    Queue,
    SizedQueue,
    /// For a signal, or asleep in a mutex.
    ConditionVariable,
    Monitor,
    /// A kind that this version does not know, or what the table had no row for.
    Other,
}

/// A mutex or monitor, or several that were first awaited at the same line; else a line at which requests waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// Its place in the table. 0 is what there was no row for.
    pub row: u8,
    pub kind: LockKind,
    /// `lib/cache.rb:41`; empty where no line was found, and of row 0.
    pub site: String,
    /// `CLOCK_MONOTONIC` at the first wait.
    pub first_mono_ns: u64,
    pub waits: u64,
    pub wait_ns: u64,
    pub longest_wait_ns: u64,
    /// How often it was held by a thread that gave the GVL up meanwhile, and for how long, since the first wait.
    pub holds: u64,
    pub held_ns: u64,
    pub longest_held_ns: u64,
    /// Mutexes or monitors that came to this row; the same one may come again. 0: it is none.
    pub objects: u32,
}

impl Lock {
    /// `None` where the row is not in use.
    fn from_le_bytes(row: u8, entry: &[u8]) -> Option<Self> {
        let waits = u64_at(entry, 16)?;
        let in_use = match row {
            0 => waits > 0,
            _ => u64_at(entry, 0)? == 1,
        };
        Some(Self {
            row,
            kind: match entry.get(68)? {
                1 => LockKind::Mutex,
                2 => LockKind::Queue,
                3 => LockKind::SizedQueue,
                4 => LockKind::ConditionVariable,
                5 => LockKind::Monitor,
                _ => LockKind::Other,
            },
            site: text_at(entry, SITE.0, SITE.1),
            first_mono_ns: u64_at(entry, 8)?,
            waits,
            wait_ns: u64_at(entry, 24)?,
            longest_wait_ns: u64_at(entry, 32)?,
            holds: u64_at(entry, 40)?,
            held_ns: u64_at(entry, 48)?,
            longest_held_ns: u64_at(entry, 56)?,
            objects: u32_at(entry, 64)?,
        })
        .filter(|_| in_use)
    }

    /// What was added since `before` was read from the same row; never below zero. The longest ones stay.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            waits: self.waits.saturating_sub(before.waits),
            wait_ns: self.wait_ns.saturating_sub(before.wait_ns),
            holds: self.holds.saturating_sub(before.holds),
            held_ns: self.held_ns.saturating_sub(before.held_ns),
            ..self.clone()
        }
    }
}

/// Where the table lies, as the file's *about* says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockPlace {
    pub offset: u64,
    size: u32,
    rows: u32,
}

impl LockPlace {
    /// `None` where there is none, as in files of older agents, and where it is none that any version would write.
    pub fn of_about(about: &[u8]) -> Option<Self> {
        let place = Self {
            offset: u64_at(about, 152)?,
            size: u32_at(about, 160)?,
            rows: u32_at(about, 164)?,
        };
        let possible = place.offset > 0
            && (LEAST_SIZE..=MOST_SIZE).contains(&place.size)
            && (1..=MOST_ROWS).contains(&place.rows);
        possible.then_some(place)
    }

    pub fn bytes(&self) -> u64 {
        u64::from(self.size) * u64::from(self.rows)
    }

    /// What is in these bytes, which begin with the table's.
    pub fn read(&self, bytes: &[u8]) -> Vec<Lock> {
        let entries = bytes.chunks_exact(self.size as usize);
        (0..self.rows as u8)
            .zip(entries)
            .filter_map(|(row, entry)| Lock::from_le_bytes(row, entry))
            .collect()
    }
}
