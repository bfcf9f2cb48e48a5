//! Which slot's request runs out of time next. One entry a slot, looked at
//! again when it is due: a request that is answered in time costs nothing
//! here, and one that is not costs no look at all other slots.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::NEVER;

#[derive(Debug, Default)]
pub(super) struct Deadlines {
    /// Instants and slots, the earliest first. An entry counts only while it
    /// is its slot's in `watched`.
    queue: BinaryHeap<Reverse<(u64, usize)>>,
    /// The instant at which each slot will be looked at; [`NEVER`]: not.
    watched: Vec<u64>,
}

impl Deadlines {
    /// The slot's request is to be over by then.
    pub(super) fn watch(&mut self, slot: usize, deadline_ns: u64) {
        if self.watched.len() <= slot {
            self.watched.resize(slot + 1, NEVER);
        }
        // An earlier look will find the later deadline.
        if deadline_ns < self.watched[slot] {
            self.watched[slot] = deadline_ns;
            self.queue.push(Reverse((deadline_ns, slot)));
        }
    }

    /// No request runs out of time earlier.
    pub(super) fn next_ns(&self) -> u64 {
        self.queue.peek().map_or(NEVER, |Reverse((at, _))| *at)
    }

    /// A slot to be looked at by now, which is no longer watched.
    pub(super) fn take(&mut self, now: u64) -> Option<usize> {
        while self.next_ns() <= now {
            let Reverse((at, slot)) = self.queue.pop()?;
            if self.watched[slot] == at {
                self.watched[slot] = NEVER;
                return Some(slot);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the naive way: look at all slots.
        #[test]
        fn every_request_that_runs_out_of_time_is_found_and_no_other(
            steps in prop::collection::vec((0usize..6, 1u64..50, any::<bool>()), 1..200)
        ) {
            let mut deadlines = Deadlines::default();
            let mut requests = [NEVER; 6];
            let mut now = 0;
            for (slot, ahead, answered) in steps {
                now += ahead / 4;
                if answered {
                    requests[slot] = NEVER;
                } else if requests[slot] == NEVER {
                    requests[slot] = now + ahead;
                    deadlines.watch(slot, now + ahead);
                }
                let naive: Vec<usize> = (0..6).filter(|s| requests[*s] <= now).collect();
                let mut found = Vec::new();
                while let Some(slot) = deadlines.take(now) {
                    if requests[slot] <= now {
                        found.push(slot);
                        requests[slot] = NEVER;
                    } else if requests[slot] != NEVER {
                        deadlines.watch(slot, requests[slot]);
                    }
                }
                found.sort_unstable();
                prop_assert_eq!(found, naive);
                prop_assert!(deadlines.queue.len() <= 2 * 6);
                let earliest = requests.iter().min().unwrap();
                prop_assert!(deadlines.next_ns() <= *earliest);
            }
        }
    }
}
