//! Instants still to come, in the order of (time, sequence).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bits of an entry that say who set it: 16 million at most.
pub(super) const WHO_BITS: u32 = 24;

/// Distinguishes an entry from all others; 0 is never one.
pub(super) type Ticket = u64;

#[derive(Debug, Default)]
pub(super) struct Calendar {
    /// Time above, ticket below: one comparison orders both.
    entries: BinaryHeap<Reverse<u128>>,
    set: u64,
}

impl Calendar {
    pub(super) fn set(&mut self, at_ns: u64, who: u32) -> Ticket {
        self.set += 1;
        let ticket = self.set << WHO_BITS | u64::from(who);
        self.entries
            .push(Reverse(u128::from(at_ns) << 64 | u128::from(ticket)));
        ticket
    }

    /// When the first is due; `u64::MAX` where there is none.
    pub(super) fn next_ns(&self) -> u64 {
        self.entries
            .peek()
            .map_or(u64::MAX, |Reverse(entry)| (entry >> 64) as u64)
    }

    /// The first: whose it is, and its ticket.
    pub(super) fn take(&mut self) -> Option<(u32, Ticket)> {
        let Reverse(entry) = self.entries.pop()?;
        let ticket = entry as u64;
        Some(((ticket & ((1 << WHO_BITS) - 1)) as u32, ticket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_the_order_of_time_and_then_of_setting() {
        let mut calendar = Calendar::default();
        for (at, who) in [(5, 9), (3, 2), (5, 1), (u64::MAX - 1, 4), (3, 7)] {
            calendar.set(at, who);
        }
        assert_eq!(calendar.next_ns(), 3);
        let order: Vec<u32> = std::iter::from_fn(|| calendar.take().map(|(who, _)| who)).collect();
        assert_eq!(order, [2, 7, 9, 1, 4]);
        assert_eq!(calendar.next_ns(), u64::MAX);
    }
}
