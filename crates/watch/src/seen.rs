//! What there is to show now: the last window, and more of what is looked at.

use crate::history::{History, Step};
use crate::reading::Reading;
use crate::slow::{Slow, SlowRequests};
use crate::subject::Subject;
use crate::window::Window;
use std::time::Duration;

/// What readings have shown so far.
#[derive(Debug, Default)]
pub struct Seen {
    history: History,
    slow: SlowRequests,
    pub(crate) window: Option<Window>,
    /// What is looked at.
    pub(crate) subject: Option<Subject>,
    /// The part of the window that is about it.
    pub(crate) part: Option<Window>,
    /// The newest first.
    pub(crate) steps: Vec<Step>,
    /// The slowest first.
    pub(crate) slowest: Vec<Slow>,
}

impl Seen {
    /// For windows of such a length.
    #[must_use]
    pub fn new(length: Duration) -> Self {
        Self {
            history: History::new(length),
            ..Self::default()
        }
    }

    /// Takes the next reading.
    pub fn push(&mut self, reading: Reading) {
        self.window = self.history.push(reading);
        self.look();
    }

    /// Forgets everything, as where no process runs any more.
    pub fn clear(&mut self) {
        self.history.clear();
        self.window = None;
        self.look();
    }

    /// Looks at one process or endpoint from now on, or at none. Reads the records of what is new.
    pub fn look_at(&mut self, subject: Option<&Subject>) {
        if self.subject.as_ref() != subject {
            self.subject = subject.cloned();
            self.look();
        }
    }

    /// The newest window.
    #[must_use]
    pub fn window(&self) -> Option<&Window> {
        self.window.as_ref()
    }

    /// The part of it that is about what is looked at.
    #[must_use]
    pub fn part(&self) -> Option<&Window> {
        self.part.as_ref()
    }

    fn look(&mut self) {
        let (Some(subject), Some(newest)) = (&self.subject, self.history.newest()) else {
            (self.part, self.steps, self.slowest) = Default::default();
            return;
        };
        self.slow.read(subject, newest);
        self.slowest = self.slow.slowest();
        self.steps = self.history.steps(subject);
        self.part = self.window.as_ref().and_then(|window| window.only(subject));
    }

    /// The newest reading's clock, nanoseconds since 1970.
    pub(crate) fn wall_ns(&self) -> u64 {
        self.history.newest().map_or(0, |reading| reading.wall_ns)
    }
}
