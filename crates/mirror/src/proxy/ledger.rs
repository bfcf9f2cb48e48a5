//! One request's line in the books: it ends in exactly one place, also when its
//! task is dropped.

use crate::counts::{Count, Counts};

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

    pub(super) fn answered(self) {
        let count = &self.counts.client.answered;
        self.close(count);
    }

    pub(super) fn failed(self) {
        let count = &self.counts.client.failed;
        self.close(count);
    }

    fn close(mut self, count: &Count) {
        self.open = false;
        count.add(1);
    }
}

impl Drop for Entry<'_> {
    /// Neither answered nor failed: whoever asked has left, or was cut.
    fn drop(&mut self) {
        if self.open {
            self.counts.client.aborted.add(1);
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
