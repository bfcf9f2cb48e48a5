//! Servers that serve one request per process: Unicorn, Pitchfork, Passenger.

use super::Discipline;
use super::machine::{Machine, TaskState};
use super::service::Stage;

impl Machine<'_> {
    fn shared(&self) -> bool {
        self.scenario.discipline == Discipline::OnePerProcess
    }

    /// A request goes to an idle process, or into the line.
    pub(super) fn arrive_at_process(&mut self, request: u32) {
        let own = request % self.processes;
        let idle = if self.shared() {
            self.front.idle[0].pop(&self.behind)
        } else {
            Some(own).filter(|&thread| {
                self.services[thread as usize].stage == Stage::Idle
                    && self.tasks[thread as usize].state == TaskState::Asleep
            })
        };
        if let Some(thread) = idle {
            self.services[thread as usize].request = request;
            return self.wake(thread);
        }
        let line = match self.shared() {
            true => &mut self.front.backlog,
            false => &mut self.front.todo[own as usize],
        };
        if line.len() >= self.scenario.backlog as usize {
            return self.refuse(request);
        }
        line.push_back(request);
    }

    /// After an answer: whether there is a next request for `thread`.
    pub(super) fn next_at_process(&mut self, thread: u32) -> bool {
        let next = match self.shared() {
            true => self.front.backlog.pop_front(),
            false => self.front.todo[thread as usize].pop_front(),
        };
        if let Some(request) = next {
            self.begin(thread, request, 1);
            return true;
        }
        self.services[thread as usize].stage = Stage::Idle;
        self.tasks[thread as usize].state = TaskState::Asleep;
        if self.shared() {
            self.front.idle[0].push(&mut self.behind, thread);
        }
        self.let_go(thread);
        false
    }
}
