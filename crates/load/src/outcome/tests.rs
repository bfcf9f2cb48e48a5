use super::*;

#[test]
fn redirects_are_the_300s_but_for_not_modified() {
    let found: Vec<u16> = (200..500).filter(|status| Redirect::is(*status)).collect();
    let expected: Vec<u16> = (300..400).filter(|status| *status != 304).collect();
    assert_eq!(found, expected);
}

#[test]
fn redirects_that_the_workload_names_are_no_surprise() {
    let mut endpoint = EndpointOutcome::new("GET /");
    endpoint.redirected(302, false, Some("/login"));
    endpoint.redirected(302, false, Some("/other"));
    endpoint.redirected(302, true, Some("/cart"));
    assert_eq!(endpoint.redirects[0].location.as_deref(), Some("/login"));
    let mut outcome = Outcome::empty();
    outcome.endpoints = vec![endpoint];
    assert_eq!(outcome.redirects(), 2);
}

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
