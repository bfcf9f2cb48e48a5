//! What the load engine measured, as the run document has it.

use hdrhistogram::Histogram;
use load::Outcome;
use run::{EndpointWindow, Hdr, Latency, Percentile, Redirect, Window};
use std::time::Duration;

/// A window of the document from the generator's outcome and the CPU time that the server's tree spent in it.
pub fn window(outcome: &Outcome, server_cpu: Duration, with_violations: bool) -> Window {
    let seconds = outcome.window().as_secs_f64();
    let counts = &outcome.counts;
    let span = Duration::from_nanos(outcome.finished_ns.saturating_sub(outcome.started_ns));
    Window {
        seconds,
        requests: counts.scheduled - counts.cut,
        good: counts.ok,
        errors: outcome.errors.total() - outcome.errors.timeout,
        timeouts: outcome.errors.timeout,
        good_per_s: outcome.throughput_per_s(),
        asked_per_s: outcome.asked_rate,
        response: latency(&outcome.response),
        service: latency(&outcome.service),
        lateness: latency(&outcome.lateness),
        violations: with_violations.then_some(outcome.violations),
        cpu_ms_per_request: if counts.completed == 0 {
            0.0
        } else {
            server_cpu.as_secs_f64() * 1e3 / counts.completed as f64
        },
        generator_cpu: if span.is_zero() {
            0.0
        } else {
            outcome.generator_cpu.as_secs_f64() / span.as_secs_f64()
        },
        endpoints: outcome.endpoints.iter().map(endpoint).collect(),
    }
}

fn endpoint(outcome: &load::EndpointOutcome) -> EndpointWindow {
    EndpointWindow {
        name: outcome.name.clone(),
        requests: outcome.scheduled,
        failures: outcome.errors.total(),
        p50_ms: quantile_ms(&outcome.response, 0.50),
        p99_ms: quantile_ms(&outcome.response, 0.99),
        redirects: redirects(outcome),
    }
}

/// A page's redirects as documents have them.
pub fn redirects(outcome: &load::EndpointOutcome) -> Vec<Redirect> {
    let redirects = outcome.redirects.iter();
    let redirects = redirects.map(|redirect| Redirect {
        status: redirect.status,
        location: redirect.location.as_deref().map(load::shown_location),
        answers: redirect.answers,
        expected: redirect.expected,
    });
    redirects.collect()
}

fn latency(histogram: &Histogram<u64>) -> Latency {
    Latency {
        mean_ms: load::finite_mean_us(histogram).map(|us| us / 1e3),
        p50_ms: quantile_ms(histogram, 0.50),
        p95_ms: quantile_ms(histogram, 0.95),
        p99_ms: quantile_ms(histogram, 0.99),
        max_ms: quantile_ms(histogram, 1.0),
        hdr: Some(Hdr::encode(histogram)),
    }
}

/// Those of the page's chart.
const PERCENTILES: [f64; 6] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9];

/// Those that are finite and that the requests suffice for.
pub fn percentiles(response: &Histogram<u64>) -> Vec<Percentile> {
    let suffice = |percentile: &f64| response.len() >= run::load::least_values(*percentile);
    let found = PERCENTILES.into_iter().filter(suffice);
    let found = found.filter_map(|percentile| {
        let ms = quantile_ms(response, percentile / 100.0)?;
        Some(Percentile { percentile, ms })
    });
    found.collect()
}

/// A quantile in milliseconds; `None` when nothing was recorded or a failure makes it infinite.
pub fn quantile_ms(histogram: &Histogram<u64>, quantile: f64) -> Option<f64> {
    load::quantile_us(histogram, quantile)
        .flatten()
        .map(|us| us as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_that_few_requests_or_failures_leave_open_are_left_out() {
        let mut response = load::new_histogram();
        response.record_n(10_000, 99).unwrap();
        let found = |response: &Histogram<u64>| -> Vec<f64> {
            percentiles(response).iter().map(|p| p.percentile).collect()
        };
        assert_eq!(
            found(&response),
            [50.0, 75.0, 90.0, 95.0],
            "99 requests have no p99"
        );
        response.record_n(20_000, 901).unwrap();
        assert_eq!(found(&response), PERCENTILES);
        assert_eq!(percentiles(&response)[0].ms.round(), 20.0);
        // Failures count as infinitely late.
        response.record_n(load::HIGHEST_US, 15).unwrap();
        assert_eq!(found(&response), PERCENTILES[..4]);
    }

    #[test]
    fn failures_make_quantiles_infinite_and_stay_out_of_the_mean() {
        let mut histogram = load::new_histogram();
        for _ in 0..98 {
            histogram.record(10_000).unwrap();
        }
        histogram.record_n(load::HIGHEST_US, 2).unwrap();
        assert!((latency(&histogram).mean_ms.unwrap() - 10.0).abs() < 0.02);
        assert_eq!(quantile_ms(&histogram, 0.99), None);
        assert!((quantile_ms(&histogram, 0.5).unwrap() - 10.0).abs() < 0.02);
        assert_eq!(quantile_ms(&load::new_histogram(), 0.5), None);
    }
}
