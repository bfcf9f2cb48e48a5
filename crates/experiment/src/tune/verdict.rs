//! The answer: what the confirmation allows to be said, in one sentence, with what to change.

use super::candidates::Entrant;
use super::{Fates, choose, path, predicted};
use crate::judge::{self, Judging};
use crate::procedure::Procedure;
use crate::request::Arm;
use run::{
    Answer, ArmSummary, Comparison, Detectable, Document, Feasibility, FileChange, Headroom,
    Outcome, SdSource, Settings, Stage, TrialStatus, Verdict,
};

/// Growth that would reach the memory limit within so many thousand requests is worth a warning.
const SOON_THOUSANDS: f64 = 1_000.0;
/// Share of its capacity at which a server should get help.
const ADD_CAPACITY_AT: f64 = 0.8;

/// Nobody but the baseline survived the race.
pub fn without_challenger(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    arms: &[Arm],
    entrants: &[Entrant],
    fates: Fates,
) {
    let document = &mut procedure.store.document;
    summarise(document, arms, entrants, &fates);
    let feasible = standing(document, baseline);
    let (answer, sentence, exit_code) = if feasible == Feasibility::Breaks {
        (
            Answer::NoneMeets,
            "No configuration that was tried keeps the limits.".to_owned(),
            1,
        )
    } else {
        let sentence = format!(
            "Keep {}: every other configuration tried was behind it, broke a limit or failed.",
            baseline.settings
        );
        (Answer::Keep, sentence, 0)
    };
    let headroom = headroom(document, baseline);
    document.verdict = Some(Verdict {
        answer,
        sentence,
        settings: baseline.settings,
        path: Vec::new(),
        headroom,
        changes: Vec::new(),
        blocks_to_decide: None,
        exit_code,
    });
    warn(procedure);
}

/// The challenger met the baseline.
#[allow(clippy::too_many_arguments)] // The parts of one answer, joined here and nowhere else.
pub fn confirmed(
    procedure: &mut Procedure<'_>,
    baseline: &Arm,
    challenger: &Arm,
    arms: &[Arm],
    entrants: &[Entrant],
    fates: Fates,
    comparison: Comparison,
    steps: &[(String, Settings, Settings)],
) {
    let document = &mut procedure.store.document;
    summarise(document, arms, entrants, &fates);
    race_comparisons(document, baseline, arms);
    if let Some(sd) = comparison.sd_log_ratio {
        let effect =
            judge::detectable(document.plan.blocks, sd, document.plan.alpha, document.seed);
        document.plan.detectable = Detectable {
            sd_log_ratio: sd,
            source: SdSource::Data,
            effect,
        };
    }
    let (answer, exit_code) = answer(document, baseline, challenger, &comparison);
    let chosen = if matches!(answer, Answer::Change | Answer::Smaller) {
        challenger
    } else {
        baseline
    };
    let verdict = Verdict {
        answer,
        sentence: sentence(document, answer, baseline, challenger, &comparison),
        settings: chosen.settings,
        path: path::steps(document, steps),
        headroom: headroom(document, chosen),
        changes: if chosen == challenger {
            changes(procedure.bench.experiment, chosen.settings)
        } else {
            Vec::new()
        },
        blocks_to_decide: comparison
            .blocks_to_decide
            .filter(|_| answer == Answer::Undecided),
        exit_code,
    };
    let wanted = document.plan.blocks;
    if comparison.blocks < wanted && comparison.outcome == Outcome::Undecided {
        let reasons = document.trials.iter().filter(|t| !t.counts());
        let last = reasons.filter_map(|t| t.reason.clone()).next_back();
        document.warnings.push(format!(
            "only {} of {wanted} blocks could be used: {}",
            comparison.blocks,
            last.unwrap_or_else(|| "trials failed".to_owned())
        ));
    }
    document.comparisons.push(comparison);
    document.verdict = Some(verdict);
    warn_of_limits(document, chosen.settings);
    warn(procedure);
}

fn answer(
    document: &Document,
    baseline: &Arm,
    challenger: &Arm,
    comparison: &Comparison,
) -> (Answer, u8) {
    let (ours, theirs) = (standing(document, challenger), standing(document, baseline));
    match (ours, theirs) {
        (Feasibility::Breaks, Feasibility::Breaks) => return (Answer::NoneMeets, 1),
        (Feasibility::Breaks, _) => return (Answer::Keep, 0),
        // A configuration that keeps the limits beats any that does not, whatever it carries.
        (Feasibility::Meets, Feasibility::Breaks) => return (Answer::Change, 0),
        _ => {}
    }
    match comparison.outcome {
        Outcome::Better => (Answer::Change, 0),
        Outcome::Worse => (Answer::Keep, 0),
        Outcome::Equivalent if choose::smaller(document, challenger, baseline) => {
            (Answer::Smaller, 0)
        }
        Outcome::Equivalent => (Answer::Keep, 0),
        Outcome::Undecided => (Answer::Undecided, 3),
    }
}

fn sentence(
    document: &Document,
    answer: Answer,
    baseline: &Arm,
    challenger: &Arm,
    comparison: &Comparison,
) -> String {
    let percent = |ratio: f64| format!("{:.0} %", ((ratio - 1.0) * 100.0).abs());
    let interval = match (comparison.low, comparison.high) {
        (Some(low), Some(high)) => format!(
            "{:+.0} to {:+.0} %",
            (low - 1.0) * 100.0,
            (high - 1.0) * 100.0
        ),
        _ => "no interval".to_owned(),
    };
    let blocks = comparison.blocks;
    let (ours, theirs) = (challenger.settings, baseline.settings);
    match answer {
        Answer::Change if comparison.outcome == Outcome::Better => {
            format!(
                "Run {ours}: it carries {} more than {theirs} ({interval}, {blocks} blocks).",
                percent(comparison.ratio)
            )
        }
        Answer::Change => format!(
            "Run {ours}: it keeps the limits, which {theirs} does not (capacity {interval}, {blocks} blocks)."
        ),
        Answer::Smaller => format!(
            "Run {ours}: it carries as much as {theirs} ({interval}, {blocks} blocks) and is smaller."
        ),
        Answer::Keep if comparison.outcome == Outcome::Worse => {
            format!(
                "Keep {theirs}: the best other, {ours}, carries {} less ({interval}, {blocks} blocks).",
                percent(comparison.ratio)
            )
        }
        Answer::Keep if comparison.outcome == Outcome::Equivalent => {
            format!(
                "Keep {theirs}: the best other, {ours}, carries no more ({interval}, {blocks} blocks)."
            )
        }
        Answer::Keep => format!("Keep {theirs}: the best other, {ours}, breaks a limit."),
        Answer::NoneMeets => "No configuration that was tried keeps the limits.".to_owned(),
        Answer::Undecided | Answer::Table => {
            let more = match comparison.blocks_to_decide {
                Some(more) => format!("about {more} blocks would decide"),
                None => "no feasible number of blocks would decide at this noise".to_owned(),
            };
            let margin = document.plan.margin * 100.0;
            format!(
                "Undecided between {theirs} and {ours} ({interval}, {blocks} blocks, margin {margin:.0} %): {theirs} stays for now; {more}."
            )
        }
    }
}

fn standing(document: &Document, arm: &Arm) -> Feasibility {
    document
        .arms
        .iter()
        .find(|a| a.name == arm.name)
        .map_or(Feasibility::Meets, |a| a.feasible)
}

fn summarise(document: &mut Document, arms: &[Arm], entrants: &[Entrant], fates: &Fates) {
    let mut rows: Vec<ArmSummary> = Vec::new();
    let tried = document
        .trials
        .iter()
        .filter(|t| t.stage == Stage::Confirm)
        .map(|t| Arm::of(t.settings));
    let mut all = arms.to_vec();
    for arm in tried {
        if !all.contains(&arm) {
            all.push(arm);
        }
    }
    for (index, arm) in all.iter().enumerate() {
        let predicted = predicted(entrants, &arm.name)
            .or_else(|| super::candidates::predict(document, arm.settings));
        let because = entrants.iter().find(|e| e.arm == *arm).map(|e| e.because);
        let fate = match (fates.get(&arm.name), because) {
            (Some(fate), Some(because)) => format!("{because}; {fate}"),
            (Some(fate), None) => fate.clone(),
            (None, Some(because)) => because.to_owned(),
            (None, None) if index == 0 => "what runs today".to_owned(),
            (None, None) => "a step of the path".to_owned(),
        };
        rows.push(judge::summarise(
            arm,
            fate,
            predicted,
            &document.trials,
            &document.plan.objective,
            document.seed,
        ));
    }
    document.arms = rows;
}

/// What the race saw of each arm, for the reader; no claim rests on it.
fn race_comparisons(document: &mut Document, baseline: &Arm, arms: &[Arm]) {
    let judging = Judging {
        margin: document.plan.margin,
        alpha: document.plan.alpha,
    };
    let found = arms.iter().filter(|a| *a != baseline).filter_map(|a| {
        judge::compare(
            &document.trials,
            Stage::Race,
            &baseline.name,
            &a.name,
            judging,
        )
    });
    document.comparisons = found.collect();
}

fn headroom(document: &Document, arm: &Arm) -> Option<Headroom> {
    let summary = document.arms.iter().find(|a| a.name == arm.name)?;
    let capacity = summary.capacity_per_s.filter(|c| *c > 0.0)?;
    let boots: Vec<f64> = document
        .trials
        .iter()
        .filter(|t| t.arm == arm.name && t.counts())
        .filter_map(|t| t.boot_s)
        .collect();
    Some(Headroom {
        utilisation_at_rate: document.plan.rate_per_s.unwrap_or(0.0) / capacity,
        add_capacity_at_per_s: ADD_CAPACITY_AT * capacity,
        boot_s: stats::summary::median(&boots)?,
        deploy_overlap_bytes: 2 * summary.pss_bytes?,
    })
}

/// The settings as files, against what the application has.
pub fn changes(experiment: &crate::Experiment, settings: Settings) -> Vec<FileChange> {
    let knobs = advice::Knobs {
        workers: settings.workers,
        threads: settings.threads,
        preload: settings.preload,
    };
    let config = experiment
        .puma_config
        .clone()
        .unwrap_or_else(|| experiment.app_dir.join("config/puma.rb"));
    let name = config
        .strip_prefix(&experiment.app_dir)
        .unwrap_or(&config)
        .display()
        .to_string();
    let before = std::fs::read_to_string(&config).unwrap_or_default();
    let environment = std::fs::read_to_string(experiment.app_dir.join(".env")).unwrap_or_default();
    let all = [
        advice::puma_config(&name, &before, knobs),
        advice::environment_file(".env", &environment, knobs),
    ];
    all.into_iter()
        .filter(|c| !c.diff.is_empty())
        .map(|c| FileChange {
            path: c.path,
            diff: c.diff,
        })
        .collect()
}

/// Says so when the chosen configuration may yet break a limit: memory that still grew, latency not proven.
fn warn_of_limits(document: &mut Document, chosen: Settings) {
    let arm = document.arms.iter().find(|a| a.settings == chosen);
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
        .find(|a| a.settings == chosen && a.feasible == Feasibility::Unclear);
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
    let host_warnings = host::facts::collect()
        .map(|facts| host::warnings(&facts))
        .unwrap_or_default();
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
    document.warnings.push(format!(
        "measured in the {} environment on this host; mail and jobs that requests start were not switched off unless your hooks do it",
        document.plan.environment
    ));
    document.warnings.extend(
        host_warnings
            .into_iter()
            .map(|w| format!("{}: {}; {}", w.what, w.evidence, w.remedy)),
    );
}
