//! One number that many threads count in.

use std::sync::atomic::{AtomicU64, Ordering};

/// One counter, which only grows; or one gauge.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// One more.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Of a gauge: so many less.
    pub fn take(&self, n: u64) {
        self.0.fetch_sub(n, Ordering::Relaxed);
    }

    /// Of a gauge: so many more, unless it would then stand above `most`.
    #[must_use]
    pub fn try_add(&self, n: u64, most: u64) -> bool {
        let more = |now: u64| now.checked_add(n).filter(|then| *then <= most);
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }

    /// Of a gauge: from now on this.
    pub fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    /// As it stands.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
