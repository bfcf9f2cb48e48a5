//! How far a prediction can be believed.

use crate::Figures;

/// z of a two-sided 90 % interval of a normal distribution.
const Z: f64 = 1.645;
/// The least standard deviation that is believed, in the order of [`Figures`], however well the self-check went: one
/// agreement at one configuration is luck, too.
const LEAST: [f64; 5] = [0.01, 0.03, 0.03, 0.04, 0.05];
/// The same without bursts: the totals of a request do not say in which order it does what.
const LEAST_WITHOUT_BURSTS: [f64; 5] = [0.02, 0.08, 0.08, 0.10, 0.12];

/// The model's own error: the standard deviation of the logarithm of predicted over true.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelError(pub Figures);

impl ModelError {
    /// From the self-check's logarithms of predicted over recorded.
    #[must_use]
    pub fn of(logs: &Figures, bursts: bool) -> Self {
        let least = Figures::from_values(if bursts { LEAST } else { LEAST_WITHOUT_BURSTS });
        Self(logs.zip(&least, f64::hypot))
    }
}

/// A 90 % interval of each figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Within {
    pub low: Figures,
    pub high: Figures,
}

impl Within {
    /// About `centre`: the spread of the draws and the model's error, on a logarithmic scale, where errors multiply.
    #[must_use]
    pub fn of(centre: &Figures, draws: &[Figures], error: &ModelError) -> Self {
        let mut sd = Figures::from_values([0.0; 5]);
        if draws.len() > 1 {
            let count = draws.len() as f64;
            let zero = sd;
            let log = |x: f64| x.max(f64::MIN_POSITIVE).ln();
            let sum = draws
                .iter()
                .fold(zero, |sum, d| sum.zip(d, |s, x| s + log(x)));
            let mean = sum.map(|s| s / count);
            let squares = draws.iter().fold(zero, |sum, draw| {
                let off = draw.zip(&mean, |x, m| (log(x) - m).powi(2));
                sum.zip(&off, |s, o| s + o)
            });
            sd = squares.map(|s| (s / (count - 1.0)).sqrt());
        }
        let half = sd.zip(&error.0, |sd, e| Z * sd.hypot(e));
        Self {
            low: centre.zip(&half, |x, half| x * (-half).exp()),
            high: centre.zip(&half, |x, half| x * half.exp()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_and_error_add_as_squares_on_a_logarithmic_scale() {
        let figures = |x: f64| Figures::from_values([x; 5]);
        let error = ModelError(figures(0.04));
        // Draws of 0.03 either way: a standard deviation of 0.03 * sqrt(2).
        let draws = [figures(0.03_f64.exp()), figures((-0.03_f64).exp())];
        let found = Within::of(&figures(100.0), &draws, &error);
        let half = 1.645 * (2.0 * 0.03_f64.powi(2) + 0.04_f64.powi(2)).sqrt();
        for (low, high) in found.low.values().iter().zip(found.high.values()) {
            assert!((low / (100.0 * (-half).exp()) - 1.0).abs() < 1e-12);
            assert!((high / (100.0 * half.exp()) - 1.0).abs() < 1e-12);
        }
        let alone = Within::of(&figures(100.0), &draws[..1], &error);
        assert!((alone.high.mean_ms.ln() - 100.0_f64.ln() - 1.645 * 0.04).abs() < 1e-12);
    }

    #[test]
    fn a_lucky_check_is_not_believed_and_a_bad_one_is() {
        let logs = Figures::from_values([0.0, 0.0, 0.0, 0.0, -0.3]);
        let with = ModelError::of(&logs, true).0;
        assert_eq!(with.values()[..4], LEAST[..4]);
        assert!(with.p99_ms > 0.3 && with.p99_ms < 0.31);
        let without = ModelError::of(&logs, false).0;
        let wider = without.zip(&with, |a, b| a - b);
        assert!(wider.values().iter().all(|x| *x > 0.0));
    }
}
