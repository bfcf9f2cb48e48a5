//! Percentiles from the counts of a histogram whose bounds double.

/// The value that this share of the requests does not exceed, in seconds; within a bucket, requests are taken to be spread evenly on a
/// logarithmic scale. `None` without requests.
pub(crate) fn quantile(bounds: &[f64], counts: &[f64], share: f64) -> Option<f64> {
    let all: f64 = counts.iter().sum();
    if all <= 0.0 {
        return None;
    }
    let wanted = share * all;
    let mut below = 0.0;
    let mut lower = None;
    for (bound, count) in bounds.iter().zip(counts) {
        if below + count >= wanted && *count > 0.0 {
            if bound.is_infinite() {
                return lower;
            }
            let part = (wanted - below) / count;
            let lower = lower.unwrap_or(bound / 2.0);
            return Some(lower * (bound / lower).powf(part));
        }
        below += count;
        lower = Some(*bound);
    }
    lower
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let bounds = [0.1, 0.2, 0.4, f64::INFINITY];
        assert_eq!(quantile(&bounds, &[0.0; 4], 0.5), None);
        let half = quantile(&bounds, &[0.0, 10.0, 0.0, 0.0], 0.5).unwrap();
        assert!((half - 0.1 * 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(quantile(&bounds, &[50.0, 50.0, 0.0, 0.0], 0.5), Some(0.1));
        assert_eq!(quantile(&bounds, &[1.0, 0.0, 0.0, 99.0], 0.99), Some(0.4));
        let first = quantile(&bounds, &[4.0, 0.0, 0.0, 0.0], 0.5).unwrap();
        assert!(first > 0.05 && first < 0.1);
    }
}
