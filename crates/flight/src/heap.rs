//! Ruby's heap, as the agent wrote it down when a request began: the latest state alone.

use crate::bytes::{section, u32_at, u64_at};

/// The part before the pools.
const HEAD: usize = 64;
const POOL: usize = 24;
/// No Ruby has more.
const MOST_POOLS: usize = 32;
const UNKNOWN: u64 = u64::MAX;

/// The heap at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heap {
    /// `CLOCK_MONOTONIC`.
    pub mono_ns: u64,
    pub pages: u64,
    pub page_bytes: u32,
    pub live_slots: u64,
    pub free_slots: u64,
    pub old_objects: u64,
    pub pools: Vec<SizePool>,
}

/// Slots of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizePool {
    pub slot_bytes: u32,
    pub slots: u64,
    /// `None` before Ruby 3.3, which does not count them.
    pub live_slots: Option<u64>,
}

impl Heap {
    /// The section at this place of the file; `None` where there is none, where nothing was written yet, and while it is written.
    pub(crate) fn at(bytes: &[u8], offset: u32, size: u32) -> Option<Self> {
        let bytes = section(bytes, offset.into(), size.into())?;
        // The writer clears both numbers before it touches the rest, and sets them after it.
        let number = u64_at(bytes, 0)?;
        if number == 0 || u64_at(bytes, bytes.len().checked_sub(8)?)? != number {
            return None;
        }
        let pools = u32_at(bytes, 20)? as usize;
        if pools > MOST_POOLS || HEAD + pools * POOL + 8 > bytes.len() {
            return None;
        }
        let pool = |index: usize| {
            let at = HEAD + index * POOL;
            Some(SizePool {
                slot_bytes: u32_at(bytes, at)?,
                slots: u64_at(bytes, at + 8)?,
                live_slots: Some(u64_at(bytes, at + 16)?).filter(|live| *live != UNKNOWN),
            })
        };
        Some(Self {
            mono_ns: u64_at(bytes, 8)?,
            page_bytes: u32_at(bytes, 16)?,
            pages: u64_at(bytes, 24)?,
            live_slots: u64_at(bytes, 32)?,
            free_slots: u64_at(bytes, 40)?,
            old_objects: u64_at(bytes, 48)?,
            pools: (0..pools).map(pool).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(number: u64, pools: u32) -> Vec<u8> {
        let mut bytes = vec![0; 264];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes[256..].copy_from_slice(&number.to_le_bytes());
        bytes[20..24].copy_from_slice(&pools.to_le_bytes());
        bytes[24..32].copy_from_slice(&9_u64.to_le_bytes());
        bytes
    }

    #[test]
    fn half_written_and_damaged_sections_are_none() {
        let whole = written(3, 5);
        assert_eq!(Heap::at(&whole, 0, 264).unwrap().pages, 9);
        assert_eq!(Heap::at(&whole, 0, 264).unwrap().pools.len(), 5);
        assert_eq!(Heap::at(&written(0, 5), 0, 264), None);
        let mut torn = written(3, 5);
        torn[256] = 2;
        assert_eq!(Heap::at(&torn, 0, 264), None);
        for damaged in [written(3, 9), written(3, u32::MAX)] {
            assert_eq!(Heap::at(&damaged, 0, 264), None);
        }
        for (offset, size) in [(0, 0), (0, 7), (8, 264), (u32::MAX, 264)] {
            assert_eq!(Heap::at(&whole, offset, size), None);
        }
    }
}
