//! Percentiles: exact from times, or from a histogram.

use flight::Histogram;
use run::inspect::Times;

/// The place, from 0, of the ⌈q n⌉-th smallest of `n` (1 or more).
pub fn place(q: f64, n: usize) -> usize {
    ((q * n as f64).ceil() as usize).clamp(1, n) - 1
}

/// Exact ones; reorders `times`. `None` without times.
pub fn exact(times: &mut [u64], mean_ms: f64) -> Option<Times> {
    let n = times.len();
    if n == 0 {
        return None;
    }
    // Each selection leaves what is larger to its right, where the next one looks.
    let mut from = 0;
    let mut at = |q: f64| {
        let place = place(q, n);
        let (_, found, _) = times[from..].select_nth_unstable(place - from);
        let found = *found;
        from = place;
        Some(ms(found))
    };
    Some(Times {
        count: n as u64,
        mean_ms,
        p50_ms: at(0.5),
        p90_ms: at(0.9),
        p99_ms: at(0.99),
        max_ms: at(1.0),
        exact: true,
    })
}

/// Those of a histogram: upper edges of its buckets.
pub fn bounded(histogram: &Histogram, count: u64, mean_ms: f64) -> Times {
    let at = |q: f64| histogram.quantile_ns(q).map(ms);
    Times {
        count,
        mean_ms,
        p50_ms: at(0.5),
        p90_ms: at(0.9),
        p99_ms: at(0.99),
        max_ms: at(1.0),
        exact: false,
    }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_sorting(times: &[u64], q: f64) -> Option<f64> {
        let mut sorted = times.to_vec();
        sorted.sort();
        let least = sorted.iter().enumerate().find(|(at, _)| {
            // The first that at least the share q does not exceed.
            (at + 1) as f64 >= q * sorted.len() as f64
        });
        least.map(|(_, ns)| *ns as f64 / 1e6)
    }

    #[test]
    fn of_nothing_there_are_none() {
        assert_eq!(exact(&mut [], 0.0), None);
        let none = bounded(&Histogram::default(), 3, 1.5);
        assert_eq!((none.p50_ms, none.max_ms, none.mean_ms), (None, None, 1.5));
    }

    proptest! {
        #[test]
        fn exact_ones_are_those_of_sorting(times in proptest::collection::vec(0_u64..50, 1..300)) {
            let found = exact(&mut times.clone(), 0.0).unwrap();
            prop_assert_eq!(found.p50_ms, by_sorting(&times, 0.5));
            prop_assert_eq!(found.p90_ms, by_sorting(&times, 0.9));
            prop_assert_eq!(found.p99_ms, by_sorting(&times, 0.99));
            prop_assert_eq!(found.max_ms, by_sorting(&times, 1.0));
        }

        #[test]
        fn bounded_ones_are_never_below_and_at_most_a_quarter_above(
            times in proptest::collection::vec(1_000_u64..10_000_000_000, 1..300),
        ) {
            let mut histogram = Histogram::default();
            times.iter().for_each(|ns| histogram.record(*ns));
            let (loose, tight) = (bounded(&histogram, 0, 0.0), exact(&mut times.clone(), 0.0).unwrap());
            for (upper, truth) in [(loose.p50_ms, tight.p50_ms), (loose.p99_ms, tight.p99_ms)] {
                let (upper, truth) = (upper.unwrap(), truth.unwrap());
                prop_assert!(upper >= truth && upper <= truth * 1.25 + 0.001, "{} {}", upper, truth);
            }
        }
    }
}
