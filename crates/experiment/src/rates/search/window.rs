//! One window of the search: as the document has it, and as the search counts it.

use crate::rates::station::Offered;
use crate::windows::quantile_ms;
use run::{RatePurpose, RateTrial};

/// A trial as the search counts it.
pub(super) fn counted(trial: &RateTrial) -> capacity::RateTrial {
    capacity::RateTrial {
        per_s: trial.asked_per_s,
        seconds: trial.seconds,
        requests: trial.requests,
        violations: trial.late + trial.failed,
    }
}

pub(super) fn described(
    offered: &Offered,
    per_s: f64,
    purpose: RatePurpose,
    recovery_s: f64,
    recovered: bool,
) -> RateTrial {
    let outcome = &offered.outcome;
    let requests = outcome.counts.scheduled - outcome.counts.cut;
    let failed = outcome.errors.total();
    RateTrial {
        purpose,
        asked_per_s: per_s,
        seconds: outcome.window().as_secs_f64(),
        requests,
        in_time: requests - outcome.violations.min(requests),
        late: outcome.violations.saturating_sub(failed),
        failed,
        p50_ms: quantile_ms(&outcome.response, 0.50),
        p99_ms: quantile_ms(&outcome.response, 0.99),
        utilisation: offered.utilisation,
        generator_cpu: outcome.generator_cpu_share(),
        lateness_p99_ms: quantile_ms(&outcome.lateness, 0.99),
        recovery_s,
        recovered,
        refused: outcome.generator_ok().err().map(|t| t.to_string()),
    }
}
