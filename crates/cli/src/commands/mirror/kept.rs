//! What is known of a mirror's traffic so far, made when somebody asks: a comparison is too dear to be made for nobody.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whoever asks waits no longer than this for what the thread that knows has to say; then the last answer has to do.
const PATIENCE: Duration = Duration::from_secs(1);

/// What there is to show.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// `None` without shadows.
    pub comparison: Option<run::duplex::Document>,
    /// Requests in the recording.
    pub recorded: u64,
    /// Of those that were to be recorded or logged, the ones that are not.
    pub lost: u64,
    /// Files of the recording and of the log.
    pub files: Vec<PathBuf>,
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
}

impl Shelf {
    /// As it stands now.
    pub fn ask(&self) -> Arc<Kept> {
        let mut state = self.locked();
        state.asked += 1;
        let mine = state.asked;
        let waited = self
            .answered
            .wait_timeout_while(state, PATIENCE, |state| state.answered < mine);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.kept.clone()
    }

    /// Answers all who have asked; nobody has: nothing is made.
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
            let asking = scope.spawn(|| shelf.ask().recorded);
            while shelf.locked().asked == 0 {
                std::thread::yield_now();
            }
            shelf.answer(|| Kept {
                recorded: 7,
                ..Kept::default()
            });
            assert_eq!(asking.join().unwrap(), 7);
        });
        shelf.answer(|| unreachable!("it was answered"));
    }
}
