//! The curve of a search: its trials, one row a rate.

use crate::windows::quantile_ms;
use hdrhistogram::Histogram;
use run::{RatePoint, RatePurpose, RateTrial};

/// What was measured at one time.
pub(super) struct Measured {
    pub(super) trial: RateTrial,
    pub(super) response: Histogram<u64>,
}

/// One point a rate: of its trials that count, those of the greatest length together. Trials that bracketed are too
/// short to show anything but chance.
pub(super) fn points(measured: &[Measured], allowed: f64, full_s: f64) -> Vec<RatePoint> {
    let long = |m: &&Measured| m.trial.purpose != RatePurpose::Bracket;
    let counting = || {
        measured
            .iter()
            .filter(|m| m.trial.refused.is_none())
            .filter(long)
    };
    let mut rates: Vec<f64> = counting().map(|m| m.trial.asked_per_s).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let point = |rate: f64| {
        let at = || counting().filter(|m| m.trial.asked_per_s == rate);
        let longest = at().map(|m| m.trial.seconds).fold(0.0, f64::max);
        let used: Vec<&Measured> = at().filter(|m| m.trial.seconds > 0.95 * longest).collect();
        let seconds: f64 = used.iter().map(|m| m.trial.seconds).sum();
        let sum = |of: fn(&RateTrial) -> u64| used.iter().map(|m| of(&m.trial)).sum::<u64>();
        let mut response = load::new_histogram();
        for one in &used {
            // Both are made alike, so that adding cannot fail.
            let _ = response.add(&one.response);
        }
        let busy: Option<f64> = used
            .iter()
            .map(|m| m.trial.utilisation.map(|u| u * m.trial.seconds))
            .sum();
        let full = || used.iter().filter(|m| m.trial.seconds >= 0.95 * full_s);
        let met = |m: &&&Measured| {
            let violations = m.trial.late + m.trial.failed;
            violations as f64 <= allowed * m.trial.requests as f64
        };
        let (requests, in_time) = (sum(|t| t.requests), sum(|t| t.in_time));
        RatePoint {
            asked_per_s: rate,
            offered_per_s: requests as f64 / seconds,
            in_time_per_s: in_time as f64 / seconds,
            late_per_s: sum(|t| t.late) as f64 / seconds,
            failed_per_s: sum(|t| t.failed) as f64 / seconds,
            violation_rate: (requests - in_time) as f64 / requests.max(1) as f64,
            p50_ms: quantile_ms(&response, 0.50),
            p99_ms: quantile_ms(&response, 0.99),
            utilisation: busy.map(|busy| busy / seconds),
            seconds,
            windows: full().count() as u32,
            windows_met: full().filter(met).count() as u32,
            requests,
            recovered: used.iter().all(|m| m.trial.recovered),
        }
    };
    rates.into_iter().map(point).collect()
}
