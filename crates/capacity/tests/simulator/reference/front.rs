//! How requests come to threads, plainly.

use super::{Does, Known, Naive, Role, Timer};
use capacity::sim::{Arrivals, Discipline, PumaVersion};
use rand_distr::{Distribution, Exp1};

impl Naive<'_> {
    pub(super) fn busy(&self, process: usize) -> usize {
        let state = &self.processes[process];
        usize::from(self.scenario().threads) - state.waiting.len() - state.told.len()
            + state.pool.len()
    }

    pub(super) fn accept(&mut self, who: usize) {
        let process = self.people[who].process;
        let busy = self.busy(process);
        let threads = usize::from(self.scenario().threads);
        if !matches!(self.people[who].role, Role::Delay | Role::Told) {
            let delay = if self.case.version() == PumaVersion::V6 {
                if busy >= threads {
                    self.people[who].role = Role::Full;
                    self.people[who].does = Does::Sleeps;
                    return self.let_go(process);
                }
                if self.scenario().cluster && busy > 0 {
                    5_000_000
                } else {
                    0
                }
            } else if self.processes.len() > 1 {
                5_000_000 * busy.min(25 * threads) / (25 * threads)
            } else {
                0
            };
            if delay > 0 {
                self.people[who].role = Role::Delay;
                self.let_go(process);
                return self.sleeps_for(who, delay as u64 + self.scenario().overheads.wake_ns);
            }
        }
        let Some(request) = self.backlog.pop_front() else {
            return self.select(who);
        };
        self.people[who].role = Role::Takes(request);
        match self.scenario().overheads.accept_ns {
            0 => self.taken(who, request),
            accept => {
                self.people[who].left = accept as f64;
                self.compute(who, Does::Holds);
            }
        }
    }

    pub(super) fn taken(&mut self, who: usize, request: usize) {
        self.queue_up(self.people[who].process, request);
        self.select(who);
    }

    pub(super) fn select(&mut self, who: usize) {
        self.people[who].role = Role::Select;
        self.people[who].does = Does::Sleeps;
        self.let_go(self.people[who].process);
        if !self.backlog.is_empty() {
            self.ask(who);
        }
    }

    pub(super) fn queue_up(&mut self, process: usize, request: usize) {
        self.processes[process].pool.push_back(request);
        if !self.processes[process].waiting.is_empty() {
            let told = self.processes[process].waiting.remove(0);
            self.processes[process].told.push(told);
            self.ask(told);
        }
    }

    pub(super) fn reactor(&mut self, who: usize) {
        let process = self.people[who].process;
        while !self.processes[process].reactor.is_empty() {
            if self.scenario().overheads.reactor_ns > 0 {
                self.people[who].left = self.scenario().overheads.reactor_ns as f64;
                return self.compute(who, Does::Holds);
            }
            self.pass_on(who);
        }
        self.people[who].does = Does::Sleeps;
        self.let_go(process);
    }

    pub(super) fn pass_on(&mut self, who: usize) {
        let process = self.people[who].process;
        if let Some(request) = self.processes[process].reactor.pop_front() {
            self.queue_up(process, request);
        }
    }

    pub(super) fn selects(&self, who: usize) -> bool {
        self.people[who].role == Role::Select && self.people[who].does == Does::Sleeps
    }

    pub(super) fn herd(&mut self) {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.chance;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let count = self.processes.len();
        let threads = self.case.threads() as usize;
        for nth in 0..count {
            let acceptor = threads + (mixed as usize % count + nth) % count;
            if self.selects(acceptor) && !self.backlog.is_empty() {
                self.ask(acceptor);
            }
        }
    }

    pub(super) fn arrives(&mut self, connection: Option<usize>) {
        let request = self.arrived.len();
        self.arrived.push(self.now);
        let connection = connection.or_else(|| self.free_connections.pop_front());
        let connection = connection.unwrap_or_else(|| {
            self.known.push(Known::Nowhere);
            self.known.len() - 1
        });
        self.connection_of.push(connection);
        if !self.case.is_puma() {
            return self.arrives_alone(request);
        }
        let threads = self.case.threads() as usize;
        match self.known[connection] {
            Known::Thread(who) => {
                self.people[who].role = Role::Lingers(Some(request));
                if self.people[who].does == Does::Times {
                    self.timers.retain(|timer| timer.2 != Timer::Person(who));
                    self.wake(who);
                }
            }
            Known::Reactor(process) => {
                self.processes[process].reactor.push_back(request);
                let reactor = threads + self.processes.len() + process;
                if self.people[reactor].does == Does::Sleeps {
                    self.wake(reactor);
                }
            }
            Known::Nowhere if self.backlog.len() >= self.scenario().backlog as usize => {
                self.refuse(request)
            }
            Known::Nowhere => {
                self.backlog.push_back(request);
                let some = (threads..threads + self.processes.len()).any(|who| self.selects(who));
                match self.scenario().overheads.wake_ns {
                    _ if !some => {}
                    0 => self.herd(),
                    wake => self.timer(wake, Timer::Herd),
                }
            }
        }
    }

    pub(super) fn arrives_alone(&mut self, request: usize) {
        let shared = self.scenario().discipline == Discipline::OnePerProcess;
        let own = request % self.processes.len();
        let free = if shared {
            Some(0)
        } else {
            self.free_alone.iter().position(|&who| who == own)
        };
        if let Some(who) = free.and_then(|place| self.free_alone.remove(place)) {
            self.people[who].request = request;
            return self.wake(who);
        }
        let line = if shared {
            &mut self.backlog
        } else {
            &mut self.processes[own].pool
        };
        if line.len() >= self.case.scenario.backlog as usize {
            return self.refuse(request);
        }
        line.push_back(request);
    }

    pub(super) fn refuse(&mut self, request: usize) {
        self.done += 1;
        self.user(request, Known::Nowhere);
    }

    pub(super) fn user(&mut self, request: usize, known: Known) {
        let connection = self.connection_of[request];
        self.known[connection] = known;
        if let Some(think) = self.think() {
            self.timer(
                self.scenario().overheads.network_ns + think,
                Timer::User(connection),
            );
        } else if matches!(self.case.arrivals, Arrivals::Given(_)) {
            self.free_connections.push_back(connection);
        }
    }

    pub(super) fn think(&mut self) -> Option<u64> {
        let Arrivals::Closed {
            think_ns, requests, ..
        } = self.case.arrivals
        else {
            return None;
        };
        if self.sent == requests {
            return None;
        }
        self.sent += 1;
        let part: f64 = if think_ns == 0 {
            0.0
        } else {
            Exp1.sample(&mut self.random)
        };
        Some((part * think_ns as f64).round() as u64)
    }
}
