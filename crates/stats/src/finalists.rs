//! Two finalists and a baseline in the same blocks, with one error rate.
//!
//! The best of a race may have been lucky, so the second best is confirmed
//! as well. The first is tested against the baseline as if it were alone. The
//! second may then be claimed by a closed test (Marcus, Peritz and Gabriel
//! 1976): its own test against the baseline rejects, and so does a test of "all
//! three are equal". That one rejects where the first finalist's test does; or
//! where the second was the best of the three in so many blocks that chance,
//! one in three, does that no more often than what the first test has left of
//! the error rate, which the discrete test never uses up.
//!
//! "The second is as good as the first" is tested only where the first was
//! shown to differ from the baseline. Of the three hypotheses (first equals
//! baseline, second equals baseline, second equals first) one, all or none is
//! true; in each case a true one is rejected with at most the level of the run.

use crate::Look;
use crate::binomial_at_least;
use crate::signed_rank::critical;

/// What the blocks say of the second finalist.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Second {
    /// Whether the first finalist's test rejects "no difference from the
    /// baseline", in either direction.
    pub first_differs: bool,
    /// Whether the second's own test shows it to be better than the baseline.
    pub better: bool,
    /// Blocks in which it was the best of the three, of those in which all
    /// three have a figure.
    pub best_in: u32,
    pub blocks: u32,
    /// What the first test has left, see [`left_over`].
    pub left: f64,
}

impl Second {
    /// Whether it may be claimed to be better than the baseline.
    pub fn holds(&self) -> bool {
        let by_chance = || binomial_at_least(self.best_in, self.blocks, 1.0 / 3.0);
        self.better && (self.first_differs || (self.blocks > 0 && by_chance() <= self.left))
    }
}

/// What the test of so many blocks leaves of the level of its run. Nothing with
/// several looks, which share all of it.
pub fn left_over(look: &Look, blocks: u32) -> f64 {
    if look.overall > look.alpha {
        return 0.0;
    }
    let used = critical(blocks as usize, look.alpha / 2.0);
    look.alpha - used.map_or(0.0, |(_, tail)| 2.0 * tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(best_in: u32, left: f64) -> Second {
        Second {
            first_differs: false,
            better: true,
            best_in,
            blocks: 6,
            left,
        }
    }

    #[test]
    fn one_look_leaves_what_its_test_cannot_use() {
        let look = |alpha| Look {
            blocks: 6,
            alpha,
            overall: 0.05,
        };
        for (blocks, left) in [(6, 0.01875), (7, 0.003125), (8, 0.0109375), (5, 0.05)] {
            assert!(
                (left_over(&look(0.05), blocks) - left).abs() < 1e-12,
                "{blocks}"
            );
        }
        assert_eq!(left_over(&look(0.02), 10), 0.0);
    }

    #[test]
    fn without_the_first_it_has_to_be_the_best_nearly_always() {
        let left = 0.01875;
        assert!(second(6, left).holds() && second(5, left).holds());
        assert!(!second(4, left).holds() && !second(6, 0.0).holds());
        let beside = Second {
            first_differs: true,
            ..second(0, 0.0)
        };
        assert!(beside.holds());
        let no_better = Second {
            better: false,
            ..beside
        };
        assert!(!no_better.holds());
    }
}
