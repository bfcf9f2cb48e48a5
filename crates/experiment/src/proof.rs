//! What was seen of a latency limit that is not proven to be kept, and what would prove it.

use crate::deciding::Pace;
use crate::judge::VIOLATION_ALPHA;
use run::{ArmSummary, Document, Plan, grouped};
use stats::{Interval, least_to_meet, times_to_meet};

/// Longest window that is advised, seconds.
const MOST_ADVISED_S: f64 = 120.0;
/// Of the requests that prove a limit, so many times as many are planned: a rate is never exact.
const MORE_THAN_LEAST: f64 = 1.1;
const MORE: &str = "more blocks or longer windows would tell";

/// The fewest requests that prove the latency limit, none of them late; `None` without one.
pub fn least_requests(plan: &Plan) -> Option<f64> {
    let limit = plan.objective.latency?;
    Some(least_to_meet(limit.allowed_violation_rate(), VIOLATION_ALPHA).ceil())
}

/// Seconds of windows, in all blocks together, that are planned for a proof of the latency limit; `None` without one.
pub fn proving_s(plan: &Plan) -> Option<f64> {
    Some(MORE_THAN_LEAST * least_requests(plan)? / plan.rate_per_s?)
}

/// The share of late requests of an arm with its interval; `None` where it is not the latency limit that is open.
pub fn seen(document: &Document, arm: &ArmSummary) -> Option<String> {
    let allowed = document.plan.objective.latency?.allowed_violation_rate();
    let (rate, (low, high)) = arm.violation_rate.zip(arm.violation_interval)?;
    let of = arm
        .violation_requests
        .map_or_else(String::new, |n| format!("{} ", grouped(n)));
    (high > allowed).then(|| {
        format!(
            "{:.2} % of its {of}requests took longer, with 95 % confidence {:.2} to {:.2} %",
            rate * 100.0,
            low * 100.0,
            high * 100.0
        )
    })
}

/// What would prove that an arm keeps its limits.
pub fn remedy(document: &Document, arm: Option<&ArmSummary>) -> String {
    match arm {
        Some(arm) if arm.latency_trials == Some(0) => {
            "a quiet machine, a lower --rate or, with four cores or more, a core for the load generator (--generator-core true) would give one"
                .to_owned()
        }
        Some(arm) if arm.growth.is_some() => {
            "more blocks may tell, longer windows would not, as long as its memory grows with the requests"
                .to_owned()
        }
        arm => arm
            .and_then(|arm| more_requests(document, arm))
            .unwrap_or_else(|| MORE.to_owned()),
    }
}

/// Blocks or windows that measure enough requests; `None` where too many are late, or where the latency limit is not what is open.
fn more_requests(document: &Document, arm: &ArmSummary) -> Option<String> {
    let allowed = document.plan.objective.latency?.allowed_violation_rate();
    let (rate, (low, high)) = arm.violation_rate.zip(arm.violation_interval)?;
    let interval = Interval {
        low,
        high,
        confidence: 1.0 - VIOLATION_ALPHA,
    };
    let requests = arm.violation_requests? as f64;
    let times = times_to_meet(rate, &interval, requests, allowed).filter(|times| *times > 1.0)?;
    let pace = Pace::of(document)?;
    let late = match rate {
        0.0 => "none of them is late",
        _ => "the share of late ones stays the same",
    };
    let window_s = (document.plan.timing.objective_s * times).ceil();
    let flags = match pace.times(times) {
        blocks if looks_once(blocks, document.plan.alpha, document.seed) => pace.flags(blocks),
        _ if window_s <= MOST_ADVISED_S => pace.flags_of_window(window_s, times),
        _ => return Some(
            "one run cannot measure enough requests: ask for a lower percentile, such as p95, or for a higher --rate"
                .to_owned(),
        ),
    };
    Some(format!(
        "about {} requests would prove it if {late} ({flags})",
        grouped(rounded_up(requests * times))
    ))
}

/// Whether so many blocks are looked at once, at their end. With several looks a comparison may end before a limit is proven.
pub fn looks_once(blocks: u32, alpha: f64, seed: u64) -> bool {
    let looks = stats::looks(blocks, alpha, seed);
    looks.is_some_and(|looks| looks.len() == 1)
}

/// Three digits of a number, not below it.
fn rounded_up(number: f64) -> u64 {
    let unit = 10_f64.powf((number.log10().floor() - 2.0).max(0.0));
    ((number / unit).ceil() * unit) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::Feasibility;

    fn arm(rate: f64, interval: (f64, f64), requests: u64) -> (Document, ArmSummary) {
        let mut document = crate::sample::document("tune");
        document.plan.objective.latency = Some(run::LatencyObjective {
            percentile: 99.0,
            limit_ms: 250.0,
        });
        document.plan.timing.objective_s = 5.0;
        let arm = &mut document.arms[1];
        arm.feasible = Feasibility::Unclear;
        arm.growth = None;
        (arm.violation_rate, arm.violation_interval) = (Some(rate), Some(interval));
        arm.violation_requests = Some(requests);
        let arm = arm.clone();
        (document, arm)
    }

    #[test]
    fn the_blocks_that_should_be_enough_are_named() {
        let (document, arm) = arm(0.0, (0.0, 0.0121), 1210);
        let seen = seen(&document, &arm).unwrap();
        assert_eq!(
            seen,
            "0.00 % of its 1,210 requests took longer, with 95 % confidence 0.00 to 1.21 %"
        );
        let remedy = remedy(&document, Some(&arm));
        assert!(
            remedy.starts_with(
                "about 1,470 requests would prove it if none of them is late (--blocks "
            ),
            "{remedy}"
        );
    }

    #[test]
    fn longer_windows_where_a_run_cannot_have_so_many_blocks() {
        let (document, few) = arm(0.0, (0.0, 0.12), 120);
        let said = remedy(&document, Some(&few));
        assert!(
            said.contains("if none of them is late (--window 62s --budget "),
            "{said}"
        );
        let (document, fewer) = arm(0.0, (0.0, 0.5), 20);
        let said = remedy(&document, Some(&fewer));
        assert!(said.starts_with("one run cannot measure enough"), "{said}");
    }

    #[test]
    fn longer_windows_are_no_advice_where_memory_grows() {
        let (mut document, mut arm) = arm(0.0, (0.0, 0.0121), 1210);
        arm.growth = Some(crate::sample::growth());
        document.arms[1] = arm;
        let said = remedy(&document, document.arms.get(1));
        assert!(said.contains("longer windows would not"), "{said}");
        let other = remedy(&document, None);
        assert_eq!(other, MORE);
    }

    #[test]
    fn no_number_helps_where_more_are_late_than_allowed() {
        for (rate, interval) in [(0.02, (0.005, 0.04)), (0.0, (0.0, 0.005))] {
            let (document, arm) = arm(rate, interval, 3000);
            let said = remedy(&document, Some(&arm));
            assert_eq!(said, MORE);
        }
    }
}
