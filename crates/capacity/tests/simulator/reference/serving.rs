//! A thread's way through a request, plainly.

use super::{Does, Known, Naive, Role, Timer};
use capacity::sim::{Discipline, PumaVersion, Station, Step};
use std::collections::VecDeque;

impl Naive<'_> {
    pub(super) fn begin(&mut self, who: usize, request: usize, in_row: u32) {
        let own = &self.scenario().overheads;
        let accept = if self.case.is_puma() {
            0
        } else {
            own.accept_ns
        };
        let work = &self.case.work;
        let whole = [Step::Held(accept), Step::Held(own.parse_ns)].into_iter();
        let whole = whole.chain(work.steps(request % work.len()));
        let mut steps: VecDeque<Step> = VecDeque::new();
        for step in whole.chain([Step::Held(own.write_ns)]) {
            match (steps.back_mut(), step) {
                (_, Step::Held(0)) => {}
                (Some(Step::Held(ns)), Step::Held(more)) => *ns += more,
                _ => steps.push_back(step),
            }
        }
        self.serving += 1.0;
        let person = &mut self.people[who];
        (person.role, person.request, person.steps) = (Role::Serves, request, steps);
        person.in_row = in_row;
        self.serve(who);
    }

    pub(super) fn serve(&mut self, who: usize) {
        let process = self.people[who].process;
        while let Some(step) = self.people[who].steps.front().copied() {
            if step != Step::Held(0) {
                match step {
                    Step::Held(ns) => {
                        self.people[who].steps.pop_front();
                        self.people[who].left = ns as f64;
                        return self.compute(who, Does::Holds);
                    }
                    Step::Native(ns) => {
                        self.people[who].steps.pop_front();
                        self.people[who].left = ns as f64;
                        self.compute(who, Does::Native);
                        return self.let_go(process);
                    }
                    Step::Io(ns) => {
                        self.people[who].steps.pop_front();
                        let others = self.serving - 1.0;
                        let longer = ns as f64 * (1.0 + self.scenario().io_growth * others);
                        self.let_go(process);
                        let wake = self.scenario().overheads.wake_ns;
                        return self.sleeps_for(who, longer.round() as u64 + wake);
                    }
                    Step::Acquire(Station(station)) => {
                        let state = &mut self.processes[process].stations[usize::from(station)];
                        if state.0 == 0 {
                            state.1.push_back(who);
                            self.people[who].does = Does::Sleeps;
                            return self.let_go(process);
                        }
                        state.0 -= 1;
                        self.people[who].holds.push(station);
                    }
                    Step::Release(Station(station)) => self.release(who, station),
                    Step::Answer => self.answer(who),
                }
            }
            self.people[who].steps.pop_front();
        }
        for station in self.people[who].holds.clone() {
            self.release(who, station);
        }
        let request = self.people[who].request;
        self.answer(who);
        self.done += 1;
        self.serving -= 1.0;
        self.after(who, request);
    }

    fn answer(&mut self, who: usize) {
        let request = self.people[who].request;
        if self.responses[request].is_finite() {
            return;
        }
        let network = self.scenario().overheads.network_ns as f64;
        self.responses[request] = self.now - self.arrived[request] + network;
        if !(self.case.is_puma() && self.scenario().keep_alive) {
            self.user(request, Known::Nowhere);
        }
    }

    pub(super) fn release(&mut self, who: usize, station: u8) {
        self.people[who].holds.retain(|&held| held != station);
        let state = &mut self.processes[self.people[who].process].stations[usize::from(station)];
        match state.1.pop_front() {
            None => state.0 += 1,
            Some(next) => {
                self.people[next].steps.pop_front();
                self.people[next].holds.push(station);
                self.ask(next);
            }
        }
    }

    pub(super) fn after(&mut self, who: usize, request: usize) {
        let process = self.people[who].process;
        if !self.case.is_puma() {
            let shared = self.scenario().discipline == Discipline::OnePerProcess;
            let line = if shared {
                &mut self.backlog
            } else {
                &mut self.processes[process].pool
            };
            if let Some(next) = line.pop_front() {
                return self.begin(who, next, 1);
            }
            self.people[who].role = Role::Idle;
            self.people[who].does = Does::Sleeps;
            self.free_alone.push_back(who);
            return self.let_go(process);
        }
        let in_row = self.people[who].in_row;
        let others = !self.processes[process].pool.is_empty();
        if self.scenario().keep_alive
            && self.case.version() == PumaVersion::V6
            && !(in_row >= 10 && others)
        {
            self.people[who].role = Role::Lingers(None);
            self.let_go(process);
            self.sleeps_for(who, 200_000_000 + self.scenario().overheads.wake_ns);
            return self.user(request, Known::Thread(who));
        }
        if self.scenario().keep_alive {
            self.user(request, Known::Reactor(process));
        }
        self.next_of_pool(who);
    }

    pub(super) fn next_of_pool(&mut self, who: usize) {
        let process = self.people[who].process;
        if let Some(request) = self.processes[process].pool.pop_front() {
            return self.begin(who, request, 1);
        }
        self.people[who].role = Role::Idle;
        self.people[who].does = Does::Sleeps;
        self.processes[process].waiting.push(who);
        let acceptor = self.case.threads() as usize + process;
        if self.case.version() == PumaVersion::V6 {
            match self.people[acceptor].role {
                Role::Full if self.people[acceptor].does == Does::Sleeps => self.ask(acceptor),
                Role::Delay if self.people[acceptor].does == Does::Times => {
                    self.timers
                        .retain(|timer| timer.2 != Timer::Person(acceptor));
                    self.people[acceptor].role = Role::Told;
                    self.wake(acceptor);
                }
                _ => {}
            }
        }
        self.let_go(process);
    }
}
