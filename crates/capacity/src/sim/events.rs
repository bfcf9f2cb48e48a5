//! The loop that takes events in their order and acts on each.

use super::calendar::Ticket;
use super::machine::{Machine, TaskState};
use super::{Discipline, Outcome};
use crate::CapacityError;

impl Machine<'_> {
    /// Takes event after event until every request is answered or refused. At
    /// one instant ends of bursts come first, then what is in the calendar, then
    /// arrivals.
    pub(super) fn run(mut self) -> Result<Outcome, CapacityError> {
        self.open_for_business();
        let requests = self.stream.requests() as u64;
        while self.answered + self.refused < requests {
            let computed = self.cores.next_ns();
            let due = self.calendar.next_ns();
            let arrival = self.stream.next_ns();
            let next = computed.min(due).min(arrival);
            if next == u64::MAX {
                let waiting = requests - self.answered - self.refused;
                return Err(CapacityError::Deadlock { waiting });
            }
            self.now_ns = next;
            if computed == next {
                if let Some(task) = self.cores.take_ended(next) {
                    self.burst_ended(task);
                }
            } else if due == next {
                if let Some((who, ticket)) = self.calendar.take() {
                    self.due(who, ticket);
                }
            } else {
                self.arrive(None);
            }
            self.run_granted();
        }
        Ok(self.outcome())
    }

    /// Threads that got a GVL run in the order in which they got one; they may
    /// give others theirs.
    fn run_granted(&mut self) {
        let mut nth = 0;
        while let Some(&task) = self.granted.get(nth) {
            nth += 1;
            self.run_task(task);
        }
        self.granted.clear();
    }

    /// The calendar's numbers above those of tasks: ticks of processes, then
    /// connections that send their next request, then waking acceptors.
    fn due(&mut self, who: u32, ticket: Ticket) {
        let tasks = self.tasks.len() as u32;
        if who < tasks {
            let task = &mut self.tasks[who as usize];
            if task.ticket != ticket {
                return;
            }
            task.ticket = 0;
            match task.state {
                TaskState::Ready => self.granted.push(who),
                _ => self.ask(who),
            }
        } else if who < tasks + self.processes {
            self.tick(who - tasks);
        } else if who == tasks + self.processes {
            self.wake_acceptors();
        } else {
            self.arrive(Some(who - tasks - self.processes - 1));
        }
    }

    /// A request arrives, over this connection where it was its turn.
    fn arrive(&mut self, connection: Option<u32>) {
        let request = self.times_ns.len() as u32;
        self.times_ns.push(self.now_ns);
        let place = self.stream.arrived(connection);
        match self.scenario.discipline {
            Discipline::Puma { .. } => self.arrive_at_puma(request, place),
            _ => self.arrive_at_process(request),
        }
    }

    fn burst_ended(&mut self, task: u32) {
        let ended = &mut self.tasks[task as usize];
        let waited_ns = self.now_ns - ended.since_ns - ended.held_ns;
        ended.held_ns = 0;
        if task < self.threads {
            self.sums.core_wait_ns += waited_ns;
        }
        match ended.state {
            TaskState::Native => self.ask(task),
            _ => self.go_on(task),
        }
    }

    /// `task` has got the GVL and runs.
    fn run_task(&mut self, task: u32) {
        let running = &mut self.tasks[task as usize];
        running.state = TaskState::Held;
        let gvl = &mut self.gvls[running.process as usize];
        if gvl.last != task {
            gvl.last = task;
            gvl.ran_ns = 0;
        }
        if running.held_ns > 0 {
            // It was preempted.
            if task < self.threads {
                self.sums.gvl_wait_ns += self.now_ns - running.since_ns;
            }
            self.spend(task);
            return;
        }
        self.resume(task);
    }

    fn resume(&mut self, task: u32) {
        match task.checked_sub(self.threads) {
            None => self.resume_thread(task),
            Some(own) if own < self.processes => self.resume_acceptor(own),
            Some(own) => self.resume_reactor(own - self.processes),
        }
    }

    fn go_on(&mut self, task: u32) {
        match task.checked_sub(self.threads) {
            None => self.proceed(task),
            Some(own) if own < self.processes => self.accepted(own),
            Some(own) => self.passed_on(own - self.processes),
        }
    }
}
