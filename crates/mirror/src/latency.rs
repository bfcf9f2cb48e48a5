//! Durations, counted by powers of two: any thread adds to them without waiting.

use std::time::Duration;

use serde::Serialize;

use crate::count::Count;

/// One for each bound of [`exposition::EXPONENTS`], and one beyond.
const BUCKETS: usize = (exposition::EXPONENTS.end - exposition::EXPONENTS.start) as usize + 1;

/// A histogram.
#[derive(Debug, Default)]
pub struct Latency {
    buckets: [Count; BUCKETS],
    sum_ns: Count,
}

/// It at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LatencySnapshot {
    /// How many.
    pub count: u64,
    /// All of them together.
    pub sum_ns: u64,
    /// Those in each bucket, without those below it.
    #[serde(skip)]
    buckets: [u64; BUCKETS],
}

impl Latency {
    /// One more.
    pub(crate) fn add(&self, took: Duration) {
        self.buckets[bucket(took)].add(1);
        self.sum_ns
            .add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn snapshot(&self) -> LatencySnapshot {
        let buckets = std::array::from_fn(|index| self.buckets[index].get());
        LatencySnapshot {
            count: buckets.iter().sum(),
            sum_ns: self.sum_ns.get(),
            buckets,
        }
    }
}

impl LatencySnapshot {
    /// How many are at or below 2 to this power of a microsecond.
    pub(crate) fn up_to(&self, exponent: u32) -> u64 {
        let index = exponent.saturating_sub(exposition::EXPONENTS.start) as usize;
        self.buckets[..=index].iter().sum()
    }
}

/// The first whose bound is not exceeded.
fn bucket(took: Duration) -> usize {
    let us = took.as_nanos().div_ceil(1000).max(1);
    // The least power of two that is not below it.
    let exponent = u128::BITS - (us - 1).leading_zeros();
    let index = exponent.saturating_sub(exposition::EXPONENTS.start) as usize;
    index.min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let latency = Latency::default();
        let first = Duration::from_micros(256);
        for took in [
            Duration::ZERO,
            first,
            first + Duration::from_nanos(1),
            2 * first,
            Duration::from_micros(1 << 25),
            Duration::from_micros(1 << 25) + Duration::from_nanos(1),
            Duration::from_secs(1 << 40),
        ] {
            latency.add(took);
        }
        let found = latency.snapshot();
        assert_eq!(
            [8, 9, 10, 24, 25].map(|exponent| found.up_to(exponent)),
            [2, 4, 4, 4, 5]
        );
        assert_eq!(found.count, 7);
    }
}
