//! The log of collections: what set each off, how long it stopped its process, what it freed.

use crate::bytes::{u32_at, u64_at};
use crate::ring::runs;

const LEAST_SIZE: u32 = 160;
const WRITING_AGAIN: usize = 152;
const MOST_SIZE: u32 = 1 << 16;
const MOST_KEPT: u32 = 1 << 20;

/// The collections of a process that its file still has, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectionLog {
    pub collections: Vec<Collection>,
    /// Collections ever written, also those that have since been overwritten.
    pub written: u64,
    /// How many are kept.
    pub capacity: u32,
}

impl CollectionLog {
    /// Collections that newer ones have overwritten.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.written.saturating_sub(u64::from(self.capacity))
    }
}

/// One collection, as `GC.count` counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collection {
    /// Its number in the file, from 0.
    pub index: u64,
    /// `CLOCK_MONOTONIC` at which its first pause began.
    pub start_mono_ns: u64,
    /// At which its last pause ended, as far as there were any. Between pauses Ruby's threads run.
    pub end_mono_ns: u64,
    /// The length of its pauses.
    pub pause_ns: u64,
    /// Of those that swept and did nothing else.
    pub sweeping_ns: u64,
    /// Of the longest.
    pub longest_ns: u64,
    /// Thread CPU spent in them.
    pub cpu_ns: u64,
    /// `GC.count`.
    pub number: u32,
    pub pauses: u32,
    /// Kernel thread id of the thread that ran the first pause; 0: one that has served nothing.
    pub thread_id: u32,
    /// `None` where the collector does not say.
    pub kind: Option<CollectionKind>,
    pub major_by: Option<MajorBy>,
    pub cause: Option<Cause>,
    /// It is over.
    pub over: bool,
    /// The thread of its first pause was serving a request or a job.
    pub in_request: bool,
    /// It was to sweep at once, not lazily.
    pub swept_at_once: bool,
    /// `None`: it began before the file did, or Ruby does not count it. So below.
    pub live_before: Option<u64>,
    /// After the last pause, objects included that were made since it began.
    pub live_after: Option<u64>,
    pub old_before: Option<u64>,
    pub old_after: Option<u64>,
    pub freed: Option<u64>,
    pub pages_before: Option<u32>,
    pub pages_after: Option<u32>,
    /// Bytes that `malloc` gave since the previous collection.
    pub malloc_increase: Option<u64>,
    /// Since the previous major one.
    pub oldmalloc_increase: Option<u64>,
}

/// Which objects it looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CollectionKind {
    Minor,
    Major,
}

/// Why a collection was a major one: `GC.latest_gc_info(:major_by)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MajorBy {
    NoFree,
    OldGen,
    Shady,
    OldMalloc,
    Force,
}

/// What set a collection off: `GC.latest_gc_info(:gc_by)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    NewObject,
    Malloc,
    Method,
    CApi,
    Stress,
}

impl Collection {
    /// What a minor collection made old; `None` of a major one, which counts anew.
    #[must_use]
    pub fn promoted(&self) -> Option<u64> {
        let before = self.old_before?;
        let minor = self.kind == Some(CollectionKind::Minor);
        minor.then_some(self.old_after?.saturating_sub(before))
    }

    /// `None` when the slot holds another collection than the one asked for, or was being written.
    fn from_le_bytes(slot: &[u8], index: u64) -> Option<Self> {
        let writing = u64_at(slot, 0)?;
        if writing == 0
            || u64_at(slot, WRITING_AGAIN)? != writing
            || u64_at(slot, 8)? != index.wrapping_add(1)
        {
            return None;
        }
        let byte = |at: usize| slot.get(at).copied();
        let known = |at| u64_at(slot, at).filter(|count| *count != u64::MAX);
        let pages = |at| u32_at(slot, at).filter(|count| *count != u32::MAX);
        let flags = byte(79)?;
        Some(Self {
            index,
            start_mono_ns: u64_at(slot, 16)?,
            end_mono_ns: u64_at(slot, 24)?,
            pause_ns: u64_at(slot, 32)?,
            sweeping_ns: u64_at(slot, 40)?,
            longest_ns: u64_at(slot, 48)?,
            cpu_ns: u64_at(slot, 56)?,
            number: u32_at(slot, 64)?,
            pauses: u32_at(slot, 68)?,
            thread_id: u32_at(slot, 72)?,
            kind: match byte(76)? {
                1 => Some(CollectionKind::Minor),
                2 => Some(CollectionKind::Major),
                _ => None,
            },
            major_by: match byte(77)? {
                1 => Some(MajorBy::NoFree),
                2 => Some(MajorBy::OldGen),
                3 => Some(MajorBy::Shady),
                4 => Some(MajorBy::OldMalloc),
                5 => Some(MajorBy::Force),
                _ => None,
            },
            cause: match byte(78)? {
                1 => Some(Cause::NewObject),
                2 => Some(Cause::Malloc),
                3 => Some(Cause::Method),
                4 => Some(Cause::CApi),
                5 => Some(Cause::Stress),
                _ => None,
            },
            over: flags & 2 != 0,
            in_request: flags & 4 != 0,
            swept_at_once: flags & 8 != 0,
            live_before: known(80),
            live_after: known(88),
            old_before: known(96),
            old_after: known(104),
            freed: known(112),
            pages_before: pages(120),
            pages_after: pages(124),
            malloc_increase: known(128),
            oldmalloc_increase: known(136),
        })
    }
}

/// Where the log lies, as the file's *about* says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CollectionPlace {
    pub offset: u64,
    size: u32,
    capacity: u32,
    written: u64,
}

impl CollectionPlace {
    /// `None` where there is none, as in files of older agents, and where it is none that any version would write.
    pub fn of_about(about: &[u8]) -> Option<Self> {
        let place = Self {
            offset: u64_at(about, 120)?,
            size: u32_at(about, 128)?,
            capacity: u32_at(about, 132)?,
            written: u64_at(about, 136)?,
        };
        let possible = place.offset > 0
            && (LEAST_SIZE..=MOST_SIZE).contains(&place.size)
            && (1..=MOST_KEPT).contains(&place.capacity);
        possible.then_some(place)
    }

    pub fn bytes(&self) -> u64 {
        u64::from(self.size) * u64::from(self.capacity)
    }

    /// What is in these bytes, which begin with the log's.
    pub fn read(&self, bytes: &[u8]) -> CollectionLog {
        let (size, capacity) = (self.size as usize, u64::from(self.capacity));
        let present = ((bytes.len() / size) as u64).min(capacity);
        let first = self.written.saturating_sub(capacity);
        let mut collections = Vec::new();
        for run in runs(first..self.written, capacity, present) {
            for (index, slot) in run.entries.zip(run.slot..) {
                let at = slot as usize * size;
                collections.extend(Collection::from_le_bytes(&bytes[at..at + size], index));
            }
        }
        CollectionLog {
            collections,
            written: self.written,
            capacity: self.capacity,
        }
    }
}
