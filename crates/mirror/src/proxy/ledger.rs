//! One request's line in the books: it ends in exactly one place, also when its
//! task is dropped.

use std::fmt::Display;

use crate::cause::Cause;
use crate::counts::Counts;

/// A request under way.
pub(super) struct Entry<'c> {
    counts: &'c Counts,
    open: bool,
}

impl<'c> Entry<'c> {
    /// Received.
    pub(super) fn open(counts: &'c Counts) -> Self {
        counts.client.received.add(1);
        Self { counts, open: true }
    }

    pub(super) fn answered(mut self) {
        self.open = false;
        self.counts.client.answered.add(1);
    }

    /// Failed or aborted.
    pub(super) fn ended(mut self, cause: Cause) {
        self.open = false;
        self.counts.client.causes.add(cause);
    }

    /// The same, with words for the log.
    pub(super) fn ended_with(mut self, cause: Cause, words: &dyn Display) {
        self.open = false;
        let causes = &self.counts.client.causes;
        causes.add_with(cause, words);
    }
}

impl Drop for Entry<'_> {
    /// The task was dropped in the middle of it.
    fn drop(&mut self) {
        if self.open {
            self.counts.client.causes.add(Cause::Drain);
        }
    }
}

/// A connection that is open.
pub(super) struct Presence<'c>(&'c Counts);

impl<'c> Presence<'c> {
    pub(super) fn new(counts: &'c Counts) -> Self {
        counts.client.open.add(1);
        Self(counts)
    }
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.0.client.open.take(1);
    }
}
