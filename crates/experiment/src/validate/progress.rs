//! Reports the progress of a validation: the server of the trace first, then those of the blocks.

use super::{Lengths, Question};
use crate::progress::{Event, Watcher};

/// Where the time goes, for the user who waits.
pub struct ValidationProgress<'a> {
    pub watcher: &'a dyn Watcher,
    lengths: Lengths,
    trace_s: f64,
    servers: u32,
    ended: u32,
}

impl<'a> ValidationProgress<'a> {
    /// Before the trace; so many servers come after it.
    pub fn new(
        watcher: &'a dyn Watcher,
        question: &Question,
        held_out: u32,
    ) -> ValidationProgress<'a> {
        let lengths = Lengths::assumed(question);
        ValidationProgress {
            watcher,
            lengths,
            trace_s: lengths.trace_s(question),
            servers: 1 + held_out,
            ended: 0,
        }
    }

    fn left_s(&self) -> f64 {
        match self.ended {
            0 => self.trace_s + f64::from(self.servers - 1) * self.lengths.server_s(),
            ended => f64::from(self.servers - ended) * self.lengths.server_s(),
        }
    }

    pub fn tell(&self, what: &str) {
        let seconds = self.left_s().round() as u64;
        self.watcher.on(Event::Note(format!(
            "{what}: about {} min {:02} s to go; --window, --blocks, --loads, --threads and --workers make it shorter",
            seconds / 60,
            seconds % 60
        )));
    }

    /// The next server begins.
    pub fn step(&self, what: &str) {
        self.watcher.on(Event::Step {
            what,
            number: self.ended + 1,
            of: self.servers,
            left_s: Some(self.left_s()),
        });
    }

    /// The trace is made, and with it what a start takes is known.
    pub fn traced(&mut self, start_s: f64) {
        self.ended = 1;
        self.lengths.start_s = start_s;
        self.tell("the servers' own time is known");
    }

    pub fn server_done(&mut self) {
        self.ended = self.servers.min(self.ended + 1);
    }
}
