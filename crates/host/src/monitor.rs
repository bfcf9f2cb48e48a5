//! Samples a process tree while something else is going on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::cpu::{TreeCpu, cpu_in};
use crate::error::HostError;
use crate::memory::{rss_in, sample_in};
use crate::tree::Tree;

/// The shortest interval between samples; a shorter one would measure the monitor.
pub const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);
/// PSS is taken with every so many samples unless asked otherwise.
pub const PSS_EVERY: u32 = 10;

/// A tree at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// `CLOCK_MONOTONIC` when the sample began, comparable with flight records.
    pub at_mono_ns: u64,
    /// Shared pages counted once per process.
    pub rss_bytes: u64,
    /// Taken with some samples only.
    pub pss_bytes: Option<u64>,
    /// Taken with PSS: processes whose memory may not be looked at, which PSS lacks.
    pub unreadable: usize,
    /// Since the processes began, the dead included.
    pub cpu: TreeCpu,
}

/// A thread that samples a tree until it is stopped, the tree's root ends, or this handle is dropped.
#[derive(Debug)]
pub struct Monitor {
    stop: Option<Sender<()>>,
    taken: Arc<AtomicUsize>,
    thread: Option<JoinHandle<Vec<Sample>>>,
}

impl Monitor {
    /// Starts sampling now and `every` so often (10 ms at least), with PSS in every tenth sample.
    ///
    /// # Errors
    /// [`HostError::Gone`] when the root does not exist; when no thread can be started.
    pub fn start(tree: impl Into<Tree>, every: Duration) -> Result<Self, HostError> {
        Self::start_with(tree, every, PSS_EVERY)
    }

    /// Like [`Monitor::start`], with PSS in every `pss_every`-th sample; 0 for the first and last alone.
    ///
    /// # Errors
    /// As for [`Monitor::start`].
    pub fn start_with(
        tree: impl Into<Tree>,
        every: Duration,
        pss_every: u32,
    ) -> Result<Self, HostError> {
        let tree = tree.into();
        let taken = Arc::new(AtomicUsize::new(0));
        let sampler = Sampler {
            root_start_ticks: tree.root_stat()?.start_ticks,
            tree,
            every: every.max(SHORTEST_INTERVAL),
            pss_every,
            taken: Arc::clone(&taken),
        };
        let (stop, stopped) = channel();
        let thread = Builder::new()
            .name("host-monitor".to_owned())
            .spawn(move || sampler.run(&stopped))
            .map_err(|source| HostError::Thread { source })?;
        Ok(Self {
            stop: Some(stop),
            taken,
            thread: Some(thread),
        })
    }

    /// Samples so far, to see it at work.
    #[must_use]
    pub fn samples_taken(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }

    /// Takes a last sample, with PSS, and gives back all, in order of time. When the root ended earlier
    /// they end there.
    #[must_use]
    pub fn stop(mut self) -> Vec<Sample> {
        self.finish().unwrap_or_default()
    }

    /// Lets go of the channel, for which the thread is waiting, and awaits its end.
    fn finish(&mut self) -> Option<Vec<Sample>> {
        drop(self.stop.take());
        self.thread.take()?.join().ok()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.finish();
    }
}

struct Sampler {
    tree: Tree,
    /// Distinguishes the root from a later process with its pid.
    root_start_ticks: u64,
    every: Duration,
    pss_every: u32,
    taken: Arc<AtomicUsize>,
}

impl Sampler {
    fn run(&self, stopped: &Receiver<()>) -> Vec<Sample> {
        let mut samples = Vec::new();
        let mut due = Instant::now();
        for number in 0_u32.. {
            let with_pss = number.checked_rem(self.pss_every).unwrap_or(number) == 0;
            match self.sample(with_pss) {
                Ok(sample) => {
                    samples.push(sample);
                    self.taken.store(samples.len(), Ordering::Release);
                }
                Err(_) if !self.root_lives() => return samples,
                // One reading failed, the next may not.
                Err(_) => {}
            }
            // Samples that are overdue are left out, so that a slow host is not kept busy by them.
            due = (due + self.every).max(Instant::now());
            let wait = due.saturating_duration_since(Instant::now());
            match stopped.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        samples.extend(self.sample(true));
        samples
    }

    fn sample(&self, with_pss: bool) -> Result<Sample, HostError> {
        let at_mono_ns = monotonic_ns();
        self.expect_root()?;
        // Walked once, so that all figures are of the same processes.
        let pids = self.tree.pids()?;
        let memory = with_pss.then(|| sample_in(&self.tree, &pids)).transpose()?;
        let sample = Sample {
            at_mono_ns,
            rss_bytes: rss_in(&self.tree, &pids)?,
            pss_bytes: memory.as_ref().map(|m| m.pss_bytes),
            unreadable: memory.map_or(0, |m| m.unreadable.len()),
            cpu: cpu_in(&self.tree, &pids)?,
        };
        self.expect_root()?;
        Ok(sample)
    }

    fn expect_root(&self) -> Result<(), HostError> {
        let pid = self.tree.root();
        self.root_lives()
            .then_some(())
            .ok_or(HostError::Gone { pid })
    }

    fn root_lives(&self) -> bool {
        let stat = self.tree.root_stat();
        stat.is_ok_and(|stat| !stat.ended && stat.start_ticks == self.root_start_ticks)
    }
}

/// `CLOCK_MONOTONIC`, as the agent's records have it.
fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
