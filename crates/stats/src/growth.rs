//! Memory that grows with the requests served.

use crate::summary::median;

/// Growth in bytes per thousand requests, from `(requests served since the
/// start, bytes)`: the Theil-Sen slope, the median of the slopes of all pairs,
/// which a garbage collection in one sample does not throw off. `None` below
/// three samples at different counts. May be negative.
pub fn growth_per_thousand(samples: &[(u64, f64)]) -> Option<f64> {
    let mut slopes = Vec::new();
    for (i, (requests, bytes)) in samples.iter().enumerate() {
        for (more_requests, more_bytes) in &samples[i + 1..] {
            if more_requests != requests {
                let run = *more_requests as f64 - *requests as f64;
                slopes.push((more_bytes - bytes) / run);
            }
        }
    }
    if slopes.len() < 3 {
        return None;
    }
    Some(1_000.0 * median(&slopes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_leak_behind_one_outlier() {
        let mut samples: Vec<(u64, f64)> =
            (0..10).map(|i| (i * 500, 1e8 + i as f64 * 2e5)).collect();
        samples[4].1 -= 3e7;
        let growth = growth_per_thousand(&samples).unwrap();
        assert!((growth - 4e5).abs() < 1.0, "{growth}");
    }

    #[test]
    fn too_few_samples_say_nothing() {
        assert_eq!(growth_per_thousand(&[(0, 1.0), (1, 2.0)]), None);
        assert_eq!(growth_per_thousand(&[(5, 1.0); 9]), None);
    }
}
