//! What there is to show of one process or endpoint.

use crate::course::Course;
use crate::history::{History, Step};
use crate::slow::{Slow, SlowRequests};
use crate::subject::Subject;
use crate::window::Window;

/// One process or endpoint, and what readings have shown of it.
#[derive(Debug)]
pub struct Look {
    pub(crate) subject: Subject,
    slow: SlowRequests,
    /// The part of the window that is about it.
    pub(crate) part: Option<Window>,
    /// The newest first.
    pub(crate) steps: Vec<Step>,
    /// The slowest first.
    pub(crate) slowest: Vec<Slow>,
    /// Of the slow requests that were opened.
    courses: Vec<Course>,
}

impl Look {
    /// Nothing of it is known yet.
    pub(crate) fn at(subject: Subject) -> Self {
        Self {
            subject,
            slow: SlowRequests::default(),
            part: None,
            steps: Vec::new(),
            slowest: Vec::new(),
            courses: Vec::new(),
        }
    }

    /// Takes what is new, and reads the records of requests that ended since the last time.
    pub(crate) fn update(&mut self, history: &History, window: Option<&Window>) {
        let Some(newest) = history.newest() else {
            *self = Self::at(self.subject.clone());
            return;
        };
        self.slow.read(&self.subject, newest);
        self.slowest = self.slow.slowest();
        self.steps = history.steps(Some(&self.subject));
        self.part = window.and_then(|window| window.only(&self.subject));
        let slowest = &self.slowest;
        self.courses
            .retain(|course| slowest.iter().any(|slow| slow.id() == course.slow.id()));
    }

    /// The course of one of the slowest requests, whose events are read once.
    pub(crate) fn course(&mut self, id: &str) -> Option<&Course> {
        let known = self.courses.iter().position(|one| one.slow.id() == id);
        let known = known.or_else(|| {
            let slow = self.slowest.iter().find(|slow| slow.id() == id)?;
            self.courses.push(Course::read(slow.clone()));
            Some(self.courses.len() - 1)
        })?;
        self.courses.get(known)
    }
}
