//! What arms in blocks came to, each against the first: their rows, all figures of them, and the verdict.

use crate::asserted;
use crate::calibrate::sentence;
use crate::deciding::{self, Measured};
use crate::error::Stopped;
use crate::judge;
use crate::procedure::{Procedure, all_failed, last_reason};
use crate::request::Arm;
use crate::tune;
use run::{
    Answer, ArmSummary, Comparison, Document, Foreseen, Metric, Outcome, Settings, Stage, Verdict,
    change_with_interval,
};

/// Each arm once: whether it works, and nothing else.
pub fn conclude_rehearsal(procedure: &mut Procedure<'_>, arms: &[Arm]) -> Result<(), Stopped> {
    let document = &mut procedure.store.document;
    let failed = unmeasured(&document.trials, arms);
    let (sentence, exit_code) = match failed.as_slice() {
        [] => (
            "A rehearsal: every configuration started, served and ended.".to_owned(),
            0,
        ),
        failed => (format!("A rehearsal: {}.", failed.join("; ")), 3),
    };
    document.arms = rows(document, arms);
    let sentence = format!("{sentence} One short trial each compares nothing.");
    let settings = arms[0].settings;
    document.verdict = Some(Verdict::of(Answer::Table, sentence, settings, exit_code));
    tune::warn(procedure);
    Ok(())
}

/// One arm, compared with itself alone.
pub fn conclude_alone(procedure: &mut Procedure<'_>, arm: &Arm) -> Result<(), Stopped> {
    let document = &mut procedure.store.document;
    let predicted = tune::foreseen(document, arm.settings);
    let fate = "compared with itself".to_owned();
    let row = judge::summarise(arm, fate, predicted, document);
    document.arms = vec![row];
    let plan = &document.plan;
    let said = document
        .calibration
        .as_ref()
        .map(|c| sentence(c, plan.margin))
        .unwrap_or_default();
    let can_miss = plan.detectable.can_miss_with_remedy();
    let found = can_miss.map_or_else(String::new, |can_miss| {
        let blocks = run::counted(plan.blocks, "block");
        format!(" A run of {blocks} {can_miss}.")
    });
    let failing = judge::failing(
        &document.trials,
        Stage::Calibrate,
        &arm.name,
        judge::Role::Reference,
    );
    let (answer, sentence, exit_code) = match failing {
        Some(why) => (Answer::Undecided, format!("Not comparable: {why}."), 3),
        None => (Answer::Table, format!("{said}.{found}"), 0),
    };
    document.verdict = Some(Verdict::of(answer, sentence, arm.settings, exit_code));
    tune::warn(procedure);
    Ok(())
}

/// The arms of which every trial failed, each with the reason.
fn unmeasured(trials: &[run::Trial], arms: &[Arm]) -> Vec<String> {
    let failed = arms.iter().filter_map(|arm| {
        let (_, reason) = all_failed(trials, Stage::Compare, &arm.name)?;
        let reason = tune::first_line(&reason);
        let called = arm.called_among(arms);
        Some(format!("{called} could not be measured: {reason}"))
    });
    failed.collect()
}

/// What the model says of an arm; nothing of one that sets other variables than the first, from which the model comes.
fn foreseen(document: &Document, arm: &Arm, first: &Arm) -> Option<Foreseen> {
    if arm.overlay == first.overlay && arm.revision == first.revision {
        tune::foreseen(document, arm.settings)
    } else {
        None
    }
}

/// A row for each arm.
pub fn rows(document: &Document, arms: &[Arm]) -> Vec<ArmSummary> {
    arms.iter()
        .map(|arm| {
            let failed = all_failed(&document.trials, Stage::Compare, &arm.name);
            let fate = match failed {
                Some((_, reason)) => format!("failed: {}", tune::first_line(&reason)),
                None if *arm == arms[0] => "compared with".to_owned(),
                None => "compared".to_owned(),
            };
            judge::summarise(arm, fate, foreseen(document, arm, &arms[0]), document)
        })
        .collect()
}

/// The verdict on comparisons side by side, in words that have begun.
pub fn side_by_side(
    comparisons: &[Comparison],
    measured: Measured,
    begun: String,
    settings: Settings,
) -> Verdict {
    let undecided = comparisons.iter().all(|c| c.outcome == Outcome::Undecided);
    let blocks_to_decide = comparisons.iter().filter_map(|c| c.blocks_to_decide).max();
    let blocks_to_decide = blocks_to_decide.filter(|_| undecided);
    let more = deciding::words(comparisons, measured);
    let more = more.map_or_else(String::new, |words| format!("; {words}"));
    let (answer, exit_code) = match undecided {
        true => (Answer::Undecided, 3),
        false => (Answer::Table, 0),
    };
    Verdict {
        blocks_to_decide,
        ..Verdict::of(answer, format!("{begun}{more}."), settings, exit_code)
    }
}

/// What several verdicts at once mean for a reader; nothing of one.
pub fn several(comparisons: usize, alpha: f64) -> Option<String> {
    (comparisons > 1).then(|| {
        format!(
            "{comparisons} comparisons stand side by side, each with its own error rate of {:.0} %",
            alpha * 100.0
        )
    })
}

/// Nothing was compared: the measurements are shown all the same, below the reason.
pub fn without_comparison(
    procedure: &mut Procedure<'_>,
    arms: &[Arm],
    why: String,
) -> Result<(), Stopped> {
    let document = &mut procedure.store.document;
    document.arms = rows(document, arms);
    document.assertions = asserted::asserted(document, &procedure.experiment.assertions);
    if document.arms.iter().all(|arm| arm.trials == 0) {
        return Err(Stopped::NoAnswer(why));
    }
    let broken = unmeasured(&document.trials, arms);
    let why = match broken.is_empty() {
        true => tune::first_line(&why).to_owned(),
        false => broken.join("; "),
    };
    let settings = arms[0].settings;
    let sentence = format!("Nothing could be compared: {why}.");
    document.verdict = Some(Verdict::of(Answer::Undecided, sentence, settings, 3));
    tune::warn(procedure);
    Ok(())
}

/// Judges what was measured, in all its figures.
pub fn conclude(procedure: &mut Procedure<'_>, arms: &[Arm]) -> Result<(), Stopped> {
    let document = &mut procedure.store.document;
    document.arms = rows(document, arms);
    if document.comparisons.is_empty() {
        let why = last_reason(&document.trials);
        return without_comparison(
            procedure,
            arms,
            format!("not one block could be measured whole: {why}"),
        );
    }
    let judged = std::mem::take(&mut document.comparisons).into_iter();
    document.comparisons = judged
        .map(|comparison| judge::withdrawn(&document.trials, comparison))
        .collect();
    // The noisiest comparison speaks for all of them.
    let scatter = |c: &&Comparison| c.sd_log_ratio.unwrap_or(0.0);
    let noisiest = document
        .comparisons
        .iter()
        .max_by(|a, b| scatter(a).total_cmp(&scatter(b)));
    if let Some(detectable) = noisiest.and_then(|c| judge::detectable(document, c)) {
        document.plan.detectable = detectable;
    }
    let added = |metric| judge::in_addition(document, &document.comparisons, metric);
    let (memory, latency) = (added(Metric::Memory), added(Metric::ResponseTime));
    (document.memory, document.latency) = (memory, latency);
    document.pages = judge::page_times(document, &document.comparisons);
    document.assertions = asserted::asserted(document, &procedure.experiment.assertions);
    let settings = arms[0].settings;
    document.verdict = Some(match document.assertions.as_slice() {
        [] => {
            let begun = outcomes(document, arms);
            side_by_side(
                &document.comparisons,
                Measured::windows(document),
                begun,
                settings,
            )
        }
        assertions => {
            let one = match procedure.experiment.revisions.are_one() {
                true => " (one commit)",
                false => "",
            };
            let begun = format!("{} against {}{one}", arms[1], arms[0]);
            asserted::verdict(assertions, &begun, settings)
        }
    });
    let several = several(document.comparisons.len(), document.plan.alpha);
    document.warnings.extend(several);
    let unproven: Vec<String> = arms
        .iter()
        .filter_map(|arm| tune::unproven(document, arm, arm.called_among(arms)))
        .collect();
    document.warnings.extend(unproven);
    tune::warn(procedure);
    Ok(())
}

/// What each comparison came to, in one sentence that has begun.
fn outcomes(document: &Document, arms: &[Arm]) -> String {
    let settings_of = |name: &str| {
        arms.iter()
            .find(|a| a.name == name)
            .map_or_else(|| name.to_owned(), |arm| arm.called_among(arms))
    };
    let mut said: Vec<String> = document
        .comparisons
        .iter()
        .map(|c| {
            let why = c.not_comparable.clone().unwrap_or_else(|| {
                let change = change_with_interval(c.ratio, c.low, c.high);
                format!("{} {change}", c.metric.words())
            });
            format!("{} is {}: {why}", settings_of(&c.candidate), c.word())
        })
        .collect();
    let compared = |arm: &Arm| document.comparisons.iter().any(|c| c.candidate == arm.name);
    let missing = arms[1..].iter().filter(|arm| !compared(arm));
    said.extend(missing.map(|arm| format!("{} could not be measured", arm.called_among(arms))));
    format!(
        "Against {}: {}",
        arms[0].called_among(arms),
        said.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use run::TrialStatus;

    #[test]
    fn each_outcome_has_its_change_or_why_there_is_none() {
        let mut document = sample::document("compare");
        let arms: Vec<Arm> = document.arms.iter().map(|a| Arm::of(a.settings)).collect();
        let found = &mut document.comparisons[0];
        (found.ratio, found.low, found.high) = (1.12, Some(1.08), Some(1.16));
        let said = outcomes(&document, &arms);
        assert!(
            said.ends_with("is better: throughput +12.0 % (+8.0 to +16.0)"),
            "{said}"
        );
        document.comparisons[0].not_comparable = Some("2.0 % failed".to_owned());
        let said = outcomes(&document, &arms);
        assert!(said.ends_with("is not comparable: 2.0 % failed"), "{said}");
    }

    /// Of three configurations one may not be measured.
    #[test]
    fn one_comparison_stands_alone() {
        assert_eq!(several(1, 0.05), None);
        let two = several(2, 0.05).unwrap();
        assert!(two.starts_with("2 comparisons stand side by side"), "{two}");
    }

    #[test]
    fn an_arm_that_failed_once_is_named_as_the_user_calls_it_with_the_reason() {
        let mut document = sample::document("compare");
        let mut arms: Vec<Arm> = document.arms.iter().map(|a| Arm::of(a.settings)).collect();
        arms[1].label = Some("arenas-2".to_owned());
        let broken = arms[1].name.clone();
        let mut seen = false;
        document.trials.retain_mut(|trial| {
            if trial.stage != Stage::Compare || trial.arm != broken {
                return true;
            }
            trial.status = TrialStatus::Failed;
            trial.reason = Some("the server died\n  its log".to_owned());
            !std::mem::replace(&mut seen, true)
        });
        assert_eq!(
            unmeasured(&document.trials, &arms),
            ["arenas-2 could not be measured: the server died"]
        );
        let rows = rows(&document, &arms);
        assert_eq!(rows[1].fate, "failed: the server died");
        assert!(!rows[0].fate.contains("failed"));
    }
}
