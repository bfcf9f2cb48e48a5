//! The contract's histogram of times: four buckets for every power of two of microseconds.

/// Buckets in a histogram.
pub const BUCKETS: usize = 128;

/// Counts of times. A bucket is at most 25 % wide (below 4 µs: one microsecond wide), the last one
/// holds everything from 7.5 × 10⁹ µs on.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; BUCKETS],
}

impl Histogram {
    /// Reads little-endian u32 counts; counts that are not there are zero.
    pub(crate) fn from_le_bytes(bytes: &[u8]) -> Self {
        let mut counts = [0; BUCKETS];
        for (count, chunk) in counts.iter_mut().zip(bytes.chunks_exact(4)) {
            *count = u64::from(u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]));
        }
        Self { counts }
    }

    /// The bucket that a time belongs to, 0 to 127.
    #[must_use]
    pub fn bucket_of(ns: u64) -> usize {
        let micros = ns / 1_000;
        if micros < 4 {
            return micros as usize;
        }
        let exponent = micros.ilog2() as usize;
        let quarter = (micros >> (exponent - 2)) & 3;
        (4 * (exponent - 1) + quarter as usize).min(BUCKETS - 1)
    }

    /// The first nanosecond above a bucket: every time in it is smaller, save in the last bucket,
    /// which is open. Buckets above 127 are taken as 127.
    #[must_use]
    pub fn upper_edge_ns(bucket: usize) -> u64 {
        let bucket = bucket.min(BUCKETS - 1) as u64;
        if bucket < 4 {
            return (bucket + 1) * 1_000;
        }
        let exponent = bucket / 4 + 1;
        ((5 + bucket % 4) << (exponent - 2)) * 1_000
    }

    /// Adds counts of a bucket; one above 127 is taken as 127.
    pub fn add(&mut self, bucket: usize, count: u64) {
        let slot = &mut self.counts[bucket.min(BUCKETS - 1)];
        *slot = slot.saturating_add(count);
    }

    /// Counts per bucket.
    #[must_use]
    pub fn counts(&self) -> &[u64; BUCKETS] {
        &self.counts
    }

    /// All times counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &n| sum.saturating_add(n))
    }

    /// Counts one time.
    pub fn record(&mut self, ns: u64) {
        let slot = &mut self.counts[Self::bucket_of(ns)];
        *slot = slot.saturating_add(1);
    }

    /// The time in nanoseconds that at least a share `q` (0 to 1, clamped) of all times do not
    /// exceed: the upper edge of the bucket that holds the ⌈q n⌉-th smallest. So it is never below
    /// the true quantile and at most 25 % above it (below 4 µs: at most 1 µs above), unless that lies
    /// in the open last bucket, beyond two hours. `None` when nothing was counted.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let count = self.count();
        if count == 0 || q.is_nan() {
            return None;
        }
        let rank = ((q.clamp(0.0, 1.0) * count as f64).ceil() as u64).clamp(1, count);
        let mut seen = 0_u64;
        let bucket = self.counts.iter().position(|&n| {
            seen = seen.saturating_add(n);
            seen >= rank
        })?;
        Some(Self::upper_edge_ns(bucket))
    }

    /// What was counted since `before` was read from the same file; never below zero.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.zip(before, u64::saturating_sub)
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.zip(other, u64::saturating_add)
    }

    fn zip(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        let mut counts = self.counts;
        for (mine, &theirs) in counts.iter_mut().zip(&other.counts) {
            *mine = combine(*mine, theirs);
        }
        Self { counts }
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: [0; BUCKETS],
        }
    }
}

impl std::fmt::Debug for Histogram {
    /// Only the buckets that hold something.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let filled = self.counts.iter().enumerate().filter(|(_, n)| **n > 0);
        f.debug_map().entries(filled).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_are_those_of_the_contract() {
        let examples = [
            (0, 0),
            (999, 0),
            (3_999, 3),
            (4_000, 4),
            (7_999, 7),
            (8_000, 8),
            (9_999, 8),
            (10_000, 9),
            (1_000_000, 35),
            (8_589_934_591_999, 127),
            (u64::MAX, 127),
        ];
        for (ns, bucket) in examples {
            assert_eq!(Histogram::bucket_of(ns), bucket, "{ns} ns");
        }
    }

    #[test]
    fn nothing_counted_has_no_quantile() {
        assert_eq!(Histogram::default().quantile_ns(0.5), None);
        let mut one = Histogram::default();
        one.record(5_000);
        assert_eq!(one.quantile_ns(f64::NAN), None);
        assert_eq!(one.quantile_ns(-1.0), Some(6_000));
    }

    proptest! {
        #[test]
        fn edges_enclose_the_bucket(ns in 0_u64..8_000_000_000_000) {
            let bucket = Histogram::bucket_of(ns);
            prop_assert!(ns < Histogram::upper_edge_ns(bucket));
            if bucket > 0 {
                prop_assert!(ns >= Histogram::upper_edge_ns(bucket - 1));
            }
        }

        #[test]
        fn quantile_is_within_a_bucket_of_the_sorted_truth(
            mut times in proptest::collection::vec(0_u64..10_000_000_000, 1..200),
            q in 0.0_f64..=1.0,
        ) {
            let mut histogram = Histogram::default();
            times.iter().for_each(|&ns| histogram.record(ns));
            times.sort_unstable();
            let rank = ((q * times.len() as f64).ceil() as usize).clamp(1, times.len());
            let truth = times[rank - 1];
            let answer = histogram.quantile_ns(q).unwrap();
            prop_assert!(answer > truth);
            prop_assert!(answer <= (truth + truth / 4 + 1_000).max(truth + 1_000), "{answer} {truth}");
        }
    }
}
