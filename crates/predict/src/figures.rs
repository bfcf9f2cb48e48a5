//! Response times as the five figures that are predicted, recorded and scored.

/// Milliseconds, but for the throughput.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    pub throughput_per_s: f64,
    pub mean_ms: f64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
}

impl Figures {
    /// Of response times in nanoseconds; `None` of none.
    #[must_use]
    pub fn of(response_ns: &[u64], throughput_per_s: f64) -> Option<Self> {
        let mut sorted = response_ns.to_vec();
        let count = sorted.len();
        if count == 0 {
            return None;
        }
        sorted.sort_unstable();
        // The nearest rank: the least time that so many do not exceed.
        let at = |q: f64| {
            let rank = ((q * count as f64).ceil() as usize).clamp(1, count);
            sorted[rank - 1] as f64 / 1e6
        };
        let sum: u128 = sorted.iter().map(|&ns| u128::from(ns)).sum();
        Some(Self {
            throughput_per_s,
            mean_ms: sum as f64 / count as f64 / 1e6,
            p50_ms: at(0.5),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
        })
    }

    /// In the order of their fields.
    #[must_use]
    pub fn values(&self) -> [f64; 5] {
        [
            self.throughput_per_s,
            self.mean_ms,
            self.p50_ms,
            self.p95_ms,
            self.p99_ms,
        ]
    }

    pub(crate) fn from_values(values: [f64; 5]) -> Self {
        let [throughput_per_s, mean_ms, p50_ms, p95_ms, p99_ms] = values;
        Self {
            throughput_per_s,
            mean_ms,
            p50_ms,
            p95_ms,
            p99_ms,
        }
    }

    /// Figure by figure.
    #[must_use]
    pub fn map(&self, mut with: impl FnMut(f64) -> f64) -> Self {
        Self::from_values(self.values().map(&mut with))
    }

    /// Both, figure by figure.
    #[must_use]
    pub fn zip(&self, other: &Self, with: impl Fn(f64, f64) -> f64) -> Self {
        let (own, others) = (self.values(), other.values());
        Self::from_values(std::array::from_fn(|at| with(own[at], others[at])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let times: Vec<u64> = (1..=200).rev().map(|n| n * 1_000_000).collect();
        let found = Figures::of(&times, 5.0).unwrap();
        assert_eq!(found.values(), [5.0, 100.5, 100.0, 190.0, 198.0]);
        assert_eq!(Figures::of(&[7_000_000], 1.0).unwrap().p99_ms, 7.0);
        assert_eq!(Figures::of(&[], 1.0), None);
    }
}
