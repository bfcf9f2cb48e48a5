//! A share of independent cases and its interval (Wilson, JASA 22, 1927, 209).

use crate::student::two_sided;

/// Degrees of freedom at which Student's t stands for the normal distribution, a little wide.
const NEARLY_NORMAL: u32 = 300;
const ALPHA: f64 = 0.05;

/// A share with its 95 % interval; `total` is not 0.
#[must_use]
pub fn share(count: u64, total: u64) -> [f64; 3] {
    let (low, high) = wilson(count as f64, total as f64, ALPHA);
    let share = count as f64 / total as f64;
    // At the ends it is a bound itself, but for rounding.
    [share, low.min(share).max(0.0), high.max(share).min(1.0)]
}

/// Wilson's interval of a share of `count` in `total`, which errs with probability `alpha`.
#[must_use]
pub fn wilson(count: f64, total: f64, alpha: f64) -> (f64, f64) {
    let z = two_sided(alpha, NEARLY_NORMAL);
    let share = count / total;
    let spread = z * (share * (1.0 - share) / total + z * z / (4.0 * total * total)).sqrt();
    let scale = 1.0 + z * z / total;
    let centre = share + z * z / (2.0 * total);
    ((centre - spread) / scale, (centre + spread) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let [estimate, low, high] = share(10, 100);
        assert_eq!(estimate, 0.1);
        assert!((low - 0.055).abs() < 0.001 && (high - 0.175).abs() < 0.002);
    }

    #[test]
    fn the_ends_are_bounds() {
        assert_eq!(share(0, 40)[..2], [0.0, 0.0]);
        assert_eq!([share(40, 40)[0], share(40, 40)[2]], [1.0, 1.0]);
    }
}
