//! What a run says of one interval while it goes on.

use load::Slice;
use std::time::Duration;

/// What one interval brought.
#[derive(Debug, Clone, Copy)]
pub struct Interval {
    /// Since the start of the window.
    pub elapsed: Duration,
    /// Its figures.
    pub slice: Slice,
    /// 90th percentile of its response times.
    pub p90_us: u64,
    /// The largest of them.
    pub max_us: u64,
    /// Requests that fell due so far.
    pub requests: u64,
    /// How long the oldest request that is due has been waiting to be sent.
    pub behind: Duration,
    /// The window is over.
    pub draining: bool,
}
