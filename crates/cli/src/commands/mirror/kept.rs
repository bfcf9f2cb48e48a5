//! What is known of a mirror's traffic so far, made on request only, because a comparison is expensive.

use super::written::{RECORDING, Written};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A request waits no longer than this for the thread that knows; then it gets the last answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// What there is to show.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// `None` without shadows.
    pub comparison: Option<run::duplex::Document>,
    /// What is written, under its name.
    pub written: BTreeMap<&'static str, Written>,
    /// Files of the recording and of the log.
    pub files: Vec<PathBuf>,
}

impl Kept {
    /// Requests in the recording.
    pub fn recorded(&self) -> u64 {
        self.written.get(RECORDING).map_or(0, |found| found.records)
    }
}

/// Where it is asked for and laid down.
#[derive(Debug, Default)]
pub struct Shelf {
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Debug, Default)]
struct State {
    kept: Arc<Kept>,
    /// Questions so far, and up to which of them the answer is.
    asked: u64,
    answered: u64,
    /// No answer will come any more.
    closed: bool,
}

impl Shelf {
    /// As it stands now.
    pub fn ask(&self) -> Arc<Kept> {
        let mut state = self.locked();
        state.asked += 1;
        let mine = state.asked;
        let waited = self.answered.wait_timeout_while(state, PATIENCE, |state| {
            state.answered < mine && !state.closed
        });
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.kept.clone()
    }

    /// Answers all who have asked; makes nothing without a request.
    pub fn answer(&self, make: impl FnOnce() -> Kept) {
        let asked = {
            let state = self.locked();
            if state.asked == state.answered {
                return;
            }
            state.asked
        };
        let kept = Arc::new(make());
        let mut state = self.locked();
        (state.kept, state.answered) = (kept, asked);
        self.answered.notify_all();
    }

    /// From now on every request gets the last answer at once.
    pub fn close(&self) {
        self.locked().closed = true;
        self.answered.notify_all();
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_gets_what_was_made_after_that_and_nothing_is_made_for_nobody() {
        let shelf = Shelf::default();
        shelf.answer(|| unreachable!("nobody asked"));
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| shelf.ask().files.len());
            while shelf.locked().asked == 0 {
                std::thread::yield_now();
            }
            shelf.answer(|| Kept {
                files: vec![PathBuf::new(); 7],
                ..Kept::default()
            });
            assert_eq!(asking.join().unwrap(), 7);
        });
        shelf.answer(|| unreachable!("it was answered"));
    }

    #[test]
    fn after_the_end_nobody_waits_for_an_answer() {
        let shelf = Shelf::default();
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| shelf.ask().files.len());
            while shelf.locked().asked == 0 {
                std::thread::yield_now();
            }
            shelf.close();
            assert_eq!(asking.join().unwrap(), 0);
        });
        assert_eq!(shelf.ask().files.len(), 0);
        // The last question has no answer of its own.
        assert_eq!(shelf.locked().answered, 0);
    }
}
