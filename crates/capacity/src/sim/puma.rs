//! Puma in front of its serving threads: the acceptor that takes connections,
//! the pool's queue, and the reactor that keeps idle connections.
//!
//! After `Puma::Server#handle_servers`, `#process_client` and
//! `Puma::ThreadPool` of 6.6.0, 7.1.0 and 8.0.2; docs/simulator.md says what
//! of them is here.

use super::arrivals::Place;
use super::front::Accepting;
use super::machine::{Machine, TaskState};
use super::service::Stage;
use super::{Discipline, PumaVersion};

/// `wait_for_less_busy_worker`, in both versions the longest wait.
const BUSY_WAIT_NS: u64 = 5_000_000;
/// 7 and later wait the longest when so many times the threads are taken.
const OVERLOAD: u64 = 25;
/// `FAST_TRACK_KA_TIMEOUT` of 6.6: a thread waits so long for the next request.
const LINGER_NS: u64 = 200_000_000;
/// `max_fast_inline` of 6.6: so many in a row while others wait.
const IN_ROW: u32 = 10;

impl Machine<'_> {
    /// Every thread waits for work, and every connection of a closed loop thinks.
    pub(super) fn open_for_business(&mut self) {
        for thread in 0..self.threads {
            let line = match self.scenario.discipline {
                Discipline::OnePerProcess => 0,
                _ => self.tasks[thread as usize].process as usize,
            };
            self.front.idle[line].push(&mut self.behind, thread);
        }
        for connection in 0..self.stream.connections() {
            if let Some(think_ns) = self.stream.think_ns() {
                self.calendar.set(think_ns, self.connection_due(connection));
            }
        }
    }

    /// `request` comes to where its connection is.
    pub(super) fn arrive_at_puma(&mut self, request: u32, place: Place) {
        match place {
            Place::Thread(thread) => {
                let service = &mut self.services[thread as usize];
                service.has_next = true;
                service.request = request;
                let task = &mut self.tasks[thread as usize];
                if task.state == TaskState::Waiting {
                    task.ticket = 0;
                    self.wake(thread);
                }
            }
            Place::Reactor(process) => {
                self.front.reactors[process as usize].push_back(request);
                let reactor = self.threads + self.processes + process;
                if self.tasks[reactor as usize].state == TaskState::Asleep {
                    self.wake(reactor);
                }
            }
            Place::Nowhere if self.front.backlog.len() >= self.scenario.backlog as usize => {
                self.refuse(request);
            }
            Place::Nowhere => {
                self.front.backlog.push_back(request);
                match self.scenario.overheads.wake_ns {
                    _ if self.front.selecting == 0 => {}
                    0 => self.wake_acceptors(),
                    wake_ns => {
                        let who = self.acceptors_wake();
                        self.calendar.set(self.now_ns + wake_ns, who);
                    }
                }
            }
        }
    }

    /// A connection wakes all acceptors that sleep, in no order. Those of idle
    /// processes beyond the connections that are there would find nothing and
    /// sleep again: they are let sleep.
    pub(super) fn wake_acceptors(&mut self) {
        let first = (self.front.chance() % u64::from(self.processes)) as u32;
        let mut takers = 0;
        for nth in 0..self.processes {
            let process = (first + nth) % self.processes;
            let acceptor = self.threads + process;
            let sleeps = self.front.acceptors[process as usize] == Accepting::Select
                && self.tasks[acceptor as usize].state == TaskState::Asleep;
            if !sleeps || self.front.backlog.is_empty() {
                continue;
            }
            if self.gvl_is_free(process) && self.busy(process) == 0 {
                if takers == self.front.backlog.len() {
                    continue;
                }
                takers += 1;
            }
            self.front.selecting -= 1;
            self.ask(acceptor);
        }
    }

    /// Threads with a request, and requests that wait for one: `busy_threads`.
    fn busy(&self, process: u32) -> u32 {
        let threads = u32::from(self.scenario.threads);
        let process = process as usize;
        threads - self.front.waiting[process] + self.front.todo[process].len() as u32
    }

    /// The acceptor of `process` has the GVL.
    pub(super) fn resume_acceptor(&mut self, process: u32) {
        let stage = self.front.acceptors[process as usize];
        let version = match self.scenario.discipline {
            Discipline::Puma { version } => version,
            _ => return,
        };
        let busy = self.busy(process);
        let threads = u32::from(self.scenario.threads);
        let delay_ns = match (version, stage) {
            (_, Accepting::Delay | Accepting::Signalled | Accepting::Taking(_)) => 0,
            (PumaVersion::V6, _) if busy >= threads => {
                self.front.acceptors[process as usize] = Accepting::Full;
                self.tasks[(self.threads + process) as usize].state = TaskState::Asleep;
                return self.let_go(process);
            }
            (PumaVersion::V6, _) if self.scenario.cluster && busy > 0 => BUSY_WAIT_NS,
            (PumaVersion::V7, _) if self.processes > 1 => {
                let most = OVERLOAD * u64::from(threads);
                BUSY_WAIT_NS * u64::from(busy).min(most) / most
            }
            _ => 0,
        };
        if delay_ns > 0 {
            self.front.acceptors[process as usize] = Accepting::Delay;
            self.let_go(process);
            let sleeps_ns = delay_ns + self.scenario.overheads.wake_ns;
            return self.wait(self.threads + process, sleeps_ns, TaskState::Waiting);
        }
        match self.front.backlog.pop_front() {
            None => self.select(process),
            Some(request) => self.take(process, request),
        }
    }

    fn take(&mut self, process: u32, request: u32) {
        self.front.acceptors[process as usize] = Accepting::Taking(request);
        match self.scenario.overheads.accept_ns {
            0 => self.accepted(process),
            accept_ns => {
                let acceptor = self.threads + process;
                self.tasks[acceptor as usize].held_ns = accept_ns;
                self.spend(acceptor);
            }
        }
    }

    /// The connection is in the pool's queue.
    pub(super) fn accepted(&mut self, process: u32) {
        if let Accepting::Taking(request) = self.front.acceptors[process as usize] {
            self.queue_up(process, request);
        }
        self.select(process);
    }

    /// The acceptor looks for the next connection, without the GVL; where one is
    /// there it does not sleep, but queues behind the threads that wait for the
    /// GVL.
    fn select(&mut self, process: u32) {
        let acceptor = self.threads + process;
        self.front.acceptors[process as usize] = Accepting::Select;
        self.let_go(process);
        if self.front.backlog.is_empty() {
            self.tasks[acceptor as usize].state = TaskState::Asleep;
            self.front.selecting += 1;
        } else {
            self.ask(acceptor);
        }
    }

    fn queue_up(&mut self, process: u32, request: u32) {
        self.front.todo[process as usize].push_back(request);
        if let Some(thread) = self.front.idle[process as usize].pop(&self.behind) {
            self.ask(thread);
        }
    }

    /// The reactor of `process` has the GVL.
    pub(super) fn resume_reactor(&mut self, process: u32) {
        let reactor = self.threads + self.processes + process;
        while !self.front.reactors[process as usize].is_empty() {
            let reactor_ns = self.scenario.overheads.reactor_ns;
            if reactor_ns > 0 {
                self.tasks[reactor as usize].held_ns = reactor_ns;
                return self.spend(reactor);
            }
            self.pass_on(process);
        }
        self.tasks[reactor as usize].state = TaskState::Asleep;
        self.let_go(process);
    }

    fn pass_on(&mut self, process: u32) {
        if let Some(request) = self.front.reactors[process as usize].pop_front() {
            self.queue_up(process, request);
        }
    }

    /// The reactor has read a request.
    pub(super) fn passed_on(&mut self, process: u32) {
        self.pass_on(process);
        self.resume_reactor(process);
    }

    /// A signalled thread has the GVL: whether it found work, which another
    /// thread may have taken since.
    pub(super) fn woken(&mut self, thread: u32) -> bool {
        let process = self.tasks[thread as usize].process as usize;
        self.front.waiting[process] -= 1;
        self.next_from_pool(thread)
    }

    /// Whether `thread` has a next request; else it waits for one.
    fn next_from_pool(&mut self, thread: u32) -> bool {
        let process = self.tasks[thread as usize].process;
        if let Some(request) = self.front.todo[process as usize].pop_front() {
            self.begin(thread, request, 1);
            return true;
        }
        self.services[thread as usize].stage = Stage::Idle;
        self.tasks[thread as usize].state = TaskState::Asleep;
        self.front.waiting[process as usize] += 1;
        self.front.idle[process as usize].push(&mut self.behind, thread);
        self.signal_not_full(process);
        self.let_go(process);
        false
    }

    /// A thread waits for work. An acceptor that slept without a limit is put
    /// into the line for the GVL by the thread that signals; one with a limit
    /// is woken by the kernel.
    fn signal_not_full(&mut self, process: u32) {
        let Discipline::Puma {
            version: PumaVersion::V6,
        } = self.scenario.discipline
        else {
            return;
        };
        let acceptor = self.threads + process;
        let task = &mut self.tasks[acceptor as usize];
        match (self.front.acceptors[process as usize], task.state) {
            (Accepting::Full, TaskState::Asleep) => self.ask(acceptor),
            (Accepting::Delay, TaskState::Waiting) => {
                task.ticket = 0;
                self.front.acceptors[process as usize] = Accepting::Signalled;
                self.wake(acceptor);
            }
            _ => {}
        }
    }

    /// Whether `thread` has its next request at once.
    pub(super) fn after_answer(&mut self, thread: u32) -> bool {
        let process = self.tasks[thread as usize].process;
        let service = self.services[thread as usize];
        if !self.keeps_connections() {
            return self.next_from_pool(thread);
        }
        let version6 = self.scenario.discipline
            == Discipline::Puma {
                version: PumaVersion::V6,
            };
        let others_wait = !self.front.todo[process as usize].is_empty();
        if !version6 || service.in_row >= IN_ROW && others_wait {
            self.user_goes_on(service.request, Place::Reactor(process));
            return self.next_from_pool(thread);
        }
        self.services[thread as usize].stage = Stage::Lingering;
        self.let_go(process);
        let lingers_ns = LINGER_NS + self.scenario.overheads.wake_ns;
        self.wait(thread, lingers_ns, TaskState::Waiting);
        self.user_goes_on(service.request, Place::Thread(thread));
        false
    }

    /// A lingering thread has the GVL: whether it has a request.
    pub(super) fn lingered(&mut self, thread: u32) -> bool {
        let service = self.services[thread as usize];
        if service.has_next {
            self.begin(thread, service.request, service.in_row + 1);
            return true;
        }
        let process = self.tasks[thread as usize].process;
        self.stream.moved(service.request, Place::Reactor(process));
        self.next_from_pool(thread)
    }
}
