//! The shadows' half: gives copies of requests to shadows on a thread of its
//! own, reads what they answer and says in what that differs from the primary's
//! answer.
//!
//! Nothing here ever holds up a client. What the client's half calls decides by
//! a few atomics whether there is room, sends through a channel whose bound is
//! that decision, and returns. Room is counted in requests (for each shadow, its
//! queue and its connections) and in bytes (for all of them together); what
//! finds none is dropped there and counted by its cause.

mod connection;
mod core_wait;
mod difference;
mod endpoint;
mod exchange;
mod gate;
mod held;
mod lane;
mod learned;
mod pairing;
mod recent;
mod replaced;
mod request;
mod sample;
mod sessions;
#[cfg(test)]
mod tests_support;
mod thread;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use capture::Field;

use gate::{Gate, MOST_SHADOWS};
pub use pairing::Telling;

use crate::counts::Counts;
use crate::dialer::Dialer;
use crate::settings::Settings;
use crate::taken::{Admission, Head, PrimaryAnswer, Taken, Tap};
use crate::tls::TlsError;

/// Why shadows cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ShadowsError {
    /// One bit of a word each.
    #[error("{0} shadows: at most 64 can be served; leave some out")]
    TooMany(usize),
    /// There are no authorities to verify its certificate by.
    #[error("shadow {name}: {error}")]
    Tls {
        /// The shadow's name.
        name: String,
        /// What is missing.
        error: TlsError,
    },
    /// The system gave no thread, or none that can wait for sockets.
    #[error(
        "the shadows' thread could not be started: {0}; see the limits on processes and open files"
    )]
    Thread(std::io::Error),
}

/// Connections that are not there for clients, until it is dropped.
struct Reserved {
    connections: u64,
    counts: Arc<Counts>,
}

impl Reserved {
    fn new(connections: u64, counts: Arc<Counts>) -> Self {
        counts.shadow_connections.add(connections);
        Self {
            connections,
            counts,
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.counts.shadow_connections.take(self.connections);
    }
}

/// The shadows of one generation of settings. After a reload the next one may serve while this one finishes: what it
/// admitted comes back to it, whichever of them gets it first.
pub struct Shadows {
    gate: Arc<Gate>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Shadows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shadows").finish_non_exhaustive()
    }
}

impl Shadows {
    /// Starts the thread that serves them. Shadows that keep their names go on in their counts.
    ///
    /// # Errors
    ///
    /// More than 64 shadows, no authorities for one that is to be spoken to over TLS, or no thread.
    pub fn start(
        settings: &Settings,
        counts: &Arc<Counts>,
        telling: Telling,
    ) -> Result<Self, ShadowsError> {
        if settings.shadows.len() > MOST_SHADOWS {
            return Err(ShadowsError::TooMany(settings.shadows.len()));
        }
        let addressed = settings.shadows.iter().map(|shadow| {
            let dialer = Dialer::new(&shadow.upstream).map_err(|error| ShadowsError::Tls {
                name: shadow.name.clone(),
                error,
            })?;
            Ok((shadow.clone(), dialer))
        });
        let shadows = addressed.collect::<Result<Vec<_>, ShadowsError>>()?;
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        let gate = Arc::new(Gate::new(settings, counts.clone(), sender));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(ShadowsError::Thread)?;
        let for_thread = gate.clone();
        let reserved = Reserved::new(settings.shadow_connections(), counts.clone());
        let thread = std::thread::Builder::new()
            .name("shadows".into())
            .spawn(move || {
                thread::run(&runtime, for_thread, shadows, telling, receiver);
                // A name that is still being looked up must not hold up the end.
                runtime.shutdown_background();
                drop(reserved);
            });
        Ok(Self {
            gate,
            thread: Mutex::new(Some(thread.map_err(ShadowsError::Thread)?)),
        })
    }

    /// Admits nothing more, gives what is under way so long to end, and waits for that. Requests that have not
    /// ended then are counted and reported as ended with the mirror: afterwards every sampled request is answered,
    /// failed or dropped.
    pub fn stop(&self, within: Duration) {
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            self.gate.close(tokio::time::Instant::now() + within);
            // A thread that panicked has said so already.
            let _ = thread.join();
        }
    }
}

impl Drop for Shadows {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

impl Tap for Shadows {
    fn wants(&self, head: &Head<'_>) -> Option<Admission> {
        self.gate.admit(head)
    }

    fn taken(&self, request: Arc<Taken>) {
        if let Some(admitted) = &request.admission.0 {
            admitted.taken(&request);
        }
    }

    fn answering(&self, request: &Arc<Taken>, headers: &[Field]) {
        if let Some(admitted) = &request.admission.0 {
            admitted.answering(request, headers);
        }
    }

    fn answered(&self, request: &Arc<Taken>, answer: PrimaryAnswer) {
        if let Some(admitted) = &request.admission.0 {
            admitted.answered(request, answer);
        }
    }
}
