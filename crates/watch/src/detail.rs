//! One process or one endpoint: its figures over the last minutes, its parts, its slowest requests.

use crate::course::Course;
use crate::seen::Seen;
use crate::subject::Subject;
use crate::table::{Rows, endpoints, processes, requests, steps};

/// Which table is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Part {
    #[default]
    Minutes,
    /// The endpoints of a process, the processes of an endpoint.
    Others,
    Slowest,
}

/// The state of the screen.
#[derive(Debug, Clone)]
pub struct Detail {
    pub subject: Subject,
    pub part: Part,
    selected: usize,
    /// One of the slowest requests, on its own screen.
    pub course: Option<Course>,
}

impl Detail {
    /// With the last minutes.
    pub fn of(subject: Subject) -> Self {
        Self {
            subject,
            part: Part::default(),
            selected: 0,
            course: None,
        }
    }

    /// What arrows move.
    pub fn selected(&mut self) -> &mut usize {
        match &mut self.course {
            Some(course) => &mut course.selected,
            None => &mut self.selected,
        }
    }

    /// How far.
    pub fn rows(&self, seen: &Seen) -> usize {
        let part = seen.part();
        match (&self.course, self.part, &self.subject) {
            (Some(course), ..) => course.rows().len(),
            (_, Part::Minutes, _) => seen.steps().len(),
            (_, Part::Slowest, _) => seen.slowest().len(),
            (_, Part::Others, Subject::Process(_)) => part.map_or(0, |part| part.endpoints.len()),
            (_, Part::Others, Subject::Endpoint(_)) => part.map_or(0, |part| part.processes.len()),
        }
    }

    /// The next table, or the one before.
    pub fn turn(&mut self, forward: bool) {
        if self.course.is_some() {
            return;
        }
        self.part = match (self.part, forward) {
            (Part::Minutes, true) | (Part::Slowest, false) => Part::Others,
            (Part::Others, true) | (Part::Minutes, false) => Part::Slowest,
            (Part::Slowest, true) | (Part::Others, false) => Part::Minutes,
        };
        self.selected = 0;
    }

    /// The endpoint or process that is selected.
    pub fn other(&self, seen: &Seen) -> Option<Subject> {
        if self.part != Part::Others || self.course.is_some() {
            return None;
        }
        let part = seen.part()?;
        match self.subject {
            Subject::Process(_) => {
                let row = part.endpoints.get(self.selected)?;
                Some(Subject::Endpoint(row.name.clone()))
            }
            Subject::Endpoint(_) => {
                let row = part.processes.get(self.selected)?;
                Some(Subject::Process(row.process.id))
            }
        }
    }

    /// Opens the request that is selected; says whether there is one.
    pub fn open_course(&mut self, seen: &Seen) -> bool {
        let found = seen.slowest().get(self.selected);
        if self.course.is_none() {
            self.course = found.cloned().map(Course::read);
        }
        found.is_some()
    }

    /// The table, and which of its rows is selected.
    pub fn table(&self, seen: &Seen, width: u16) -> (Rows, Option<usize>) {
        let of_process = matches!(self.subject, Subject::Process(_));
        let (what, rows) = match (self.part, seen.part()) {
            (Part::Minutes, _) => ("when", steps(seen.steps(), of_process)),
            (Part::Slowest, _) => (
                "slowest requests",
                requests(seen.slowest(), !of_process, seen.wall_ns()),
            ),
            (Part::Others, None) => ("", Vec::new()),
            (Part::Others, Some(part)) if of_process => ("endpoint", endpoints(part)),
            (Part::Others, Some(part)) => ("process", processes(part)),
        };
        (Rows::fit(what, rows, width), Some(self.selected))
    }

    /// Its keys, the most important first.
    pub fn keys(&self) -> &'static [&'static str] {
        let of_process = matches!(self.subject, Subject::Process(_));
        match (&self.course, self.part, of_process) {
            (Some(_), ..) => &["q quit", "Esc back", "↑ ↓ scroll"],
            (_, Part::Minutes, true) => &["q quit", "Esc back", "Tab endpoints", "↑ ↓ scroll"],
            (_, Part::Minutes, false) => &["q quit", "Esc back", "Tab processes", "↑ ↓ scroll"],
            (_, Part::Others, _) => &[
                "q quit",
                "Esc back",
                "Tab slowest",
                "Enter open",
                "↑ ↓ select",
            ],
            (_, Part::Slowest, _) => &[
                "q quit",
                "Esc back",
                "Enter course",
                "Tab minutes",
                "↑ ↓ select",
            ],
        }
    }
}
