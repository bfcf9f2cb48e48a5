//! What a request or a job does for a part of its time in the application, in plain words.

use super::queue_cause;
use run::inspect::Traffic;

/// What it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    RunsRuby,
    WaitsForGvl,
    WaitsForLocks,
    WaitsForIo,
}

/// A part of its time.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    pub does: Does,
    /// Mean.
    pub ms: f64,
    /// Of its time in the application.
    pub share: f64,
    /// Whether threads that hold the GVL wait for a core.
    no_core: bool,
    /// Whether waits for locks are counted as I/O.
    locks_in_io: bool,
}

impl Part {
    /// The one that takes longest; `None` where the time is not split.
    pub fn largest(traffic: &Traffic) -> Option<Part> {
        let split = traffic.split.as_ref()?;
        let no_core = queue_cause::waits_for_core(traffic).is_some();
        let part = |does, ms, share| Part {
            does,
            ms,
            share,
            no_core,
            locks_in_io: split.lock_wait_ms.is_none(),
        };
        let locks = split.lock_wait_ms.zip(split.lock_wait_share);
        let (locks_ms, locks_share) = locks.unwrap_or_default();
        let parts = [
            part(Does::RunsRuby, split.held_ms, split.held_share),
            part(Does::WaitsForGvl, split.gvl_wait_ms, split.gvl_wait_share),
            part(Does::WaitsForLocks, locks_ms, locks_share),
            part(Does::WaitsForIo, split.io_ms, split.io_share),
        ];
        parts.into_iter().max_by(|a, b| a.share.total_cmp(&b.share))
    }

    /// What follows "it".
    pub fn words(self) -> &'static str {
        match (self.does, self.no_core) {
            (Does::RunsRuby, true) => "runs Ruby or waits for a core to run it",
            (Does::RunsRuby, false) => "runs Ruby",
            (Does::WaitsForGvl, true) => {
                "waits while other threads of its process hold the GVL, which lets one run Ruby at a time"
            }
            (Does::WaitsForGvl, false) => {
                "waits while other threads of its process run Ruby (the GVL lets one at a time)"
            }
            (Does::WaitsForLocks, _) => "waits for locks, queues or connections",
            (Does::WaitsForIo, _) if self.locks_in_io => {
                "waits for databases, services, disks or locks"
            }
            (Does::WaitsForIo, _) => "waits for databases, services and disks",
        }
    }

    /// What follows these words: what shortens it, and what does not.
    pub fn remedy(self) -> &'static str {
        match (self.does, self.no_core) {
            (Does::RunsRuby, true) => {
                ": faster code and more cores shorten it, more threads or processes do not."
            }
            (Does::RunsRuby, false) => {
                ": faster code shortens it, more threads do not. More processes on free cores serve more."
            }
            (Does::WaitsForGvl, true) => ": fewer threads a process, or more cores, shorten it.",
            (Does::WaitsForGvl, false) => {
                ": fewer threads a process, or more processes, shorten it."
            }
            (Does::WaitsForLocks, _) => {
                ": more threads make it longer. Look at the pools and at what holds the locks."
            }
            (Does::WaitsForIo, _) => ", while other threads can run: faster calls shorten it.",
        }
    }
}
