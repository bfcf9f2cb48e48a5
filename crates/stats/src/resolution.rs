//! How long windows have to be for a comparison to find what matters. For planning: no verdict rests on it.

use crate::{Look, Noise, Scatter, mde};

/// The effect that a run with these looks finds with probability `power`, as a logarithm, where the log ratios of equal arms have a
/// standard deviation of 1 that was estimated with so many degrees of freedom. It goes with the standard deviation.
pub fn effect_of_unit_noise(looks: &[Look], freedom: u32, power: f64, seed: u64) -> f64 {
    let noise = Noise {
        sd: 1.0,
        freedom: Some(freedom),
        answers: None,
    };
    mde(looks, noise, 0.0, power, seed).ln()
}

/// The length of windows, seconds, with which that effect is `margin`, a ratio less one; `seen` is the scatter in windows of one
/// second. `None` where no scatter was seen. Little evidence makes `unit_effect` greater, and so windows longer.
pub fn window_s(seen: Scatter, unit_effect: f64, margin: f64) -> Option<f64> {
    let effect = seen.noise_in(1.0)?.sd * unit_effect;
    Some((effect / margin.ln_1p()).powi(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_that_length_find_the_margin() {
        let looks = crate::looks(8, 0.05, 1).unwrap();
        let pairs = [0.02, -0.01, 0.015, -0.025, 0.01];
        let seen = Scatter::of(Noise::of_equal_arms(&pairs)).in_one_second(5.0);
        let unit = effect_of_unit_noise(&looks, seen.freedom, 0.8, 1);
        let length_s = window_s(seen, unit, 0.03).unwrap();
        let found = mde(&looks, seen.noise_in(length_s).unwrap(), 0.0, 0.8, 1);
        assert!((found - 1.03).abs() < 1e-9, "{found}");
        assert_eq!(window_s(Scatter::default(), unit, 0.03), None);
    }

    #[test]
    fn less_evidence_asks_for_longer_windows() {
        let looks = crate::looks(6, 0.05, 1).unwrap();
        let unit = |freedom| effect_of_unit_noise(&looks, freedom, 0.8, 1);
        assert!(unit(2) > 1.5 * unit(8) && unit(8) > unit(24));
    }
}
