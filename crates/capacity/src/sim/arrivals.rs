//! Requests as they come: at times that are given or drawn, or over connections
//! that wait for an answer and think.

use std::collections::VecDeque;

use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;

use super::calendar::WHO_BITS;
use super::fifo::NO_TASK;
use super::{Arrivals, Scenario, Work};
use crate::CapacityError;
use crate::error::above_0;

/// Where a connection is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Not connected: its next request opens a new one.
    Nowhere,
    /// A thread waits for its next request.
    Thread(u32),
    /// The reactor of this process does.
    Reactor(u32),
}

#[derive(Debug)]
enum Kind<'a> {
    Recorded { at_ns: &'a [u64], speed: f64 },
    Given(&'a [u64]),
    Poisson { per_ns: f64, sum: f64 },
    Closed { think_ns: f64 },
}

#[derive(Debug)]
pub(super) struct ArrivalStream<'a> {
    kind: Kind<'a>,
    random: Pcg64,
    requests: usize,
    /// Those whose time is known.
    sent: usize,
    next_ns: u64,
    connections: u32,
    /// By request: its connection. Empty where no connection is kept.
    connection_of: Vec<u32>,
    places: Vec<Place>,
    /// Connections without a request, the longest idle first, as `powerband
    /// load` takes them.
    idle: VecDeque<u32>,
    tracked: bool,
}

impl<'a> ArrivalStream<'a> {
    pub(super) fn new(
        work: &'a Work,
        scenario: &Scenario,
        arrivals: &'a Arrivals,
        seed: u64,
    ) -> Result<Self, CapacityError> {
        let (kind, requests, connections) = match arrivals {
            Arrivals::Recorded { speed } => {
                let speed = above_0("the speed of the recorded arrivals", *speed)?;
                let at_ns = work.arrivals_ns();
                (Kind::Recorded { at_ns, speed }, at_ns.len(), 0)
            }
            Arrivals::Given(at_ns) => {
                if at_ns.windows(2).any(|pair| pair[0] > pair[1]) {
                    return Err(CapacityError::ArrivalsRunBackwards);
                }
                (Kind::Given(at_ns), at_ns.len(), 0)
            }
            Arrivals::Poisson { per_s, requests } => {
                let per_ns = above_0("the rate per second", *per_s)? / 1e9;
                (Kind::Poisson { per_ns, sum: 0.0 }, *requests, 0)
            }
            Arrivals::Closed {
                connections,
                think_ns,
                requests,
            } => {
                above_0("the number of connections", f64::from(*connections))?;
                let think_ns = *think_ns as f64;
                (Kind::Closed { think_ns }, *requests, *connections)
            }
        };
        above_0("the number of requests", requests as f64)?;
        if requests >= NO_TASK as usize {
            return Err(CapacityError::OutOfRange {
                name: "the number of requests",
                value: requests as f64,
                limits: "below 4,294,967,295",
            });
        }
        let tasks = scenario.tasks() + u64::from(scenario.processes) + 1;
        if tasks + u64::from(connections) >= 1 << WHO_BITS {
            return Err(CapacityError::OutOfRange {
                name: "the number of threads and connections together",
                value: (tasks + u64::from(connections)) as f64,
                limits: "below 16,777,216",
            });
        }
        let tracked = connections > 0 || scenario.keep_alive;
        let mut stream = Self {
            kind,
            random: Pcg64::seed_from_u64(seed),
            requests,
            sent: 0,
            next_ns: u64::MAX,
            connections,
            connection_of: Vec::with_capacity(if tracked { requests } else { 0 }),
            places: vec![Place::Nowhere; connections as usize],
            idle: VecDeque::new(),
            tracked,
        };
        if connections == 0 {
            stream.draw_next();
        }
        Ok(stream)
    }

    /// The last arrival there may be, about, if every answer came at once.
    pub(super) fn last_ns(&self) -> f64 {
        let requests = self.requests as f64;
        match &self.kind {
            Kind::Recorded { at_ns, speed } => at_ns.last().map_or(0.0, |&ns| ns as f64 / speed),
            Kind::Given(at_ns) => at_ns.last().map_or(0.0, |&ns| ns as f64),
            Kind::Poisson { per_ns, .. } => 40.0 + requests / per_ns * 2.0,
            Kind::Closed { think_ns } => think_ns * (40.0 + requests * 2.0),
        }
    }

    pub(super) fn requests(&self) -> usize {
        self.requests
    }

    /// When the next one comes by itself.
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    fn draw_next(&mut self) {
        let number = self.sent;
        self.next_ns = match &mut self.kind {
            _ if number == self.requests => u64::MAX,
            Kind::Recorded { at_ns, speed } => (at_ns[number] as f64 / *speed).round() as u64,
            Kind::Given(at_ns) => at_ns[number],
            Kind::Poisson { per_ns, sum } => {
                let gap: f64 = Exp1.sample(&mut self.random);
                *sum += gap;
                (*sum / *per_ns).round() as u64
            }
            Kind::Closed { .. } => u64::MAX,
        };
        self.sent += usize::from(self.next_ns != u64::MAX);
    }

    /// How many connections send of their own accord at the start.
    pub(super) fn connections(&self) -> u32 {
        self.connections
    }

    /// For how long a connection thinks before its next request; `None` where no
    /// more are to come, or where requests come by themselves.
    pub(super) fn think_ns(&mut self) -> Option<u64> {
        let Kind::Closed { think_ns } = self.kind else {
            return None;
        };
        if self.sent == self.requests {
            return None;
        }
        self.sent += 1;
        if think_ns == 0.0 {
            return Some(0);
        }
        let part: f64 = Exp1.sample(&mut self.random);
        Some((part * think_ns).round() as u64)
    }

    /// The next request is here, over `connection` where it was its turn: where
    /// that connection is known.
    pub(super) fn arrived(&mut self, connection: Option<u32>) -> Place {
        if connection.is_none() {
            self.draw_next();
        }
        if !self.tracked {
            return Place::Nowhere;
        }
        let connection = connection.or_else(|| self.idle.pop_front());
        let connection = connection.unwrap_or_else(|| {
            self.places.push(Place::Nowhere);
            self.places.len() as u32 - 1
        });
        self.connection_of.push(connection);
        self.places[connection as usize]
    }

    /// `request` was answered or refused, and its connection is at `place` now:
    /// which it is.
    pub(super) fn leave(&mut self, request: u32, place: Place) -> Option<u32> {
        if !self.tracked {
            return None;
        }
        let connection = self.connection_of[request as usize];
        self.places[connection as usize] = place;
        if self.connections == 0 {
            self.idle.push_back(connection);
        }
        Some(connection)
    }

    /// The connection of `request` has moved.
    pub(super) fn moved(&mut self, request: u32, place: Place) {
        let connection = self.connection_of[request as usize];
        self.places[connection as usize] = place;
    }
}
