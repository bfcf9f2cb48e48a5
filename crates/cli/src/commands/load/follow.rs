//! Follows a run on the generator's thread: takes what an interval brought and hands it on, so that neither a slow
//! terminal nor a slow disk holds up a request.

use super::hdr_log::Entry;
use super::interval::Interval;
use crate::signals::Signals;
use load::{Counts, Errors, Observer, Progress};
use std::ops::ControlFlow;
use std::sync::mpsc::Sender;
use std::time::{Duration, SystemTime};

/// Watches one window.
#[derive(Debug)]
pub struct Follow<'a> {
    signals: &'a Signals,
    to: &'a Sender<Interval>,
    log: Option<&'a Sender<Entry>>,
    began: Option<SystemTime>,
    reached: bool,
    /// Ends the run at the first answer that redirects to https; in the first interval only.
    looks: bool,
    redirected: bool,
}

impl<'a> Follow<'a> {
    /// Hands intervals to the reporter, and their histograms to the log.
    pub fn new(
        signals: &'a Signals,
        to: &'a Sender<Interval>,
        log: Option<&'a Sender<Entry>>,
    ) -> Follow<'a> {
        Follow {
            signals,
            to,
            log,
            began: None,
            reached: true,
            looks: false,
            redirected: false,
        }
    }

    /// Ends the run, before anything of it is handed on, where its first answers lead to https.
    pub fn look_for_https(&mut self, looks: bool) {
        self.looks = looks;
        self.redirected = false;
    }

    /// The run was ended because it was redirected to https.
    pub fn redirected(&self) -> bool {
        self.redirected
    }

    /// False when the run was ended because no server could be reached.
    pub fn reached(&self) -> bool {
        self.reached
    }
}

/// Whether all that happened so far is that connections failed.
fn unreachable(counts: &Counts, errors: &Errors) -> bool {
    let refused = errors.connect_refused + errors.connect_failed + errors.tls_failed;
    counts.sent == 0 && refused > 0 && refused == errors.total()
}

impl Observer for Follow<'_> {
    fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        if self.redirected {
            return ControlFlow::Break(());
        }
        self.looks = false;
        let slice = progress.slice;
        let response = &progress.interval.response;
        // The receiver is gone only when a thread failed, which is reported at the end.
        let _ = self.to.send(Interval {
            elapsed: progress.elapsed,
            slice: *slice,
            p90_us: response.value_at_quantile(0.9),
            max_us: response.max(),
            requests: progress.counts.scheduled,
            behind: progress.behind,
            draining: progress.draining,
        });
        if let Some(log) = self.log {
            let began = *self
                .began
                .get_or_insert_with(|| SystemTime::now() - progress.elapsed);
            let _ = log.send(Entry {
                began,
                start: Duration::from_nanos(slice.start_ns),
                length: Duration::from_nanos(slice.length_ns),
                response: response.clone(),
                service: progress.interval.service.clone(),
            });
        }
        // A wrong port is reported at once; a server that was there and went away is measured.
        if unreachable(progress.counts, progress.errors) {
            self.reached = false;
        }
        ControlFlow::Continue(())
    }

    fn cancelled(&mut self) -> bool {
        !self.reached || self.signals.received().is_some()
    }

    fn cancelled_at_https(&mut self) -> bool {
        self.redirected |= self.looks;
        self.redirected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreachable_is_when_every_connection_failed_from_the_start() {
        let (mut counts, mut errors) = (Counts::default(), Errors::default());
        assert!(!unreachable(&counts, &errors), "nothing happened yet");
        errors.connect_refused = 3;
        assert!(unreachable(&counts, &errors));
        counts.sent = 1;
        assert!(!unreachable(&counts, &errors), "it was there before");
        counts.sent = 0;
        errors.timeout = 1;
        assert!(!unreachable(&counts, &errors), "somebody listens");
    }
}
