//! Response times by their size, in fixed relative steps and only as many as are used; those of failures are infinite.

use crate::windows::Join;

/// Each bucket is this much wider than the one before, as a logarithm: 2 %. Percentiles are interpolated inside.
const STEP: f64 = 0.02;

/// The first bucket begins here; what is shorter falls into it.
const LEAST_NS: f64 = 1_000.0;

/// A distribution of times.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Histogram {
    /// Bucket and count, in order.
    used: Vec<(u16, u32)>,
    infinite: u64,
    count: u64,
}

impl Histogram {
    /// One more time.
    pub fn add(&mut self, ns: u64) {
        let steps = (ns as f64 / LEAST_NS).max(1.0).ln() / STEP;
        self.put(steps as u16, 1);
        self.count += 1;
    }

    /// One that never came.
    pub fn add_infinite(&mut self) {
        self.infinite += 1;
        self.count += 1;
    }

    /// How many times, the infinite ones included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The time that a share `q` of all does not exceed, ns; `None` when it is infinite or there are no times.
    pub fn quantile_ns(&self, q: f64) -> Option<f64> {
        let wanted = q * self.count as f64;
        let mut below = 0.0;
        for &(bucket, count) in &self.used {
            let within = (wanted - below) / f64::from(count);
            // A hair of rounding must not carry a whole rank into the next bucket.
            if within <= 1.0 + 1e-9 {
                let steps = f64::from(bucket) + within.max(0.0);
                return Some(LEAST_NS * (steps * STEP).exp());
            }
            below += f64::from(count);
        }
        None
    }

    fn put(&mut self, bucket: u16, count: u32) {
        match self.used.binary_search_by_key(&bucket, |(b, _)| *b) {
            Ok(at) => self.used[at].1 = self.used[at].1.saturating_add(count),
            Err(at) => self.used.insert(at, (bucket, count)),
        }
    }
}

impl Join for Histogram {
    fn join(&mut self, next: &Histogram) {
        for &(bucket, count) in &next.used {
            self.put(bucket, count);
        }
        self.infinite += next.infinite;
        self.count += next.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Never further from the nearest rank than two buckets.
        #[test]
        fn quantiles_are_near_those_of_the_sorted_times(
            mut times in prop::collection::vec(1_000..5_000_000_000_u64, 1..200),
            failures in 0..20_usize, q in 0.01..0.999_f64, cut in 0..200_usize,
        ) {
            let (mut first, mut second) = (Histogram::default(), Histogram::default());
            for (nth, time) in times.iter().enumerate() {
                if nth < cut { first.add(*time) } else { second.add(*time) }
            }
            (0..failures).for_each(|_| second.add_infinite());
            first.join(&second);
            times.sort_unstable();
            let count = times.len() + failures;
            prop_assert_eq!(first.count(), count as u64);
            let rank = ((q * count as f64).ceil() as usize).max(1);
            match first.quantile_ns(q) {
                Some(found) => {
                    let exact = times[rank.min(times.len()) - 1] as f64;
                    prop_assert!((found / exact).ln().abs() <= 2.0 * STEP, "{} {}", found, exact);
                }
                None => prop_assert!(rank > times.len()),
            }
        }
    }

    #[test]
    fn nothing_has_no_quantile_and_a_failure_an_infinite_one() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_ns(0.5), None);
        histogram.add(5_000_000);
        histogram.add_infinite();
        assert!(histogram.quantile_ns(0.4).is_some());
        assert_eq!(histogram.quantile_ns(0.9), None);
    }
}
