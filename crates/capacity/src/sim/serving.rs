//! A thread that serves: it takes a request through its steps.

use super::fifo::{Fifo, NO_TASK};
use super::machine::{Machine, TaskState};
use super::{Discipline, REFUSED_NS, Station, Step};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Without a request; awake when one is there for it.
    Idle,
    Serving,
    /// Waits for the next request of the connection that it served.
    Lingering,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Service {
    pub stage: Stage,
    /// The one it serves, or served last.
    pub request: u32,
    /// Whether a lingering thread has its next request.
    pub has_next: bool,
    /// Requests of one connection in a row.
    pub in_row: u32,
    at: u32,
    end: u32,
    written: bool,
    /// Whether the client has its answer.
    out: bool,
    /// Stations whose places it holds, one bit each.
    holds: u64,
    began_ns: u64,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            stage: Stage::Idle,
            request: NO_TASK,
            has_next: false,
            in_row: 0,
            at: 0,
            end: 0,
            written: false,
            out: false,
            holds: 0,
            began_ns: 0,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct StationState {
    free: u16,
    line: Fifo,
}

impl StationState {
    /// Each process has all of them.
    pub(super) fn of(places: &[u16], processes: u16) -> Vec<Self> {
        let own = places.iter().map(|&free| Self {
            free,
            line: Fifo::default(),
        });
        let own: Vec<Self> = own.collect();
        own.repeat(usize::from(processes))
    }
}

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

    /// `thread`, which has the GVL, is to serve `request`.
    pub(super) fn begin(&mut self, thread: u32, request: u32, in_row: u32) {
        let (at, end) = self.work.range(request as usize % self.work.len());
        self.services[thread as usize] = Service {
            stage: Stage::Serving,
            request,
            has_next: false,
            in_row,
            at: at as u32,
            end: end as u32,
            written: false,
            out: false,
            holds: 0,
            began_ns: self.now_ns,
        };
        self.sums.queue_ns += self.now_ns - self.times_ns[request as usize];
        self.serving += 1;
        let overheads = &self.scenario.overheads;
        let accept_ns = match self.scenario.discipline {
            Discipline::Puma { .. } => 0,
            _ => overheads.accept_ns,
        };
        self.tasks[thread as usize].held_ns = accept_ns + overheads.parse_ns;
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

    /// The client has it, once. Who keeps the connection goes on where the
    /// thread is done: only then it is known who waits for the next request.
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
            self.user_goes_on(request, super::arrivals::Place::Nowhere);
        }
    }

    pub(super) fn keeps_connections(&self) -> bool {
        self.scenario.keep_alive && matches!(self.scenario.discipline, Discipline::Puma { .. })
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
            state.free -= 1;
        }
        let service = &mut self.services[thread as usize];
        service.holds |= bit;
        service.at += 1;
        true
    }

    /// The place goes to the first in the line.
    fn release(&mut self, thread: u32, station: Station) {
        let bit = 1 << station.0;
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
            state.free += 1;
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

    /// `request` finds no room.
    pub(super) fn refuse(&mut self, request: u32) {
        self.times_ns[request as usize] = REFUSED_NS;
        self.last_out_ns = self.now_ns;
        self.refused += 1;
        self.user_goes_on(request, super::arrivals::Place::Nowhere);
    }

    /// Whoever sent `request` has the answer.
    pub(super) fn user_goes_on(&mut self, request: u32, place: super::arrivals::Place) {
        let Some(connection) = self.stream.leave(request, place) else {
            return;
        };
        if let Some(think_ns) = self.stream.think_ns() {
            let at_ns = self.now_ns + self.scenario.overheads.network_ns + think_ns;
            self.calendar.set(at_ns, self.connection_due(connection));
        }
    }
}
