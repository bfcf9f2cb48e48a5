//! Student's t for whole degrees of freedom, by the finite series of
//! Abramowitz and Stegun 26.7.3 and 26.7.4.

use crate::summary::{mean, sd};

/// The t that |T| exceeds with probability `alpha`, for `df` >= 1.
pub fn two_sided(alpha: f64, df: u32) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while 1.0 - central(high, df) > alpha && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if 1.0 - central(middle, df) > alpha {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// A mean, and half the width of its interval at the level `alpha`; `None` below two values.
pub fn mean_and_half(values: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let (mean, sd) = (mean(values)?, sd(values)?);
    let freedom = u32::try_from(values.len()).ok()? - 1;
    Some((
        mean,
        two_sided(alpha, freedom) * sd / (values.len() as f64).sqrt(),
    ))
}

/// How many standard errors a difference has to measure, so that a two-sided test at the level `alpha` finds it with a probability of
/// 80 %.
pub fn found_in_four_of_five(alpha: f64, df: u32) -> f64 {
    two_sided(alpha, df) + two_sided(0.4, df)
}

/// P(|T| > |t|).
pub fn two_sided_p(t: f64, df: u32) -> f64 {
    (1.0 - central(t.abs(), df)).clamp(0.0, 1.0)
}

/// P(|T| <= t).
fn central(t: f64, df: u32) -> f64 {
    let angle = (t / f64::from(df).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = df % 2 == 1;
    // Terms in cos^1, cos^3, … for odd df and cos^0, cos^2, … for even,
    // up to cos^(df-2).
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = 0.0;
    let mut power = u32::from(odd);
    while power + 2 <= df {
        sum += term;
        term *= cosine * cosine * f64::from(power + 1) / f64::from(power + 2);
        power += 2;
    }
    if odd {
        std::f64::consts::FRAC_2_PI * (angle + sine * sum)
    } else {
        sine * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (9, 2.262),
            (30, 2.042),
        ];
        for (df, t) in table {
            assert!((two_sided(0.05, df) - t).abs() < 5e-4, "df={df}");
            assert!((two_sided_p(-t, df) - 0.05).abs() < 5e-5, "df={df}");
        }
    }

    /// By hand: the mean of 1, 2, 3, 4 is 2.5, s² = 5/3, and t(3) = 3.18245 at 5 %, 5.84091 at 1 %.
    #[test]
    fn an_interval_of_a_mean_by_hand() {
        let error = (5.0_f64 / 3.0).sqrt() / 2.0;
        for (alpha, t) in [(0.05, 3.182_446), (0.01, 5.840_909)] {
            let (mean, half) = mean_and_half(&[1.0, 2.0, 3.0, 4.0], alpha).unwrap();
            assert!(
                (mean - 2.5).abs() < 1e-12 && (half - t * error).abs() < 1e-5,
                "{half}"
            );
        }
        assert_eq!(mean_and_half(&[1.0], 0.05), None);
    }
}
