//! A thread that serves: it takes a request through its steps.

use super::arrivals::Place;
use super::machine::{Machine, TaskState};
use super::service::{Stage, StationState};
use super::{Discipline, Station, Step};

impl Machine<'_> {
    /// `thread` has the GVL and computes nothing yet.
    pub(super) fn resume_thread(&mut self, thread: u32) {
        let service = self.services[thread as usize];
        let waited_ns = self.now_ns - self.tasks[thread as usize].since_ns;
        let goes_on = match (service.stage, self.scenario.discipline) {
            (Stage::Serving, _) => {
                self.sums.gvl_wait_ns += waited_ns;
                true
            }
            (Stage::Idle, Discipline::Puma { .. }) => self.woken(thread),
            (Stage::Idle, _) => {
                self.begin(thread, service.request, 1);
                true
            }
            (Stage::Lingering, _) => self.lingered(thread),
        };
        if goes_on {
            self.proceed(thread);
        }
    }

    /// `thread`, which has the GVL, goes through its steps until one takes time.
    pub(super) fn proceed(&mut self, thread: u32) {
        loop {
            let service = &mut self.services[thread as usize];
            let task = &mut self.tasks[thread as usize];
            if service.at == service.end {
                if !service.written {
                    service.written = true;
                    task.held_ns += self.scenario.overheads.write_ns;
                }
                if task.held_ns > 0 {
                    return self.spend(thread);
                }
                if !self.finish(thread) {
                    return;
                }
                continue;
            }
            let step = self.work.step(service.at as usize);
            match step {
                Step::Held(ns) => {
                    task.held_ns += ns;
                    service.at += 1;
                }
                _ if task.held_ns > 0 => return self.spend(thread),
                Step::Io(ns) => {
                    service.at += 1;
                    return self.do_io(thread, ns);
                }
                Step::Native(ns) => {
                    service.at += 1;
                    return self.do_native(thread, ns);
                }
                Step::Acquire(station) => {
                    if !self.acquire(thread, station) {
                        return;
                    }
                }
                Step::Release(station) => {
                    service.at += 1;
                    self.release(thread, station);
                }
                Step::Answer => {
                    service.at += 1;
                    self.answer(thread);
                }
            }
        }
    }

    /// The client has it, once. A client that keeps the connection goes on
    /// where the thread is done: only then it is known who waits for the next
    /// request.
    fn answer(&mut self, thread: u32) {
        let service = &mut self.services[thread as usize];
        if std::mem::replace(&mut service.out, true) {
            return;
        }
        let request = service.request;
        let arrived_ns = self.times_ns[request as usize];
        self.times_ns[request as usize] = self.now_ns - arrived_ns;
        self.last_out_ns = self.now_ns;
        if !self.keeps_connections() {
            self.user_goes_on(request, Place::Nowhere);
        }
    }

    fn do_io(&mut self, thread: u32, ns: u64) {
        let others = self.serving.saturating_sub(1);
        let growth = 1.0 + self.scenario.io_growth * f64::from(others);
        // A growth of 0 leaves the nanoseconds exactly as they are.
        let io_ns = match self.scenario.io_growth > 0.0 {
            true => (ns as f64 * growth).round() as u64,
            false => ns,
        };
        self.sums.io_ns += io_ns;
        self.let_go(self.tasks[thread as usize].process);
        let wake_ns = self.scenario.overheads.wake_ns;
        self.wait(thread, io_ns + wake_ns, TaskState::Waiting);
    }

    fn do_native(&mut self, thread: u32, ns: u64) {
        let task = &mut self.tasks[thread as usize];
        let process = task.process;
        task.state = TaskState::Native;
        task.held_ns = ns;
        task.since_ns = self.now_ns;
        self.cores.start(self.now_ns, thread, ns);
        self.let_go(process);
    }

    fn station(&mut self, thread: u32, station: Station) -> &mut StationState {
        let process = self.tasks[thread as usize].process as usize;
        &mut self.stations[process * self.scenario.stations.len() + usize::from(station.0)]
    }

    /// Whether `thread` has a place now; else it stands in the line.
    fn acquire(&mut self, thread: u32, station: Station) -> bool {
        let bit = 1 << station.0;
        let now_ns = self.now_ns;
        if self.services[thread as usize].holds & bit == 0 {
            let state = self.station(thread, station);
            if state.free == 0 {
                let mut line = state.line;
                line.push(&mut self.behind, thread);
                self.station(thread, station).line = line;
                let task = &mut self.tasks[thread as usize];
                task.state = TaskState::Asleep;
                task.since_ns = self.now_ns;
                let process = task.process;
                self.let_go(process);
                return false;
            }
            state.take(now_ns);
        }
        let service = &mut self.services[thread as usize];
        service.holds |= bit;
        service.at += 1;
        true
    }

    /// The place goes to the first in the line.
    fn release(&mut self, thread: u32, station: Station) {
        let bit = 1 << station.0;
        let now_ns = self.now_ns;
        let service = &mut self.services[thread as usize];
        if service.holds & bit == 0 {
            return;
        }
        service.holds &= !bit;
        let mut line = self.station(thread, station).line;
        let next = line.pop(&self.behind);
        let state = self.station(thread, station);
        state.line = line;
        let Some(next) = next else {
            state.give(now_ns);
            return;
        };
        let service = &mut self.services[next as usize];
        service.holds |= bit;
        service.at += 1;
        self.sums.station_wait_ns += self.now_ns - self.tasks[next as usize].since_ns;
        self.ask(next);
    }

    /// The thread is done with its request: whether it has its next one at once.
    fn finish(&mut self, thread: u32) -> bool {
        let service = self.services[thread as usize];
        for station in (0..64).filter(|station| service.holds >> station & 1 == 1) {
            self.release(thread, Station(station));
        }
        self.answer(thread);
        self.answered += 1;
        self.sums.busy_ns += self.now_ns - service.began_ns;
        self.serving -= 1;
        match self.scenario.discipline {
            Discipline::Puma { .. } => self.after_answer(thread),
            _ => self.next_at_process(thread),
        }
    }
}
