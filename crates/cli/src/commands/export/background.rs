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

    fn asked_to_end(self) -> Ending {
        drop(self.goes_on);
        Ending {
            thread: self.thread,
            deadline: Instant::now() + self.limit,
            given_up: self.given_up,
        }
    }
}

/// A thread that was asked to end.
struct Ending {
    thread: JoinHandle<()>,
    deadline: Instant,
    given_up: String,
}

impl Ending {
    /// Waits for its last work. `false` where that takes too long.
    fn wait(&self) -> bool {
        while !self.thread.is_finished() {
            if Instant::now() >= self.deadline {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }
}

/// Ends all of them. Their last work is done at the same time, so that the longest limit is the limit of all; what is given up is said.
pub fn end(all: impl Iterator<Item = Background>) {
    for given_up in unfinished(all) {
        output::error(&given_up);
    }
}

fn unfinished(all: impl Iterator<Item = Background>) -> Vec<String> {
    let asked: Vec<Ending> = all.map(Background::asked_to_end).collect();
    let unfinished = asked.into_iter().filter(|ending| !ending.wait());
    unfinished.map(|ending| ending.given_up).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Barrier};

    #[test]
    fn all_are_asked_before_one_is_waited_for() {
        let both = Arc::new(Barrier::new(2));
        let background = |name: &str| {
            let both = Arc::clone(&both);
            let limit = Duration::from_secs(30);
            let work = move |end: &mpsc::Receiver<()>| {
                end.recv().unwrap_err();
                both.wait();
            };
            Background::started(name, limit, name.to_owned(), work).unwrap()
        };
        let all = [background("one"), background("other")];
        assert!(unfinished(all.into_iter()).is_empty());
    }
}
