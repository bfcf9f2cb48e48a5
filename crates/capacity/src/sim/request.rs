//! A request's way into a thread, or out of the server.

use super::arrivals::Place;
use super::machine::Machine;
use super::service::{Service, Stage};
use super::{Discipline, REFUSED_NS};

impl Machine<'_> {
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

    pub(super) fn keeps_connections(&self) -> bool {
        self.scenario.keep_alive && matches!(self.scenario.discipline, Discipline::Puma { .. })
    }

    /// `request` finds no room.
    pub(super) fn refuse(&mut self, request: u32) {
        self.times_ns[request as usize] = REFUSED_NS;
        self.last_out_ns = self.now_ns;
        self.refused += 1;
        self.user_goes_on(request, Place::Nowhere);
    }

    /// The sender of `request` has the answer.
    pub(super) fn user_goes_on(&mut self, request: u32, place: Place) {
        let Some(connection) = self.stream.leave(request, place) else {
            return;
        };
        if let Some(think_ns) = self.stream.think_ns() {
            let at_ns = self.now_ns + self.scenario.overheads.network_ns + think_ns;
            self.calendar.set(at_ns, self.connection_due(connection));
        }
    }
}
