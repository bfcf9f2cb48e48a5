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

/// The comparison, from `cosines` of the pairs' `differences`: of logarithms,
/// after less before, in the order of time. One minus `level` is the confidence
/// of the interval. `None` where there are not twice as many pairs as cosines.
///
/// A missing pair has no place in the series: only cosines over all places are
/// orthogonal to the mean and to each other.
pub fn interrupted(differences: &[f64], cosines: u32, level: f64) -> Option<Interrupted> {
    let count = differences.len() as f64;
    if cosines == 0 || count < 2.0 * f64::from(cosines) {
        return None;
    }
    let effect = differences.iter().sum::<f64>() / count;
    let squares = (1..=cosines).map(|cosine| {
        let turn = PI * f64::from(cosine) / count;
        let placed = differences.iter().enumerate();
        let along = placed
            .map(|(place, difference)| (difference - effect) * (turn * (place as f64 + 0.5)).cos());
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

    /// Four hours and one cosine: cos(π/8), cos(3π/8) and their negatives.
    #[test]
    fn by_hand() {
        let found = interrupted(&[1.0, 2.0, 4.0, 5.0], 1, 0.05).unwrap();
        let (steep, flat) = ((PI / 8.0).cos(), (3.0 * PI / 8.0).cos());
        let along = -2.0 * steep - flat - flat - 2.0 * steep;
        let error = (2.0 / 4.0 * along * along / 4.0).sqrt();
        assert_eq!(found.effect, 3.0);
        assert!((found.error - error).abs() < 1e-12, "{found:?}");
        // 12.706 is the table's t of one degree of freedom.
        assert!((found.interval.1 - 3.0 - 12.706 * error).abs() < 1e-3 * error);
    }

    #[test]
    fn too_few_pairs_and_pairs_without_noise_have_no_answer() {
        let some = [0.0, 1.0, 0.0, 0.5, 0.2];
        assert!(interrupted(&some, 2, 0.05).is_some());
        assert_eq!(interrupted(&some, 3, 0.05), None);
        assert_eq!(interrupted(&some, 0, 0.05), None);
        assert_eq!(interrupted(&[1.0; 8], 2, 0.05), None);
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
            let found = interrupted(&noise, 3, 0.05).unwrap();
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
