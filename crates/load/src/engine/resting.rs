//! Closed loop: slots that wait for their next request, the first to wake first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Default)]
pub(super) struct Resting {
    /// Until when, in which order they came, and the slot. A heap, since with
    /// random think times tens of thousands rest in no order.
    queue: BinaryHeap<Reverse<(u64, u64, usize)>>,
    came: u64,
}

impl Resting {
    /// Every slot, from its own offset on.
    pub(super) fn of(started_ns: u64, first_ns: &[u64]) -> Self {
        let mut resting = Self::default();
        for (slot, offset_ns) in first_ns.iter().enumerate() {
            resting.add(started_ns.saturating_add(*offset_ns), slot);
        }
        resting
    }

    /// Those that rest until the same instant wake in the order in which they came.
    pub(super) fn add(&mut self, until_ns: u64, slot: usize) {
        self.queue.push(Reverse((until_ns, self.came, slot)));
        self.came += 1;
    }

    /// When the first wakes.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.queue.peek().map(|Reverse((until, ..))| *until)
    }

    /// The first, if it wakes by now: since when it could go on, and the slot.
    pub(super) fn take(&mut self, now: u64) -> Option<(u64, usize)> {
        if self.next_ns()? > now {
            return None;
        }
        let Reverse((until, _, slot)) = self.queue.pop()?;
        Some((until, slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the naive way: a list that is kept in order.
        #[test]
        fn slots_wake_in_order_and_equals_as_they_came(
            steps in prop::collection::vec((0u64..20, any::<bool>()), 1..200)
        ) {
            let mut resting = Resting::of(5, &[9, 0, 3]);
            let mut naive = vec![(5, 1), (8, 2), (14, 0)];
            for (slot, (at, take)) in steps.into_iter().enumerate() {
                if take {
                    let first = naive.first().copied().filter(|(until, _)| *until <= at);
                    prop_assert_eq!(resting.take(at), first);
                    if first.is_some() {
                        naive.remove(0);
                    }
                } else {
                    resting.add(at, slot);
                    let place = naive.partition_point(|(until, _)| *until <= at);
                    naive.insert(place, (at, slot));
                }
                prop_assert_eq!(resting.next_ns(), naive.first().map(|(until, _)| *until));
            }
        }
    }
}
