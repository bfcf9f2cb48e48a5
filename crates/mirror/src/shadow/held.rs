//! The bytes that shadows hold, all together and of all generations of
//! settings: never more than the limit.

use std::sync::Arc;

use crate::counts::Counts;

/// Some of the bytes; given back when dropped.
#[derive(Debug)]
pub(crate) struct Held {
    counts: Arc<Counts>,
    most: u64,
    bytes: u64,
}

impl Held {
    /// Nothing yet.
    pub(crate) fn nothing(counts: Arc<Counts>, limit_bytes: usize) -> Self {
        Self {
            counts,
            most: limit_bytes as u64,
            bytes: 0,
        }
    }

    /// So many, or `None` where they are not to be had.
    pub(crate) fn new(counts: &Arc<Counts>, limit_bytes: usize, bytes: usize) -> Option<Self> {
        let mut held = Self::nothing(counts.clone(), limit_bytes);
        held.grow(bytes).then_some(held)
    }

    /// So many more, if they are to be had.
    #[must_use]
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let granted = self.counts.held_bytes.try_add(bytes as u64, self.most);
        if granted {
            self.bytes += bytes as u64;
        }
        granted
    }

    /// No more than so many: the rest is given back.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let excess = self.bytes.saturating_sub(bytes as u64);
        self.counts.held_bytes.take(excess);
        self.bytes -= excess;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.counts.held_bytes.take(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_never_passes_the_limit_and_comes_back() {
        let counts = Arc::new(Counts::default());
        let mut first = Held::new(&counts, 100, 60).unwrap();
        assert!(Held::new(&counts, 100, 41).is_none());
        let second = Held::new(&counts, 100, 40).unwrap();
        assert!(!first.grow(1));
        first.shrink_to(10);
        assert_eq!(counts.held_bytes.get(), 50);
        assert!(first.grow(50));
        assert_eq!(counts.held_bytes.get(), 100);
        drop((first, second));
        assert_eq!(counts.held_bytes.get(), 0);
    }
}
