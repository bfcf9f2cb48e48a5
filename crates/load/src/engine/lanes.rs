//! Recorded connections in the loop: the requests of one go one after another,
//! in their order, on one connection of their own. It is opened for the first
//! of them and closed after the last, as the client did.
//!
//! A request that is due while the one before it is under way waits, and its
//! response time goes on counting, as it did for the client. Where more
//! connections were recorded than may be open, the one that has been idle
//! longest makes way and is opened anew when it is wanted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::Engine;
use super::turn::Turn;
use crate::arrivals::Arrivals;
use crate::clock::monotonic_ns;
use crate::connection::{Connection, Phase};
use crate::plan::{Mode, Plan};

#[derive(Debug)]
pub(super) struct Lanes {
    /// Of each arrival, which lane's it is; as in the workload's order.
    of_arrival: Arc<[u32]>,
    arrived: usize,
    lanes: Vec<Lane>,
    /// Of each slot, whose connection it holds, and since when it is idle.
    slots: Vec<Held>,
    /// Idle slots, the one that has been idle longest first.
    idle: BTreeMap<u64, usize>,
    idled: u64,
}

/// One recorded connection.
#[derive(Debug, Clone, Default)]
struct Lane {
    slot: Option<usize>,
    /// A request is under way, or ready to begin.
    busy: bool,
    /// Requests that are still to be over.
    left: u32,
    /// When further requests were due, and which.
    waiting: VecDeque<(u64, usize)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Held {
    lane: Option<u32>,
    idle: Option<u64>,
}

/// Only what comes as it was recorded comes on the recorded connections.
pub(super) fn lanes(plan: &Plan) -> Option<Lanes> {
    let Mode::Open {
        arrivals: Arrivals::Recorded { .. },
        ..
    } = plan.mode
    else {
        return None;
    };
    let mut lanes = Lanes::new(plan.workload.connections()?.clone());
    lanes.arrived = plan.workload.begins_at(plan.seed);
    Some(lanes)
}

impl Lanes {
    fn new(of_arrival: Arc<[u32]>) -> Self {
        let most = of_arrival.iter().max().map_or(0, |most| *most as usize + 1);
        let mut lanes = vec![Lane::default(); most];
        for lane in of_arrival.iter() {
            lanes[*lane as usize].left += 1;
        }
        Self {
            of_arrival,
            arrived: 0,
            lanes,
            slots: Vec::new(),
            idle: BTreeMap::new(),
            idled: 0,
        }
    }

    /// The next arrival, which is this request. `None`: it waits for the one before it.
    pub(super) fn arrives(&mut self, request: usize, due_ns: u64) -> Option<u32> {
        let index = self.of_arrival[self.arrived % self.of_arrival.len()];
        self.arrived += 1;
        let lane = &mut self.lanes[index as usize];
        if std::mem::replace(&mut lane.busy, true) {
            lane.waiting.push_back((due_ns, request));
            return None;
        }
        Some(index)
    }

    /// A request of the lane is over. The next one that waits, which the lane then is reserved for.
    fn over(&mut self, index: u32) -> Option<(u64, usize)> {
        let lane = &mut self.lanes[index as usize];
        lane.left = lane.left.saturating_sub(1);
        let next = lane.waiting.pop_front();
        lane.busy = next.is_some();
        next
    }

    /// All that wait, whatever is before them.
    pub(super) fn take_waiting(&mut self) -> Vec<(u64, u32, usize)> {
        let mut all = Vec::new();
        for (index, lane) in (0..).zip(&mut self.lanes) {
            all.extend(
                lane.waiting
                    .drain(..)
                    .map(|(due, request)| (due, index, request)),
            );
        }
        all.sort_unstable();
        all
    }

    /// The lane's own connection, if it has one.
    fn take_own(&mut self, index: u32) -> Option<usize> {
        let slot = self.lanes[index as usize].slot?;
        self.idle.remove(&self.slots[slot].idle.take()?);
        Some(slot)
    }

    /// Another lane's, which has not been wanted for longest.
    fn take_idle(&mut self) -> Option<usize> {
        let (_, slot) = self.idle.pop_first()?;
        self.slots[slot].idle = None;
        self.release(slot);
        Some(slot)
    }

    fn bind(&mut self, index: u32, slot: usize) {
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, Held::default());
        }
        self.slots[slot] = Held {
            lane: Some(index),
            idle: None,
        };
        self.lanes[index as usize].slot = Some(slot);
    }

    /// The slot's connection is of no lane any more.
    pub(super) fn release(&mut self, slot: usize) {
        let Some(held) = self.slots.get_mut(slot).map(std::mem::take) else {
            return;
        };
        if let Some(since) = held.idle {
            self.idle.remove(&since);
        }
        if let Some(index) = held.lane {
            self.lanes[index as usize].slot = None;
        }
    }

    /// The slot's connection waits for the next request of its lane.
    fn rests(&mut self, slot: usize) {
        self.idled += 1;
        self.slots[slot].idle = Some(self.idled);
        self.idle.insert(self.idled, slot);
    }

    fn has_idle(&self) -> bool {
        !self.idle.is_empty()
    }
}

impl Engine<'_> {
    fn lanes(&mut self) -> Option<&mut Lanes> {
        self.cast.as_mut()?.lanes.as_mut()
    }

    /// A slot for this turn: what [`Engine::take_connection`] is for requests without a user.
    pub(super) fn connection_for(&mut self, turn: Turn) -> Option<usize> {
        let (Turn::Lane(index, _), Some(lanes)) = (turn, self.lanes()) else {
            return self.take_connection();
        };
        if let Some(slot) = lanes.take_own(index) {
            return Some(slot);
        }
        let slot = if let Some(slot) = self.free.pop() {
            slot
        } else if self.connections.len() < self.plan.mode.connections() {
            self.connections.push(Connection::new());
            self.connections.len() - 1
        } else {
            let slot = self.lanes()?.take_idle()?;
            self.connections[slot].close();
            slot
        };
        self.lanes()?.bind(index, slot);
        Some(slot)
    }

    /// Whether a lane would be given a slot; `None` where there are no lanes.
    pub(super) fn lane_has_connection(&mut self) -> Option<bool> {
        let idle = self.lanes()?.has_idle();
        let room = self.connections.len() < self.plan.mode.connections();
        Some(idle || room || !self.free.is_empty())
    }

    /// A slot's request is done with. False: it is no lane's.
    pub(super) fn release_of_lane(&mut self, slot: usize) -> bool {
        let Some(lanes) = self.lanes() else {
            return false;
        };
        let Some(index) = lanes.slots.get(slot).and_then(|held| held.lane) else {
            return false;
        };
        self.lane_over(index);
        let idle = self.connections[slot].phase == Phase::Idle;
        if let Some(lanes) = self.lanes() {
            if idle && lanes.lanes[index as usize].left > 0 {
                lanes.rests(slot);
                return true;
            }
            lanes.release(slot);
        }
        if idle {
            self.connections[slot].close();
        }
        self.free.push(slot);
        true
    }

    /// A request of the lane is over: the next that waits may begin.
    pub(super) fn lane_over(&mut self, index: u32) {
        let Some(cast) = &mut self.cast else {
            return;
        };
        if let Some((due, request)) = cast.lanes.as_mut().and_then(|lanes| lanes.over(index)) {
            cast.waits_no_more(due, monotonic_ns(), Turn::Lane(index, request));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_of_a_lane_at_a_time_in_their_order() {
        let mut lanes = Lanes::new([0, 1, 0, 0, 1].into());
        assert_eq!(lanes.arrives(10, 1), Some(0));
        assert_eq!(lanes.arrives(20, 2), Some(1));
        assert_eq!(lanes.arrives(11, 3), None);
        assert_eq!(lanes.arrives(12, 4), None);
        assert_eq!(lanes.over(0), Some((3, 11)));
        assert_eq!(lanes.over(0), Some((4, 12)));
        assert_eq!(lanes.over(1), None);
        assert_eq!(lanes.arrives(21, 5), Some(1));
        assert_eq!(lanes.over(0), None);
        assert_eq!(
            lanes.lanes.iter().map(|l| l.left).collect::<Vec<_>>(),
            [0, 1]
        );
        assert_eq!(lanes.arrives(13, 6), Some(0), "the recording begins again");
        assert_eq!(lanes.take_waiting(), []);
    }

    #[test]
    fn the_connection_that_has_been_idle_longest_makes_way() {
        let mut lanes = Lanes::new([0, 1, 2].into());
        for (lane, slot) in [(0, 5), (1, 3), (2, 4)] {
            assert_eq!(lanes.take_own(lane), None);
            lanes.bind(lane, slot);
            assert_eq!(lanes.take_own(lane), None, "it is busy");
        }
        [3, 5, 4].into_iter().for_each(|slot| lanes.rests(slot));
        assert_eq!(lanes.take_own(0), Some(5));
        assert_eq!(lanes.take_idle(), Some(3));
        lanes.bind(0, 3);
        lanes.release(4);
        assert_eq!((lanes.take_own(2), lanes.take_idle()), (None, None));
    }
}
