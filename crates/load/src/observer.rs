//! How a caller follows a run and ends it early.

use std::ops::ControlFlow;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::course::Interval;
use crate::errors::Errors;
use crate::outcome::{Counts, Slice};

/// The state of a run at the end of a slice.
#[derive(Debug)]
pub struct Progress<'a> {
    /// Since the start of the window.
    pub elapsed: Duration,
    /// The slice that has just ended.
    pub slice: &'a Slice,
    /// The histograms of that slice alone: for an interval log. Copy them, or
    /// merge them into one's own, and serialise elsewhere.
    pub interval: &'a Interval,
    /// So far.
    pub counts: &'a Counts,
    /// So far.
    pub errors: &'a Errors,
    /// So far; see [`crate::Outcome::response`].
    pub response: &'a Histogram<u64>,
    /// Requests under way.
    pub in_flight: usize,
    /// Age of the oldest request that is due and has not been started.
    pub behind: Duration,
    /// The window is over; answers still due are awaited.
    pub draining: bool,
}

/// Called on the generator's thread: what it does delays requests, so it
/// should take microseconds.
pub trait Observer {
    /// A slice has ended, the last one too. `Break` ends the window; requests that fell due are
    /// still answered, as at the window's planned end.
    fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        let _ = progress;
        ControlFlow::Continue(())
    }

    /// Asked at least every 100 ms; true ends the run at once, without
    /// waiting for answers.
    fn cancelled(&mut self) -> bool {
        false
    }

    /// Asked as `cancelled`, from the first answer on that sent the client to an `https://` URL though the workload does
    /// not say so.
    fn cancelled_at_https(&mut self) -> bool {
        false
    }
}

/// Lets the run take its course.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Observer for Silent {}
