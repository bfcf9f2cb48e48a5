//! What a reader must know before believing a verdict.

use crate::procedure::Procedure;
use crate::request::Arm;
use run::{Document, Feasibility, TrialStatus};

/// Growth that would reach the memory limit within so many thousand requests is worth a warning.
const SOON_THOUSANDS: f64 = 1_000.0;

/// Says so when the chosen configuration may yet break a limit: memory that still grew, latency not proven.
pub fn warn_of_limits(document: &mut Document, chosen: &Arm) {
    let arm = document.arms.iter().find(|a| a.name == chosen.name);
    let growing = arm.and_then(|a| Some((a.pss_bytes?, a.growth_bytes_per_thousand?)));
    if let (Some(limit), Some((pss, growth))) = (document.plan.objective.max_memory_bytes, growing)
        && growth > 0.0
        && pss < limit
    {
        let thousands = (limit - pss) as f64 / growth;
        if thousands < SOON_THOUSANDS {
            document.warnings.push(format!(
                "memory of {chosen} still grew by {:.1} MiB per thousand requests; at that pace it would pass \
                 the limit of {} MiB after {:.0} thousand more",
                growth / f64::from(1 << 20),
                limit >> 20,
                thousands
            ));
        }
    }
    let Some(limit) = document.plan.objective.latency else {
        return;
    };
    let unproven = document
        .arms
        .iter()
        .find(|a| a.name == chosen.name && a.feasible == Feasibility::Unclear);
    if let Some(arm) = unproven {
        let seen = match (arm.violation_rate, arm.violation_interval) {
            (Some(rate), Some((low, high))) => format!(
                "{:.2} % of its requests took longer, which may mean {:.2} to {:.2} %",
                rate * 100.0,
                low * 100.0,
                high * 100.0
            ),
            _ => "no latency window of it counts".to_owned(),
        };
        document.warnings.push(format!(
            "that {chosen} keeps p{} = {:.0} ms is not proven: {seen}; more blocks or longer windows would tell",
            limit.percentile, limit.limit_ms
        ));
    }
}

/// What a reader must know before believing it.
pub fn warn(procedure: &mut Procedure<'_>) {
    let host_warnings = host_warnings(procedure);
    let document = &mut procedure.store.document;
    let counted = document.trials.iter().filter(|t| t.counts()).count();
    let unsteady = document
        .trials
        .iter()
        .filter(|t| t.status == TrialStatus::NotSteady)
        .count();
    if unsteady * 4 > counted {
        document.warnings.push(format!("{unsteady} of {counted} trials were not steady after their warm-up; longer windows (--window, --budget) would help"));
    }
    let failures: u64 = document
        .trials
        .iter()
        .filter_map(|t| t.saturation.as_ref())
        .map(|w| w.errors + w.timeouts)
        .sum();
    if failures > 0 {
        document.warnings.push(format!("{failures} requests failed in saturation windows; they count as infinitely late and not as capacity"));
    }
    if let Some(calibration) = document.calibration.as_ref().filter(|c| c.allowance > 0.0) {
        let warning = crate::calibrate::sentence(calibration, document.plan.margin);
        document.warnings.push(warning);
    }
    document.warnings.push(format!(
        "measured in the {} environment on this host; mail and jobs that requests start were not switched off unless your hooks do it",
        document.plan.environment
    ));
    document.warnings.extend(host_warnings);
}

/// What on this host spoils what was measured, stolen time and swapping over the whole of it.
pub fn host_warnings(procedure: &Procedure<'_>) -> Vec<String> {
    let Ok(facts) = host::facts::collect() else {
        return Vec::new();
    };
    let facts = match (
        &procedure.before,
        host::facts::Activity::read(&host::Roots::default()),
    ) {
        (Some((before, since)), Ok(now)) => facts.observe(before, &now, since.elapsed()),
        _ => facts,
    };
    let warnings = host::warnings(&host::HostFacts {
        // Load and waiting of now are mostly this run's own; what was there before it is the question.
        load_average_1m: Some(procedure.store.document.host.load_average),
        cpu_pressure: None,
        ..facts
    });
    warnings.iter().map(ToString::to_string).collect()
}
