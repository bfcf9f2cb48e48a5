//! How long this process was kept from the processors while a test ran. What a
//! busy neighbour does to a run is no fault of what is tested: it widens what
//! is expected by as much, and by no more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const NAP: Duration = Duration::from_millis(1);

/// Naps all the time, and notes by how much each nap was overslept.
pub struct Watch {
    ending: Arc<AtomicBool>,
    sleeper: JoinHandle<Vec<Duration>>,
}

impl Watch {
    pub fn begin() -> Self {
        let ending = Arc::new(AtomicBool::new(false));
        let sleeper = std::thread::spawn({
            let ending = ending.clone();
            move || {
                let mut overslept = Vec::new();
                while !ending.load(Ordering::SeqCst) {
                    let before = Instant::now();
                    std::thread::sleep(NAP);
                    let late = before.elapsed().saturating_sub(NAP);
                    if late > NAP {
                        overslept.push(late);
                    }
                }
                overslept
            }
        });
        Self { ending, sleeper }
    }

    pub fn end(self) -> HeldUp {
        self.ending.store(true, Ordering::SeqCst);
        HeldUp(self.sleeper.join().unwrap())
    }
}

/// The times for which the process was held up, naps of ordinary length left out.
#[derive(Debug)]
pub struct HeldUp(Vec<Duration>);

impl HeldUp {
    pub fn total(&self) -> Duration {
        self.0.iter().sum()
    }

    /// How many were longer than that.
    pub fn longer_than(&self, limit: Duration) -> usize {
        self.0.iter().filter(|held_up| **held_up > limit).count()
    }
}
