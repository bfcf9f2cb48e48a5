//! The traced configuration, predicted under its own arrivals, against what was recorded of it: what the model gets wrong
//! where the truth is known.

use crate::Figures;

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

    /// The logarithm of predicted over recorded.
    pub(crate) fn logs(&self) -> Figures {
        let least = f64::MIN_POSITIVE;
        self.predicted
            .zip(&self.recorded, |p, r| (p.max(least) / r.max(least)).ln())
    }
}
