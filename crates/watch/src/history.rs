//! The readings that a window needs, and what the last minutes were like.

use crate::process_row::Resources;
use crate::reading::Reading;
use crate::subject::Subject;
use crate::window::{Window, rate};
use inspect::Sums;
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// How far back steps go.
pub const MINUTES: Duration = Duration::from_secs(300);
/// The length of a step, where readings are not further apart.
const STEP: Duration = Duration::from_secs(10);
/// Readings that a window keeps, so that a long one at short intervals needs no more memory.
const KEPT: u32 = 100;

/// Readings of the past, oldest first.
#[derive(Debug, Default)]
pub struct History {
    length: Duration,
    readings: VecDeque<Arc<Reading>>,
    /// Where the step that is not complete yet began.
    step: Option<Arc<Reading>>,
    /// The step that is not complete yet, once it was requested since the newest reading.
    now: OnceCell<Option<Window>>,
    newest: Option<Arc<Reading>>,
    /// Complete steps with their ends, oldest first.
    steps: VecDeque<(Duration, Window)>,
}

/// What one process or endpoint, or everything, did for some seconds of the last minutes.
#[derive(Debug, Clone)]
pub struct Step {
    /// Before the newest reading.
    pub from: Duration,
    pub to: Duration,
    pub sums: Sums,
    /// Of the processes; unknown for an endpoint, whose share of a process is not known.
    pub resources: Resources,
}

impl History {
    /// For windows of such a length.
    #[must_use]
    pub fn new(length: Duration) -> Self {
        Self {
            length,
            ..Self::default()
        }
    }

    /// Forgets everything, as where no process runs any more.
    pub fn clear(&mut self) {
        *self = Self::new(self.length);
    }

    /// Takes the next reading, and gives the window that ends with it; `None` for the first one.
    pub fn push(&mut self, reading: Reading) -> Option<Window> {
        let reading = Arc::new(reading);
        let starts = reading.at.saturating_sub(self.length);
        // The second reading decides: the oldest one lies at the beginning of the window or before it.
        while self.readings.get(1).is_some_and(|next| next.at <= starts) {
            self.readings.pop_front();
        }
        let oldest = self.readings.front();
        let window = oldest.map(|oldest| Window::between(oldest, &reading));
        let spacing = self.length / KEPT;
        let last = self.readings.back();
        if last.is_none_or(|last| reading.at >= last.at + spacing) {
            self.readings.push_back(reading.clone());
        }
        self.add_step(&reading);
        self.newest = Some(reading);
        self.now = OnceCell::new();
        window
    }

    fn add_step(&mut self, reading: &Arc<Reading>) {
        match &self.step {
            Some(begin) if reading.at < begin.at + STEP => return,
            Some(begin) => {
                let step = (reading.at, Window::between(begin, reading));
                self.steps.push_back(step);
            }
            None => {}
        }
        self.step = Some(reading.clone());
        let begins = reading.at.saturating_sub(MINUTES);
        while self.steps.front().is_some_and(|(end, _)| *end <= begins) {
            self.steps.pop_front();
        }
    }

    /// The newest reading.
    #[must_use]
    pub fn newest(&self) -> Option<&Reading> {
        self.newest.as_deref()
    }

    /// What was done in each step of the last minutes, the newest first; that of now is shorter.
    #[must_use]
    pub fn steps(&self, subject: Option<&Subject>) -> Vec<Step> {
        let Some(newest) = &self.newest else {
            return Vec::new();
        };
        let now = self.now.get_or_init(|| {
            let begin = self.step.as_ref().filter(|begin| begin.at < newest.at)?;
            Some(Window::between(begin, newest))
        });
        let now = now.iter().map(|step| (newest.at, step));
        let complete = self.steps.iter().rev().map(|(end, step)| (*end, step));
        now.chain(complete)
            .filter_map(|(end, window)| {
                let to = newest.at.saturating_sub(end);
                Step::of(window, subject, to)
            })
            .collect()
    }
}

impl Step {
    /// `None` where the process was not there.
    fn of(window: &Window, subject: Option<&Subject>, to: Duration) -> Option<Self> {
        let mut step = Self {
            from: to + window.length,
            to,
            sums: Sums::default(),
            resources: Resources::default(),
        };
        match subject {
            None => {
                step.sums = window.all;
                step.resources = Resources::of(&window.processes);
            }
            Some(Subject::Process(key)) => {
                let at = window
                    .processes
                    .iter()
                    .position(|row| row.process.id == *key)?;
                step.sums = window.processes[at].sums;
                step.resources = Resources::of(&window.processes[at..=at]);
            }
            Some(subject @ Subject::Endpoint(_)) => {
                for sums in window.processes.iter().filter_map(|row| subject.sums(row)) {
                    step.sums.merge(&sums);
                }
            }
        }
        Some(step)
    }

    /// Requests in the application at once, on average.
    #[must_use]
    pub fn busy(&self) -> f64 {
        rate(self.sums.wall.total() as f64 / 1e9, self.from - self.to)
    }

    /// Requests by time.
    #[must_use]
    pub fn per_s(&self) -> f64 {
        rate(self.sums.requests as f64, self.from - self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{process, reading, served};

    /// A request a second, of which each reading has one more.
    fn at(s: u64) -> Reading {
        reading(s, vec![process(1, 0, &[("a", served(s, 10, 5))])])
    }

    fn pushed(seconds: impl Iterator<Item = u64>) -> (History, Option<Window>) {
        let mut history = History::new(Duration::from_secs(5));
        let window = seconds.fold(None, |_, s| history.push(at(s)));
        (history, window)
    }

    #[test]
    fn a_window_has_its_length_and_is_shorter_at_the_beginning() {
        let requests = |seconds| pushed(0..seconds).1.map(|window| window.all.requests);
        assert_eq!((requests(1), requests(3)), (None, Some(2)));
        assert_eq!(requests(40), Some(5));
    }

    #[test]
    fn steps_reach_back_for_minutes_and_no_further() {
        let of = Subject::Endpoint("a".to_owned());
        let (history, _) = pushed(0..24);
        let ago = |step: &Step| (step.to.as_secs(), step.from.as_secs(), step.sums.requests);
        let steps: Vec<_> = history.steps(Some(&of)).iter().map(ago).collect();
        assert_eq!(steps, [(0, 3, 3), (3, 13, 10), (13, 23, 10)]);
        assert_eq!(history.steps(Some(&of))[1].per_s(), 1.0);
        let (history, _) = pushed(0..2_000);
        let steps = history.steps(Some(&of));
        assert!(steps.iter().all(|step| step.to < MINUTES));
        assert_eq!(steps.len(), 31);
        assert!(history.steps.len() < 40 && history.readings.len() < 10);
    }

    #[test]
    fn readings_far_apart_are_steps_as_they_are_and_a_process_that_is_not_there_has_none() {
        let (history, _) = pushed([0, 60, 120].into_iter());
        let key = at(0).processes[0].id;
        assert_eq!(history.steps(Some(&Subject::Process(key))).len(), 2);
        let other = (flight::ProcessId { pid: 7, ..key.0 }, key.1);
        assert!(history.steps(Some(&Subject::Process(other))).is_empty());
    }
}
