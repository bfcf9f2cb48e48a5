//! The memory of a command's processes, once a second from its first second to its end.

use host::memory::{rss_tree, sample_tree};
use host::{HostError, Tree};
use run::MemorySample;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// From one sample to the next.
pub const EVERY: Duration = Duration::from_secs(1);

/// PSS may take this share of the time: reading it holds each process's memory map for 9 ms a resident GB.
const PSS_SHARE: u32 = 50;

/// Samples the tree until the other end of `stopped` is let go of. `look` is called with each sample, for what else is to
/// be seen of the processes then.
pub fn sample(
    tree: &Tree,
    began: Instant,
    stopped: &Receiver<()>,
    mut look: impl FnMut(),
) -> Vec<MemorySample> {
    let mut samples = Vec::new();
    let mut due = began + EVERY;
    let mut pss_due = due;
    loop {
        let wait = due.saturating_duration_since(Instant::now());
        match stopped.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return samples,
        }
        let at = Instant::now();
        let (taken, pss_took) = one(tree, at.duration_since(began), at >= pss_due);
        if let Some(took) = pss_took {
            pss_due = at + took * PSS_SHARE;
        }
        samples.extend(taken);
        look();
        // Those that are overdue are left out: a slow host is not kept busy by them.
        while due <= Instant::now() {
            due += EVERY;
        }
    }
}

/// One sample, and how long reading PSS took. None once the processes have ended, or where `/proc` says nothing.
fn one(tree: &Tree, at: Duration, with_pss: bool) -> (Option<MemorySample>, Option<Duration>) {
    let began = Instant::now();
    let pss = with_pss.then(|| pss(tree));
    let took = pss.is_some().then(|| began.elapsed());
    let Some(rss_bytes) = rss_tree(tree.clone()).ok().filter(|bytes| *bytes > 0) else {
        return (None, took);
    };
    let sample = MemorySample {
        at_s: at.as_secs_f64(),
        rss_bytes,
        pss_bytes: pss.and_then(Result::ok).flatten(),
    };
    (Some(sample), took)
}

/// A process that cannot be read would make the tree look smaller than it is.
fn pss(tree: &Tree) -> Result<Option<u64>, HostError> {
    let memory = sample_tree(tree.clone())?;
    let whole = memory.unreadable.is_empty() && memory.pss_bytes > 0;
    Ok(whole.then_some(memory.pss_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn the_first_sample_is_of_the_first_second_and_the_last_before_the_end() {
        let (stop, stopped) = channel();
        let began = Instant::now();
        let mut seen = 0;
        let mut stop = Some(stop);
        let samples = sample(&Tree::from(std::process::id()), began, &stopped, || {
            seen += 1;
            if seen == 2 {
                stop.take();
            }
        });
        assert_eq!((samples.len(), seen), (2, 2));
        assert!(samples[0].at_s >= 1.0 && samples[1].at_s - samples[0].at_s > 0.5);
        assert!(samples.iter().all(|s| s.rss_bytes > 0));
        assert!(
            samples[0]
                .pss_bytes
                .is_some_and(|pss| pss <= samples[0].rss_bytes)
        );
    }

    #[test]
    fn a_tree_that_has_ended_is_no_sample() {
        let gone = Tree::from(u32::MAX >> 1);
        assert_eq!(one(&gone, Duration::ZERO, true).0, None);
    }
}
