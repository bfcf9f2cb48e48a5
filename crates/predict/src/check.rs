//! The traced configuration, predicted under its own arrivals, against what was recorded of it: what the model gets wrong
//! where the truth is known.

use crate::Figures;

/// The self-check fails where predicted and recorded differ by more than these factors, in the order of [`Figures`]. The median
/// errors of applications in bench/predict/RESULTS.md are a tenth of this.
const MOST_APART: [f64; 5] = [1.1, 2.0, 2.0, 3.0, 3.0];

/// How well the model does at the configuration that was traced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelfCheck {
    pub recorded: Figures,
    pub predicted: Figures,
}

impl SelfCheck {
    /// Predicted over recorded, less one: 0.05 is 5 % too slow (or, of the throughput, too much).
    #[must_use]
    pub fn error(&self) -> Figures {
        self.predicted.zip(&self.recorded, |p, r| p / r - 1.0)
    }

    /// The factors beyond which it fails.
    #[must_use]
    pub fn most_apart() -> Figures {
        Figures::from_values(MOST_APART)
    }

    /// Whether it is off so far that nothing may be recommended.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.beyond_limits().contains(&true)
    }

    /// Which figures make it fail, in the order of [`Figures`].
    pub(crate) fn beyond_limits(&self) -> [bool; 5] {
        let over = self
            .logs()
            .zip(&Self::most_apart(), |log, factor| log.abs() - factor.ln());
        over.values().map(|over| over > 0.0)
    }

    /// How far it is off in all: the sum over mean and percentiles of the logarithms' absolute values.
    pub(crate) fn distance(&self) -> f64 {
        self.logs().values()[1..].iter().map(|log| log.abs()).sum()
    }

    /// The logarithm of predicted over recorded.
    pub(crate) fn logs(&self) -> Figures {
        let least = f64::MIN_POSITIVE;
        self.predicted
            .zip(&self.recorded, |p, r| (p.max(least) / r.max(least)).ln())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fails_beyond_its_limits_in_either_direction() {
        let recorded = Figures::from_values([95.0, 10.0, 8.0, 20.0, 40.0]);
        let fails = |factors: [f64; 5]| {
            let predicted = recorded.zip(&Figures::from_values(factors), |r, f| r * f);
            SelfCheck {
                recorded,
                predicted,
            }
            .failed()
        };
        assert!(!fails([1.05, 1.9, 0.55, 2.9, 0.35]));
        for (at, factor) in [(0, 1.2), (0, 0.8), (1, 2.1), (2, 0.45), (3, 3.1), (4, 0.3)] {
            let mut factors = [1.0; 5];
            factors[at] = factor;
            assert!(fails(factors), "{factors:?}");
        }
        assert!(fails([1.81, 0.015, 1.4, 0.005, 0.006]));
    }
}
