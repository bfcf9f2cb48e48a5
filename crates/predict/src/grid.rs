//! Which configurations are tried by default.

use crate::{Bench, Point};

/// Beyond so many processes the machine is another one.
const MOST_PROCESSES: u16 = 8;
/// Thread counts that people run.
const THREADS: [u16; 9] = [1, 2, 3, 4, 5, 6, 8, 12, 16];

impl Bench {
    /// Process counts up to twice the cores, at most 8.
    #[must_use]
    pub fn usual_processes(&self) -> Vec<u16> {
        let most = (2.0 * self.machine().cores).round() as u16;
        let mut found: Vec<u16> = (1..=most.clamp(1, MOST_PROCESSES)).collect();
        found.push(self.application().traced().processes);
        sorted(found)
    }

    /// Thread counts up to twice T* = 1 + I/O / held, at least up to 3, and the traced one.
    #[must_use]
    pub fn usual_threads(&self) -> Vec<u16> {
        let traced = self.application().traced();
        let held_ms = traced.held_ms.max(1e-3);
        let useful = 2.0 * (1.0 + traced.io_ms / held_ms);
        let mut found: Vec<u16> = THREADS
            .into_iter()
            .filter(|&threads| threads <= 3 || f64::from(threads) <= useful)
            .collect();
        found.push(traced.threads);
        sorted(found)
    }

    /// All pairs; a server with one request per process has one thread each.
    #[must_use]
    pub fn points(&self, processes: &[u16], threads: &[u16]) -> Vec<Point> {
        let threads = match self.application().traced().server.has_threads() {
            true => threads,
            false => &[1],
        };
        let each = |&processes: &u16| {
            let of = move |&threads: &u16| Point { processes, threads };
            threads.iter().map(of)
        };
        processes.iter().flat_map(each).collect()
    }
}

fn sorted(mut counts: Vec<u16>) -> Vec<u16> {
    counts.sort_unstable();
    counts.dedup();
    counts
}
