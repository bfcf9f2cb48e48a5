//! Whether the units of an arm are as many as its share says.

use crate::{binomial_at_least, binomial_at_most};

/// Exact and two-sided, by twice the smaller tail: small when so many units of all are not what the share explains.
pub fn ratio_p(count: u32, of: u32, share: f64) -> f64 {
    let more = binomial_at_least(count, of, share);
    let fewer = binomial_at_most(count, of, share);
    f64::clamp(2.0 * more.min(fewer), 0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // R: 2 * pbinom(3, 20, 0.5)
        assert!((ratio_p(3, 20, 0.5) - 0.002_576_828).abs() < 1e-8);
        assert!((ratio_p(17, 20, 0.5) - ratio_p(3, 20, 0.5)).abs() < 1e-12);
        assert_eq!(ratio_p(10, 20, 0.5), 1.0);
        assert!(ratio_p(0, 60, 0.2) < 1e-5);
        assert_eq!(ratio_p(0, 0, 0.2), 1.0);
    }
}
