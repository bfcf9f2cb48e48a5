//! A thread that works until the command ends, and is waited for then.

use crate::signals::LOOK;
use crate::{Failure, output};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The thread.
#[derive(Debug)]
pub struct Background {
    thread: JoinHandle<()>,
    /// Dropped, it asks for the end.
    goes_on: mpsc::Sender<()>,
    limit: Duration,
    given_up: String,
}

impl Background {
    /// Starts it. It ends when nothing more can be received. At the end it is waited for no longer than `limit`, then `given_up` is said.
    pub fn started(
        name: &str,
        limit: Duration,
        given_up: String,
        work: impl FnOnce(&mpsc::Receiver<()>) + Send + 'static,
    ) -> Result<Background, Failure> {
        let (goes_on, end) = mpsc::channel();
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || work(&end));
        let thread =
            thread.map_err(|e| Failure::broken(format!("no thread can be started: {e}")))?;
        Ok(Background {
            thread,
            goes_on,
            limit,
            given_up,
        })
    }

    /// Waits for its last work.
    pub fn end(self) {
        drop(self.goes_on);
        let deadline = Instant::now() + self.limit;
        while !self.thread.is_finished() {
            if Instant::now() >= deadline {
                output::error(&self.given_up);
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}
