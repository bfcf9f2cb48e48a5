//! An interrupted series: the hours before a change against the same hours
//! after it, where nothing was drawn by chance.
//!
//! The differences of such pairs are a series whose neighbours resemble each
//! other. The variance of its mean is that of its slowest cosines (Müller
//! 2007; Lazarus, Lewis, Stock and Watson 2018): noise that changes faster
//! averages out, and slower noise is in them. Few cosines make a test that
//! holds its level under strong autocorrelation, and a wider interval.

use crate::student::{found_in_four_of_five, two_sided, two_sided_p};
use std::f64::consts::PI;

/// An hour after the change and the same one before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    /// Its place in the period, from 0. Hours without a partner are left out.
    pub hour: usize,
    /// Of logarithms: after less before.
    pub difference: f64,
}

/// The difference between two periods.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interrupted {
    /// In logarithms: -0.12 is about 12 % less.
    pub effect: f64,
    pub interval: (f64, f64),
    /// Of no difference, by Student's t.
    pub p: f64,
    /// Standard error of the effect.
    pub error: f64,
    /// Degrees of freedom: the cosines.
    pub freedom: u32,
}

impl Interrupted {
    /// The effect that a test of this level finds with 80 % probability in
    /// periods with this noise.
    pub fn detectable(&self, level: f64) -> f64 {
        found_in_four_of_five(level, self.freedom) * self.error
    }
}

/// The comparison, from `cosines` of the periods' `hours`; one minus `level`
/// is the confidence of the interval. `None` where there are not twice as
/// many pairs as cosines.
pub fn interrupted(
    pairs: &[Paired],
    hours: usize,
    cosines: u32,
    level: f64,
) -> Option<Interrupted> {
    let count = pairs.len() as f64;
    if cosines == 0 || count < 2.0 * f64::from(cosines) {
        return None;
    }
    let sum: f64 = pairs.iter().map(|pair| pair.difference).sum();
    let effect = sum / count;
    let squares = (1..=cosines).map(|cosine| {
        let turn = PI * f64::from(cosine) / hours as f64;
        let along = pairs
            .iter()
            .map(|pair| (pair.difference - effect) * (turn * (pair.hour as f64 + 0.5)).cos());
        2.0 / count * along.sum::<f64>().powi(2)
    });
    let variance = squares.sum::<f64>() / f64::from(cosines);
    let error = (variance / count).sqrt();
    let half = two_sided(level, cosines) * error;
    let found = Interrupted {
        effect,
        interval: (effect - half, effect + half),
        p: two_sided_p(effect / error, cosines),
        error,
        freedom: cosines,
    };
    (effect.is_finite() && error > 0.0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};

    fn pairs(differences: &[f64]) -> Vec<Paired> {
        let numbered = differences.iter().enumerate();
        numbered
            .map(|(hour, difference)| Paired {
                hour,
                difference: *difference,
            })
            .collect()
    }

    /// Four hours and one cosine: cos(π/8), cos(3π/8) and their negatives.
    #[test]
    fn by_hand() {
        let found = interrupted(&pairs(&[1.0, 2.0, 4.0, 5.0]), 4, 1, 0.05).unwrap();
        let (steep, flat) = ((PI / 8.0).cos(), (3.0 * PI / 8.0).cos());
        let along = -2.0 * steep - flat - flat - 2.0 * steep;
        let error = (2.0 / 4.0 * along * along / 4.0).sqrt();
        assert_eq!(found.effect, 3.0);
        assert!((found.error - error).abs() < 1e-12, "{found:?}");
        // 12.706 is the table's t of one degree of freedom.
        assert!((found.interval.1 - 3.0 - 12.706 * error).abs() < 1e-3 * error);
    }

    #[test]
    fn hours_that_are_missing_do_not_count() {
        let mut some = pairs(&[0.0, 1.0, 0.0, 9.0, 0.5, 0.2]);
        some.remove(3);
        let found = interrupted(&some, 6, 2, 0.05).unwrap();
        assert!((found.effect - 1.7 / 5.0).abs() < 1e-12);
        assert_eq!(interrupted(&some, 6, 3, 0.05), None);
        assert_eq!(interrupted(&pairs(&[1.0; 8]), 8, 2, 0.05), None);
    }

    /// Of independent noise, the interval of 95 % holds the truth in 95 % of cases: four standard errors of 2,000 below and above.
    #[test]
    fn the_interval_holds_the_truth() {
        let mut random = crate::generator(11);
        let held = (0..2_000).filter(|_| {
            let noise: Vec<f64> = (0..24)
                .map(|_| -> f64 { StandardNormal.sample(&mut random) })
                .map(|drawn| 0.1 + drawn)
                .collect();
            let found = interrupted(&pairs(&noise), 24, 3, 0.05).unwrap();
            let holds = (found.interval.0..=found.interval.1).contains(&0.1);
            assert_eq!(
                found.p < 0.05,
                !(found.interval.0..=found.interval.1).contains(&0.0)
            );
            holds
        });
        let held = held.count();
        assert!((1_861..=1_939).contains(&held), "{held}");
    }
}
