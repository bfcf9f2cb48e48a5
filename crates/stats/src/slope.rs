//! The Theil-Sen slope with Sen's interval (Sen 1968), widened where neighbours resemble one another.

use crate::summary::median;
use crate::{Interval, student_two_sided};

/// Neighbours that are more alike than this leave no evidence; wider is not known to be right either.
const MOST_ALIKE: f64 = 0.9;

/// A slope: what y gains for each 1 of x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    pub estimate: f64,
    pub interval: Interval,
}

/// The slopes of all pairs of points at different x, in ascending order.
pub(crate) fn of_pairs(points: &[(f64, f64)]) -> Vec<f64> {
    let mut slopes = Vec::new();
    for (i, (x, y)) in points.iter().enumerate() {
        for (later_x, later_y) in &points[i + 1..] {
            if later_x != x {
                slopes.push((later_y - y) / (later_x - x));
            }
        }
    }
    slopes.sort_by(f64::total_cmp);
    slopes
}

/// The median of the slopes of all pairs, with an interval from the distribution of Kendall's tau. That takes the points for
/// independent, which readings one after the other are not: its width is multiplied by √((1 + r) ÷ (1 − r)), r being the
/// correlation of each point's distance from the line with the next one's, where it is positive. `None` below 4 points, or at
/// one x.
pub fn theil_sen(points: &[(f64, f64)], alpha: f64) -> Option<Slope> {
    let slopes = of_pairs(points);
    let estimate = median(&slopes)?;
    let n = points.len() as f64;
    let freedom = u32::try_from(points.len()).ok()?.checked_sub(2)?;
    if points.len() < 4 {
        return None;
    }
    let sd = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let r = alike(points, estimate)?.clamp(0.0, MOST_ALIKE);
    let half = student_two_sided(alpha, freedom) * sd * ((1.0 + r) / (1.0 - r)).sqrt() / 2.0;
    let middle = (slopes.len() - 1) as f64 / 2.0;
    let at = |place: f64| slopes[place.clamp(0.0, 2.0 * middle) as usize];
    Some(Slope {
        estimate,
        interval: Interval {
            low: at((middle - half).floor()),
            high: at((middle + half).ceil()),
            confidence: 1.0 - alpha,
        },
    })
}

/// The correlation of neighbours' distances from the line; 0 where all points lie on it.
fn alike(points: &[(f64, f64)], slope: f64) -> Option<f64> {
    let residuals: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    let middle = median(&residuals)?;
    let distances: Vec<f64> = residuals.iter().map(|value| value - middle).collect();
    let squares: f64 = distances.iter().map(|d| d * d).sum();
    let products: f64 = distances.windows(2).map(|pair| pair[0] * pair[1]).sum();
    Some(if squares > 0.0 {
        products / squares
    } else {
        0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    #[test]
    fn a_line_has_its_slope_whatever_one_point_does() {
        let mut points: Vec<(f64, f64)> = (0..10)
            .map(|i| (f64::from(i), 7.0 + 3.0 * f64::from(i)))
            .collect();
        points[4].1 -= 1_000.0;
        let slope = theil_sen(&points, 0.05).unwrap();
        assert_eq!(slope.estimate, 3.0);
        assert!(slope.interval.low <= 3.0 && slope.interval.high >= 3.0);
    }

    #[test]
    fn the_interval_holds_the_slope_as_often_as_it_says() {
        let mut rng = crate::generator(11);
        let mut held = 0;
        for _ in 0..1_000 {
            let points: Vec<(f64, f64)> = (0..20)
                .map(|i| {
                    (
                        f64::from(i),
                        2.0 * f64::from(i) + rng.random_range(-30.0..30.0),
                    )
                })
                .collect();
            let Interval { low, high, .. } = theil_sen(&points, 0.05).unwrap().interval;
            held += u32::from((low..=high).contains(&2.0));
        }
        assert!(crate::binomial_at_most(held, 1_000, 0.95) > 0.001, "{held}");
        assert!(held < 998, "{held}: the interval is never missed");
    }

    #[test]
    fn too_few_points_have_none() {
        assert_eq!(theil_sen(&[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)], 0.05), None);
        assert_eq!(theil_sen(&[(5.0, 1.0); 9], 0.05), None);
    }
}
