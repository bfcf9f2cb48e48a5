//! How much more often one server differs than another on the same requests.
//!
//! McNemar (1947): requests in which both differ, or neither, say nothing of which does so more often; of the others
//! each would be a coin toss if both did so equally often. The share q of the tosses that the one loses has the exact
//! interval of Clopper and Pearson (1934), beyond 1,000 tosses Wilson's (1927), which is then the same to three digits.
//! The difference of shares is (2 q - 1) times the tosses over all requests, and these have Wilson's interval too: so the
//! interval of the difference excludes zero exactly when McNemar's test does.

use crate::estimate::ALPHA;
use stats::wilson;

/// Exact up to so many tosses.
const EXACT: u64 = 1_000;

/// A difference of shares with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Excess {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

impl Excess {
    /// Of requests in which only the one and only the other differs, among so many; at 0.05 divided by the number of
    /// questions that are asked at once. `None` without requests.
    pub fn of((ours, theirs): (u64, u64), requests: u64, questions: u64) -> Option<Excess> {
        if requests == 0 {
            return None;
        }
        let tosses = ours + theirs;
        let alpha = ALPHA / questions.max(1) as f64;
        let (few, many) = wilson(tosses as f64, requests as f64, alpha);
        if tosses == 0 {
            // All of what so few requests may have missed could lie on either side.
            return Some(Excess {
                estimate: 0.0,
                low: -many,
                high: many,
            });
        }
        let (low, high) = if tosses <= EXACT {
            (
                lower(ours as u32, tosses as u32, alpha / 2.0),
                1.0 - lower(theirs as u32, tosses as u32, alpha / 2.0),
            )
        } else {
            wilson(ours as f64, tosses as f64, alpha)
        };
        // The end that lies further out takes as many tosses as there may be, the other as few.
        let of = |lean: f64, above: f64, below: f64| lean * if lean > 0.0 { above } else { below };
        Some(Excess {
            estimate: (ours as f64 - theirs as f64) / requests as f64,
            low: of(2.0 * low - 1.0, few, many),
            high: of(2.0 * high - 1.0, many, few),
        })
    }
}

/// The share below which as many as `count` of `tosses` have at most this probability.
fn lower(count: u32, tosses: u32, tail: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    if count == 0 {
        return 0.0;
    }
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if stats::binomial_at_least(count, tosses, middle) > tail {
            high = middle;
        } else {
            low = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        // R: binom.test(9, 10)$conf.int is 0.5549839 to 0.9974714
        assert!((lower(9, 10, 0.025) - 0.554_983_9).abs() < 1e-7);
        assert!((1.0 - lower(1, 10, 0.025) - 0.997_471_4).abs() < 1e-7);
        // R: prop.test(10, 100, correct = FALSE)$conf.int is 0.0552 to 0.1744
        let (low, high) = wilson(10.0, 100.0, 0.05);
        assert!(
            (low - 0.0552).abs() < 1e-3 && (high - 0.1744).abs() < 1e-3,
            "{low} {high}"
        );
        let found = Excess::of((9, 1), 100, 1).unwrap();
        assert!((found.estimate - 0.08).abs() < 1e-12);
        assert!(
            (found.low - 0.11 * low).abs() < 1e-4 && (found.high - 0.995 * high).abs() < 1e-4,
            "{found:?}"
        );
    }

    #[test]
    fn five_that_agree_are_no_evidence_and_six_are() {
        let low = |ours| Excess::of((ours, 0), 1_000, 1).unwrap().low;
        assert!(low(5) < 0.0 && low(6) > 0.0);
        assert!(Excess::of((6, 0), 1_000, 2).unwrap().low < 0.0);
        assert_eq!(Excess::of((0, 0), 0, 1), None);
    }

    #[test]
    fn without_a_toss_the_interval_is_as_wide_as_so_few_requests_leave_it() {
        let high = |requests| {
            let found = Excess::of((0, 0), requests, 1).unwrap();
            assert_eq!((found.estimate, found.low), (0.0, -found.high));
            found.high
        };
        // Wilson's upper bound of 0 in n is z²/(n + z²).
        assert!((high(1) - 0.793).abs() < 0.01, "{}", high(1));
        assert!((high(1_000) - 0.00383).abs() < 0.0001, "{}", high(1_000));
    }

    #[test]
    fn the_large_sample_continues_the_exact_interval() {
        let exact = Excess::of((560, 440), 5_000, 10).unwrap();
        let (low, high) = wilson(560.0, 1_000.0, ALPHA / 10.0);
        let (few, many) = wilson(1_000.0, 5_000.0, ALPHA / 10.0);
        assert!(
            (exact.low - (2.0 * low - 1.0) * few).abs() < 0.001,
            "{exact:?}"
        );
        assert!(
            (exact.high - (2.0 * high - 1.0) * many).abs() < 0.001,
            "{exact:?}"
        );
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_estimate_and_turns_with_the_sides(
            ours in 0..3_000_u64, theirs in 0..3_000_u64, more in 1..9_000_u64, questions in 1..500_u64,
        ) {
            let requests = ours + theirs + more;
            let found = Excess::of((ours, theirs), requests, questions).unwrap();
            prop_assert!(found.low <= found.estimate && found.estimate <= found.high);
            prop_assert!(found.low >= -1.0 && found.high <= 1.0);
            let turned = Excess::of((theirs, ours), requests, questions).unwrap();
            prop_assert!((turned.low + found.high).abs() < 1e-9);
        }
    }
}
