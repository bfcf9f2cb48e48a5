//! What there is to show now: the last window, and more of what is looked at.

use crate::history::{History, Step};
use crate::look::Look;
use crate::reading::Reading;
use crate::slow::Slow;
use crate::subject::Subject;
use crate::window::Window;
use std::time::Duration;

/// What readings have shown so far.
#[derive(Debug, Default)]
pub struct Seen {
    history: History,
    pub(crate) window: Option<Window>,
    pub(crate) look: Option<Look>,
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
        if self.look.as_ref().map(|look| &look.subject) != subject {
            self.look = subject.cloned().map(Look::at);
            self.look();
        }
    }

    fn look(&mut self) {
        if let Some(look) = &mut self.look {
            look.update(&self.history, self.window.as_ref());
        }
    }

    /// The same for a look that is kept elsewhere.
    pub(crate) fn update(&self, look: &mut Look) {
        look.update(&self.history, self.window.as_ref());
    }

    /// The newest window.
    #[must_use]
    pub fn window(&self) -> Option<&Window> {
        self.window.as_ref()
    }

    /// The part of it that is about what is looked at.
    pub(crate) fn part(&self) -> Option<&Window> {
        self.look.as_ref()?.part.as_ref()
    }

    /// What is looked at in the last minutes, the newest first.
    pub(crate) fn steps(&self) -> &[Step] {
        self.look.as_ref().map_or(&[], |look| &look.steps)
    }

    /// Its slowest requests.
    pub(crate) fn slowest(&self) -> &[Slow] {
        self.look.as_ref().map_or(&[], |look| &look.slowest)
    }

    /// Everything in the last minutes, the newest first.
    pub(crate) fn all_steps(&self) -> Vec<Step> {
        self.history.steps(None)
    }

    /// The process that has this name in an address.
    #[must_use]
    pub fn process(&self, id: &str) -> Option<Subject> {
        let mut processes = self.history.newest()?.processes.iter();
        let found = processes.find(|process| crate::subject::id(&process.id) == id)?;
        Some(Subject::Process(found.id))
    }

    /// The newest reading's clock, nanoseconds since 1970.
    pub(crate) fn wall_ns(&self) -> u64 {
        self.history.newest().map_or(0, |reading| reading.wall_ns)
    }
}
