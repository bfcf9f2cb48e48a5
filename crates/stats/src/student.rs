//! Student's t for whole degrees of freedom, by the finite series of
//! Abramowitz and Stegun 26.7.3 and 26.7.4.

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
        }
    }
}
