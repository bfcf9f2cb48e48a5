//! Connections without a request, the longest idle first: they are closed where there is no other room for a client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use crate::Counts;

/// A PROXY header, a TLS handshake or a head that has begun is idle again after this time. Not at once: where all other
/// connections are busy, the clients that wait would close each other's handshakes. Not never: a client that sends one byte
/// would keep its place for as long as a head may take.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// All connections that are idle now.
#[derive(Debug, Default)]
pub(super) struct Idle {
    state: Mutex<State>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct State {
    entered: u64,
    /// In the order in which they became idle.
    connections: BTreeMap<u64, Waker>,
    /// Waits until a connection becomes idle.
    acceptor: Option<Waker>,
}

/// A connection's entry, until it is dropped.
#[derive(Debug)]
pub(super) struct Entered<'i> {
    idle: &'i Idle,
    number: u64,
}

impl Idle {
    /// Their number stands in these counts.
    pub(super) fn new(counts: Arc<Counts>) -> Self {
        Self {
            state: Mutex::default(),
            counts,
        }
    }

    /// A connection becomes idle. `waker`: of its task.
    pub(super) fn enter(&self, waker: &Waker) -> Entered<'_> {
        let mut state = self.locked();
        state.entered += 1;
        let number = state.entered;
        state.connections.insert(number, waker.clone());
        self.count(&state);
        if let Some(acceptor) = state.acceptor.take() {
            acceptor.wake();
        }
        Entered { idle: self, number }
    }

    /// Asks the longest idle connection to close. Where none is idle, `acceptor` is woken when one is.
    pub(super) fn close_oldest(&self, acceptor: Option<&Waker>) -> bool {
        let mut state = self.locked();
        let Some((_, oldest)) = state.connections.pop_first() else {
            if acceptor.is_some() {
                state.acceptor = acceptor.cloned();
            }
            return false;
        };
        oldest.wake();
        self.count(&state);
        true
    }

    fn count(&self, state: &State) {
        self.counts.client.idle.set(state.connections.len() as u64);
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entered<'_> {
    /// It is to close.
    pub(super) fn is_asked_to_close(&self) -> bool {
        !self.idle.locked().connections.contains_key(&self.number)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut state = self.idle.locked();
        state.connections.remove(&self.number);
        self.idle.count(&state);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_longest_idle_connection_is_closed_first() {
        let idle = Idle::default();
        let closing = |entered: &[Entered<'_>]| -> Vec<bool> {
            entered.iter().map(Entered::is_asked_to_close).collect()
        };
        let mut entered: Vec<_> = (0..4).map(|_| idle.enter(Waker::noop())).collect();
        assert_eq!(closing(&entered), [false; 4]);
        assert!(idle.close_oldest(None));
        assert_eq!(closing(&entered), [true, false, false, false]);
        assert!(idle.close_oldest(None));
        assert_eq!(closing(&entered), [true, true, false, false]);
        // One that has a request again is not idle any more.
        assert_eq!(idle.counts.client.idle.get(), 2);
        drop(entered.remove(2));
        assert_eq!(idle.counts.client.idle.get(), 1);
        assert!(idle.close_oldest(None));
        assert!(entered[2].is_asked_to_close());
        assert!(!idle.close_oldest(None));
    }

    #[test]
    fn the_acceptor_is_woken_by_the_next_idle_connection() {
        let (idle, woken) = (Idle::default(), Arc::new(Woken::default()));
        let acceptor = Waker::from(woken.clone());
        assert!(!idle.close_oldest(Some(&acceptor)));
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
        let entered = [idle.enter(Waker::noop()), idle.enter(Waker::noop())];
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert!(!entered[0].is_asked_to_close());
    }
}
