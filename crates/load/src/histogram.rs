//! Histograms of times are in whole microseconds, 1 µs to 1 h with three
//! significant digits; a request that failed stands in `response` at the
//! highest value, [`HIGHEST_US`], which means infinite.

use hdrhistogram::Histogram;

/// The top of every histogram: 1 h. In `response` it stands for infinity.
pub const HIGHEST_US: u64 = 3_600_000_000;
/// The longest finite response time; longer ones are recorded as this.
pub(crate) const LONGEST_US: u64 = HIGHEST_US / 2;
/// From here on a response time is infinite: well between the longest finite one
/// and the top, since a histogram rounds.
pub const INFINITE_FROM_US: u64 = HIGHEST_US / 4 * 3;

/// An empty histogram of the kind used throughout.
#[must_use]
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_US, 3).expect("the bounds are valid constants")
}

/// A quantile of a `response` histogram in µs; `None` when the histogram is
/// empty, `Some(None)` when the quantile is infinite: a failed request.
#[must_use]
pub fn quantile_us(histogram: &Histogram<u64>, quantile: f64) -> Option<Option<u64>> {
    if histogram.is_empty() {
        return None;
    }
    let value = histogram.value_at_quantile(quantile);
    Some((value < INFINITE_FROM_US).then_some(value))
}

/// The mean of a `response` histogram in µs without the failures; `None` when
/// there is nothing else.
#[must_use]
pub fn finite_mean_us(histogram: &Histogram<u64>) -> Option<f64> {
    let recorded = histogram
        .iter_recorded()
        .map(|step| (step.value_iterated_to(), step.count_at_value()));
    let finite = recorded.filter(|(us, _)| *us < INFINITE_FROM_US);
    let (sum, count) = finite.fold((0.0, 0), |(sum, count), (us, more)| {
        let of_all = histogram.median_equivalent(us) as f64 * more as f64;
        (sum + of_all, count + more)
    });
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_request_is_infinite_and_a_slow_one_is_not() {
        let mut histogram = new_histogram();
        assert_eq!(quantile_us(&histogram, 0.5), None);
        histogram.saturating_record(HIGHEST_US / 2);
        assert!(matches!(quantile_us(&histogram, 1.0), Some(Some(_))));
        histogram.saturating_record(HIGHEST_US);
        assert_eq!(quantile_us(&histogram, 1.0), Some(None));
        assert!(matches!(quantile_us(&histogram, 0.5), Some(Some(_))));
    }

    #[test]
    fn failures_stay_out_of_the_mean() {
        let mut histogram = new_histogram();
        histogram.record_n(HIGHEST_US, 2).unwrap();
        assert_eq!(finite_mean_us(&histogram), None);
        histogram.record_n(10_000, 95).unwrap();
        histogram.record_n(20_000, 5).unwrap();
        let mean = finite_mean_us(&histogram).unwrap();
        assert!((mean / 10_500.0 - 1.0).abs() < 0.001, "{mean}");
    }

    #[test]
    fn the_longest_finite_time_is_finite_as_rounded() {
        let mut histogram = new_histogram();
        histogram.record(LONGEST_US).unwrap();
        assert!(histogram.max() < INFINITE_FROM_US);
        assert_eq!(quantile_us(&histogram, 1.0), Some(Some(histogram.max())));
    }
}
