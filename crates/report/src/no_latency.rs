//! Why a configuration has no latency, or an infinite one: a figure that is missing without a word reads as a defect.

use crate::figures::{counted, grouped, share};
use crate::reading::{called, has_p99, is_rehearsal, latency_known, latency_requests};
use crate::sheet::Sheet;
use run::load::least_values;
use run::{ArmSummary, Document, Stage, Trial};

const HEADING: &str = "Latency that is missing (–) or endless (∞)";

/// Writes it; nothing where every percentile is a number.
pub fn write(sheet: &mut Sheet, document: &Document) {
    let reasons = reasons(document);
    if !reasons.is_empty() {
        sheet.listed(HEADING, &reasons);
    }
}

/// The same in Markdown.
pub fn markdown(document: &Document) -> Option<String> {
    let reasons = reasons(document);
    let items: String = reasons.iter().map(|s| format!("- {s}\n")).collect();
    (!reasons.is_empty()).then(|| format!("{HEADING}:\n\n{items}"))
}

/// A sentence for each configuration concerned, those that the generator refused for the same cause together; of one of which no
/// trial counts the trials' failures speak.
fn reasons(document: &Document) -> Vec<String> {
    let arms = document.arms.iter().filter(|arm| arm.trials > 0);
    let missing: Vec<(&ArmSummary, Missing<'_>)> = arms
        .filter_map(|arm| Some((arm, missing(document, arm)?)))
        .collect();
    let mut reasons = Vec::new();
    let mut said: Vec<&str> = Vec::new();
    for (arm, why) in &missing {
        let cause = match why {
            Missing::Refused { why, .. } => cause(why),
            Missing::Other(why) => {
                reasons.push(format!("{}: {why}", called(document, arm)));
                continue;
            }
        };
        if said.contains(&cause) {
            continue;
        }
        said.push(cause);
        let same: Vec<Together<'_>> = missing
            .iter()
            .filter_map(|(arm, why)| match why {
                Missing::Refused { with, why } if self::cause(why) == cause => Some(Together {
                    arm,
                    with: *with,
                    why,
                }),
                _ => None,
            })
            .collect();
        reasons.push(together(document, &same));
    }
    reasons
}

/// An arm of which this many trials have a latency that counts.
struct Together<'d> {
    arm: &'d ArmSummary,
    with: u32,
    why: &'d str,
}

/// The arms with their trials, and the reason once: of the last of them.
fn together(document: &Document, same: &[Together<'_>]) -> String {
    if let [one] = same {
        let why = refused_words(one.arm, one.with, one.why);
        return format!("{}: {why}", called(document, one.arm));
    }
    let arms = same.iter().map(|of| {
        let trials = counted(of.arm.trials, "trial");
        format!("{} of {trials} of {}", of.with, called(document, of.arm))
    });
    let arms: Vec<String> = arms.collect();
    let why = same.last().map_or("", |of| of.why);
    format!(
        "latency is valid in {}. Reason for the last trial without one: {why}",
        arms.join(", ")
    )
}

/// Why an arm of which trials count has no latency, or an infinite one, or one of fewer trials.
enum Missing<'d> {
    /// The generator's figures of the other trials do not count.
    Refused {
        with: u32,
        why: &'d str,
    },
    Other(String),
}

/// What refused a latency, without its figures and remedy.
fn cause(why: &str) -> &str {
    why.split_once(':').map_or(why, |(cause, _)| cause)
}

fn refused_words(arm: &ArmSummary, with: u32, why: &str) -> String {
    match with {
        0 => format!("no trial has a valid latency: {why}"),
        with => format!(
            "its percentiles come from {with} of its {}; the latency of the others is not valid: {why}",
            counted(arm.trials, "trial")
        ),
    }
}

/// Why an arm has no latency, or an infinite one, in short where the list below has it whole.
pub fn why(document: &Document, arm: &ArmSummary) -> Option<String> {
    Some(match missing(document, arm)? {
        Missing::Other(why) => why,
        Missing::Refused { with, why } => {
            format!("{} (see below)", refused_words(arm, with, cause(why)))
        }
    })
}

fn missing<'d>(document: &'d Document, arm: &ArmSummary) -> Option<Missing<'d>> {
    let mine = document.trials.iter();
    let mine = mine.filter(|t| t.arm == arm.name && t.counts());
    let mine: Vec<&Trial> = mine.collect();
    if !latency_known(arm) {
        return Some(match refused(&mine) {
            Some(why) => Missing::Refused { with: 0, why },
            None => Missing::Other(
                "no trial has a latency: nothing was answered at full load, which sets the rate"
                    .to_owned(),
            ),
        });
    }
    if let Some(few) = too_few(document, arm) {
        return Some(Missing::Other(match arm.p50_ms {
            // Its windows are short on purpose.
            Some(_) if is_rehearsal(document) => return None,
            None if is_rehearsal(document) => format!("p50 is ∞{}", failed(&mine)),
            None => format!("p50 is ∞{}; {few}", failed(&mine)),
            Some(_) => few,
        }));
    }
    match (arm.p50_ms, arm.p99_ms) {
        (None, _) => Some(Missing::Other(format!(
            "p50 and p99 are ∞{}",
            failed(&mine)
        ))),
        (_, None) => Some(Missing::Other(format!("p99 is ∞{}", failed(&mine)))),
        _ => {
            let with = arm.latency_trials.filter(|with| *with < arm.trials)?;
            let why = refused(&mine)?;
            Some(Missing::Refused { with, why })
        }
    }
}

/// Why an arm whose latency is known has no p99.
pub fn too_few(document: &Document, arm: &ArmSummary) -> Option<String> {
    (!has_p99(document, arm)).then(|| {
        format!(
            "no p99, since it takes {}, and its windows had {}; longer windows (--window, --budget) hold more",
            counted(least_values(99.0), "request"),
            latency_requests(document, arm)
        )
    })
}

/// The last reason why the latency of a trial does not count.
fn refused<'t>(trials: &[&'t Trial]) -> Option<&'t str> {
    trials.iter().rev().find_map(|trial| trial.why_no_latency())
}

/// Requests at the common rate that failed.
fn failed(trials: &[&Trial]) -> String {
    let after_pilot = trials.iter().filter(|t| t.stage != Stage::Pilot);
    let windows = after_pilot.filter_map(|t| t.objective.as_ref());
    let [errors, timeouts, requests] = windows.fold([0; 3], |[errors, timeouts, requests], w| {
        [
            errors + w.errors,
            timeouts + w.timeouts,
            requests + w.requests,
        ]
    });
    if requests == 0 {
        return String::new();
    }
    let late = match timeouts {
        0 => String::new(),
        timeouts => format!(", {} of them without an answer in time", grouped(timeouts)),
    };
    let failed = errors + timeouts;
    format!(
        ": {} of {} failed ({}){late}",
        grouped(failed),
        counted(requests, "request"),
        share(failed as f64 / requests as f64)
    )
}
