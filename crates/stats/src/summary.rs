//! The plain descriptions of a sample that reports print.
//!
//! Each answers `None` where the sample is too small to have the figure.

/// The arithmetic mean; needs one value.
pub fn mean(sample: &[f64]) -> Option<f64> {
    (!sample.is_empty()).then(|| sample.iter().sum::<f64>() / sample.len() as f64)
}

/// The middle value, or the mean of the two middle ones; needs one value.
pub fn median(sample: &[f64]) -> Option<f64> {
    quantile(sample, 0.5)
}

/// The sample standard deviation (n - 1 below the line); needs two values.
pub fn sd(sample: &[f64]) -> Option<f64> {
    let mean = mean(sample)?;
    let squares: f64 = sample.iter().map(|x| (x - mean).powi(2)).sum();
    (sample.len() > 1).then(|| (squares / (sample.len() - 1) as f64).sqrt())
}

/// The quantile at `q` in 0..=1, linear between order statistics (type 7 of
/// Hyndman and Fan 1996, the default of R and NumPy); needs one value.
pub fn quantile(sample: &[f64], q: f64) -> Option<f64> {
    if sample.is_empty() || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = q * (sorted.len() - 1) as f64;
    let (below, above) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let sample = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(mean(&sample), Some(2.5));
        assert_eq!(median(&sample), Some(2.5));
        assert_eq!(median(&[3.0, 9.0, 1.0]), Some(3.0));
        assert_eq!(quantile(&sample, 0.25), Some(1.75));
        assert_eq!(quantile(&sample, 1.0), Some(4.0));
        assert!((sd(&sample).unwrap() - (5.0_f64 / 3.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn too_small_a_sample_has_no_figure() {
        assert_eq!((mean(&[]), median(&[]), sd(&[1.0])), (None, None, None));
        assert_eq!(quantile(&[1.0], 1.5), None);
    }
}
