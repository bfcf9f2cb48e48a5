//! Waiting until a freshly started tree has stopped using the processors.

use std::time::{Duration, Instant};

use crate::error::Died;
use crate::proc;
use crate::running::Running;

/// What counts as quiet, and how long to wait for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quiet {
    /// Processor time over wall time of the whole tree, in cores.
    pub below_cores: f64,
    /// One look; the kernel counts in hundredths of a second, so not less than 200 ms.
    pub window: Duration,
    /// Quiet windows in a row.
    pub windows: u32,
    pub at_most: Duration,
}

impl Default for Quiet {
    /// Two windows of 300 ms below 7 % of a core, within 10 s.
    fn default() -> Self {
        Quiet {
            below_cores: 0.07,
            window: Duration::from_millis(300),
            windows: 2,
            at_most: Duration::from_secs(10),
        }
    }
}

/// How the waiting ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settled {
    /// False: still busy at the end of the time, or cancelled.
    pub quiet: bool,
    /// The tree's use of the processors in the last window, in cores.
    pub last_cores: f64,
    pub waited: Duration,
}

impl Running {
    /// Waits until the server and its services are quiet.
    ///
    /// # Errors
    /// When the server dies meanwhile.
    pub fn settle(&self, quiet: &Quiet, cancel: &dyn Fn() -> bool) -> Result<Settled, Died> {
        let began = Instant::now();
        let mut in_a_row = 0;
        let mut last_cores = f64::NAN;
        let mut before = self.cpu_s();
        while in_a_row < quiet.windows && began.elapsed() < quiet.at_most && !cancel() {
            let window_began = Instant::now();
            self.wait_for_death(quiet.window);
            self.alive()?;
            let now = self.cpu_s();
            // Falls when a child with time of its own ends.
            last_cores = (now - before).max(0.0) / window_began.elapsed().as_secs_f64();
            before = now;
            in_a_row = if last_cores < quiet.below_cores {
                in_a_row + 1
            } else {
                0
            };
        }
        Ok(Settled {
            quiet: in_a_row >= quiet.windows,
            last_cores,
            waited: began.elapsed(),
        })
    }

    fn cpu_s(&self) -> f64 {
        let pids = proc::descendants(self.guard_pid());
        pids.into_iter()
            .filter_map(proc::stat)
            .map(|stat| stat.cpu_s)
            .sum()
    }
}
