//! Where the entries of a ring lie: entry `k` is in slot `k % capacity`.

use std::ops::Range;

/// Entries in neighbouring slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub entries: Range<u64>,
    /// That of the first entry.
    pub slot: u64,
}

/// The runs of `entries`, at most `capacity` of them: two where the ring turns. Slots from `present` on are left out,
/// without a step for each, so that a damaged header costs no time.
pub(crate) fn runs(entries: Range<u64>, capacity: u64, present: u64) -> [Run; 2] {
    let capacity = capacity.max(1);
    let turn = entries.start - entries.start % capacity;
    [turn, turn.saturating_add(capacity)].map(|start| {
        let from = entries.start.max(start);
        let to = entries.end.min(start.saturating_add(present)).max(from);
        Run {
            entries: from..to,
            slot: from - start,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Entry and slot.
    fn visited(entries: Range<u64>, capacity: u64, present: u64) -> Vec<(u64, u64)> {
        let runs = runs(entries, capacity, present);
        runs.into_iter()
            .flat_map(|run| run.entries.zip(run.slot..))
            .collect()
    }

    #[test]
    fn a_damaged_header_asks_for_no_more_than_is_present() {
        let all = u64::from(u32::MAX) - 1;
        assert_eq!(visited(0..all, all, 3), [(0, 0), (1, 1), (2, 2)]);
        let last = u64::MAX - u64::MAX % all;
        assert_eq!(visited(u64::MAX - all..u64::MAX, all, 1), [(last, 0)]);
        assert_eq!(visited(0..0, 0, 5), []);
    }

    proptest! {
        #[test]
        fn they_are_the_entries_whose_slots_are_present(
            start in prop_oneof![0_u64..60, u64::MAX - 60..u64::MAX - 20],
            length in 0_u64..20,
            capacity in 1_u64..20,
            present in 0_u64..20,
        ) {
            let (length, present) = (length.min(capacity), present.min(capacity));
            let naive: Vec<_> = (start..start + length)
                .map(|entry| (entry, entry % capacity))
                .filter(|(_, slot)| *slot < present)
                .collect();
            prop_assert_eq!(visited(start..start + length, capacity, present), naive);
        }
    }
}
