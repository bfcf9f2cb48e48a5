//! What the page looks up in a document: how an arm is called, and which comparison speaks for it.

use run::load::least_values;
use run::{
    Answer, ArmSummary, Comparison, Document, Feasibility, Kind, LatencyObjective, Stage, Trial,
    Verdict,
};
use std::collections::BTreeMap;

/// What the first arm is called: `tune` compares with what runs today, the others with what was named first.
pub fn baseline_word(document: &Document) -> &'static str {
    match document.kind {
        Kind::Tune | Kind::Prove => "today",
        Kind::Compare | Kind::Sweep | Kind::Check => "baseline",
    }
}

/// The arm that everything is compared with; others may have the same settings.
pub fn baseline(document: &Document) -> Option<&ArmSummary> {
    let named = document.comparisons.first();
    document.arms.iter().find(|arm| match named {
        Some(comparison) => arm.name == comparison.baseline,
        None => {
            arm.settings == document.plan.baseline
                && arm.environment == document.plan.baseline_environment
        }
    })
}

/// Whether the arm is that one.
pub fn is_baseline(document: &Document, arm: &ArmSummary) -> bool {
    baseline(document).is_some_and(|first| first.name == arm.name)
}

/// Whether the run tried each configuration once, to see that it works: its figures prove and compare nothing, whatever it is asked.
pub fn is_rehearsal(document: &Document) -> bool {
    document.kind != Kind::Tune && document.plan.blocks == 1
}

/// An arm's settings, and which of two with the same settings it is.
pub fn called(document: &Document, arm: &ArmSummary) -> String {
    let same = |other: &&ArmSummary| {
        other.settings == arm.settings && other.environment == arm.environment
    };
    if let Some(label) = &arm.label {
        return label.clone();
    }
    let called = run::called(arm.settings, &arm.environment);
    if document.arms.iter().filter(same).count() < 2 {
        called
    } else if is_baseline(document, arm) {
        format!("{called} ({})", baseline_word(document))
    } else if arm.environment.is_empty() || arm.name.ends_with("-again") {
        format!("{called} (again)")
    } else {
        // They differ in what is shown nowhere; their names distinguish them.
        format!("{called} ({})", arm.name)
    }
}

/// Likewise by name.
pub fn called_by_name(document: &Document, name: &str) -> String {
    let arm = document.arms.iter().find(|arm| arm.name == name);
    arm.map_or_else(|| name.to_owned(), |arm| called(document, arm))
}

/// The capacities of an arm in a stage, requests per second by block.
pub fn capacities_by_block(document: &Document, stage: Stage, arm: &str) -> BTreeMap<u32, f64> {
    let trials = document.trials.iter();
    let mine = trials.filter(|t| t.stage == stage && t.arm == arm && t.counts());
    mine.filter_map(|t| Some((t.block, t.capacity_per_s()?)))
        .collect()
}

/// Whether a claim may rest on the comparison.
pub fn decides(comparison: &Comparison) -> bool {
    matches!(comparison.stage, Stage::Confirm | Stage::Compare)
}

/// The comparison that says most about an arm: the deciding one before the race's.
pub fn comparison_of<'a>(document: &'a Document, arm: &ArmSummary) -> Option<&'a Comparison> {
    let mut mine = document
        .comparisons
        .iter()
        .filter(|c| c.candidate == arm.name);
    mine.clone().find(|c| decides(c)).or_else(|| mine.next())
}

/// Whether the answer is another configuration than the baseline.
pub fn advises_change(verdict: &Verdict) -> bool {
    matches!(verdict.answer, Answer::Change | Answer::Smaller)
}

/// The arm that the answer advises, or says to keep; none when it does neither.
pub fn advised(document: &Document) -> Option<&ArmSummary> {
    let verdict = document.verdict.as_ref()?;
    match verdict.answer {
        Answer::Change | Answer::Smaller => document.arms.iter().find(|arm| match &verdict.arm {
            Some(name) => arm.name == *name,
            None => arm.settings == verdict.settings,
        }),
        Answer::Keep => baseline(document),
        Answer::Undecided | Answer::NoneMeets | Answer::Table => None,
    }
}

/// Whether anything is known of an arm's latency: where nothing is, a missing percentile is not an infinite one.
pub fn latency_known(arm: &ArmSummary) -> bool {
    arm.trials > 0 && arm.latency_trials != Some(0)
}

/// Requests whose response times an arm's percentiles are of.
pub fn latency_requests(document: &Document, arm: &ArmSummary) -> u64 {
    let counting = || {
        let mine = run::evidence(&arm.name, &document.trials).into_iter();
        let windows = mine.filter_map(|t| t.objective.as_ref().filter(|_| t.counts()));
        windows.map(|window| window.requests).sum()
    };
    arm.violation_requests.unwrap_or_else(counting)
}

/// Whether so many requests have a p99: of fewer it would be the slowest.
pub fn has_p99(document: &Document, arm: &ArmSummary) -> bool {
    latency_requests(document, arm) >= least_values(99.0)
}

/// The word for a judgement on limits.
pub fn limit_word(feasible: Feasibility) -> &'static str {
    match feasible {
        Feasibility::Meets => "kept",
        Feasibility::Breaks => "broken",
        Feasibility::Unclear => "not proven",
    }
}

/// The word for all limits of an arm together: memory that grows keeps none for long.
pub fn limits_word(document: &Document, arm: &ArmSummary) -> &'static str {
    let limited = document.plan.objective.max_memory_bytes.is_some();
    match arm.feasible {
        Feasibility::Meets if limited && arm.growth.is_some() => limit_word(Feasibility::Unclear),
        feasible => limit_word(feasible),
    }
}

/// Whether the latency limit alone is kept, by the interval of the share over it.
pub fn latency_kept(arm: &ArmSummary, limit: LatencyObjective) -> Feasibility {
    let allowed = limit.allowed_violation_rate();
    match arm.violation_interval {
        Some((_, high)) if high <= allowed => Feasibility::Meets,
        Some((low, _)) if low > allowed => Feasibility::Breaks,
        _ => Feasibility::Unclear,
    }
}

/// Whether the memory limit alone is kept, by every trial of the arm.
pub fn memory_kept(document: &Document, arm: &ArmSummary, limit: u64) -> Feasibility {
    let trials: Vec<&Trial> = document
        .trials
        .iter()
        .filter(|t| t.arm == arm.name && t.counts())
        .filter(|t| !matches!(t.stage, Stage::Pilot | Stage::Path))
        .collect();
    let seen: Vec<u64> = trials
        .iter()
        .filter_map(|t| t.memory.as_ref()?.against_limit(limit))
        .collect();
    let all_known = document.plan.age.is_none() || seen.len() == trials.len();
    match (seen.iter().min(), seen.iter().max()) {
        (_, Some(most)) if *most <= limit && all_known => Feasibility::Meets,
        (Some(least), _) if *least > limit => Feasibility::Breaks,
        _ => Feasibility::Unclear,
    }
}
