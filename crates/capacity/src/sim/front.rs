//! The queues in front of the serving threads: connections that wait, acceptors,
//! the pools' queues and the reactors.

use std::collections::VecDeque;

use super::Scenario;
use super::fifo::Fifo;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accepting {
    /// Sleeps until a connection is there, or has just been woken.
    Select,
    /// All threads are taken (6.6).
    Full,
    /// Lets less busy workers have it.
    Delay,
    /// A thread is idle, and its signal wakes the acceptor up (6.6).
    Signalled,
    /// Accepts this request's connection.
    Taking(u32),
}

#[derive(Debug)]
pub(super) struct Front {
    /// Requests whose connections are not accepted yet; of one-per-process
    /// servers with a shared queue, that queue.
    pub backlog: VecDeque<u32>,
    pub acceptors: Vec<Accepting>,
    /// Acceptors that sleep until a connection comes.
    pub selecting: u32,
    /// By process: threads that wait for work, those among them that were
    /// signalled and have not run yet included.
    pub waiting: Vec<u32>,
    /// By process: those that were not signalled.
    pub idle: Vec<Fifo>,
    /// By process: the pool's queue.
    pub todo: Vec<VecDeque<u32>>,
    /// By process: requests that came over connections in the reactor.
    pub reactors: Vec<VecDeque<u32>>,
    /// Whose acceptor is woken first is chance.
    chance: u64,
}

impl Front {
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Self {
        let processes = usize::from(scenario.processes);
        Self {
            backlog: VecDeque::new(),
            acceptors: vec![Accepting::Select; processes],
            selecting: u32::from(scenario.processes),
            waiting: vec![u32::from(scenario.serving_threads()); processes],
            idle: vec![Fifo::default(); processes],
            todo: vec![VecDeque::new(); processes],
            reactors: vec![VecDeque::new(); processes],
            chance: seed,
        }
    }

    /// SplitMix64 (Steele, Lea and Flood 2014).
    pub(super) fn chance(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.chance;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}
