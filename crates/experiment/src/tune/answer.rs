//! What the confirmation allows to be said, and how it is said.

use super::choose;
use crate::deciding::{self, Measured};
use crate::judge::{self, Tally};
use crate::proof;
use crate::request::Arm;
use run::{
    Answer, ArmSummary, Comparison, Document, Feasibility, Metric, Outcome, Stage, TrialStatus,
    counted,
};

/// The answer and its exit code.
pub fn answer(
    document: &Document,
    baseline: &Arm,
    challenger: &Arm,
    comparison: &Comparison,
) -> (Answer, u8) {
    let (ours, theirs) = (standing(document, challenger), standing(document, baseline));
    match (ours, theirs) {
        (Feasibility::Breaks, Feasibility::Breaks) if every_arm_breaks(document) => {
            return (Answer::NoneMeets, 1);
        }
        (Feasibility::Breaks, Feasibility::Breaks) => return (Answer::Undecided, 3),
        // Today's settings exceed the limit as well, only with less certainty, so they are not kept.
        (Feasibility::Breaks, Feasibility::Unclear) if late(document, baseline).is_some() => {
            return (Answer::Undecided, 3);
        }
        (Feasibility::Breaks, _) => return (Answer::Keep, 0),
        // A configuration that keeps the limits beats any that does not, whatever it carries.
        (Feasibility::Meets, Feasibility::Breaks) => return (Answer::Change, 0),
        // Today's settings break the latency limit, and more often than this one does if it breaks it at all.
        (Feasibility::Unclear, Feasibility::Breaks)
            if less_often_late(document, challenger, baseline)
                && comparison.outcome == Outcome::Better => {}
        // One that may keep them is no reason yet to leave one that does, nor to trust one that does not.
        (Feasibility::Unclear, Feasibility::Breaks) => return (Answer::Undecided, 3),
        (Feasibility::Unclear, Feasibility::Meets) if comparison.outcome == Outcome::Better => {
            return (Answer::Undecided, 3);
        }
        _ => {}
    }
    // Crashes are evidence too: the surviving trials of an arm do not show how it would run.
    let crashed = failures(document, challenger) > 0;
    match comparison.outcome {
        Outcome::Better | Outcome::Equivalent if crashed => (Answer::Undecided, 3),
        Outcome::Better => (Answer::Change, 0),
        Outcome::Worse => (Answer::Keep, 0),
        Outcome::Equivalent if choose::smaller(document, challenger, baseline) => {
            (Answer::Smaller, 0)
        }
        Outcome::Equivalent => (Answer::Keep, 0),
        Outcome::Undecided => (Answer::Undecided, 3),
    }
}

/// The share of late requests of an arm with its interval, if it exceeds what the objective allows.
pub fn late(document: &Document, arm: &Arm) -> Option<(f64, (f64, f64))> {
    let allowed = document.plan.objective.latency?.allowed_violation_rate();
    let arm = summary(document, arm)?;
    let rate = arm.violation_rate.filter(|rate| *rate > allowed)?;
    Some((rate, arm.violation_interval?))
}

/// Whether an arm is proven to be late less often than another one, which breaks the latency limit, and keeps the other limits.
fn less_often_late(document: &Document, arm: &Arm, than: &Arm) -> bool {
    let interval = |arm| summary(document, arm).and_then(|arm| arm.violation_interval);
    let latency = document.plan.objective.latency;
    match (latency, interval(arm), interval(than)) {
        (Some(limit), Some((_, high)), Some((low, _))) => {
            low > limit.allowed_violation_rate()
                && high < low
                && !judge::standing(&arm.name, document).other_open
        }
        _ => false,
    }
}

/// Said when every arm breaks a limit; that requests are answered is one, with no other given too.
pub fn none_meets(document: &Document) -> String {
    let measured = document.arms.iter().filter(|arm| arm.trials > 0);
    if measured.clone().all(|arm| fails(document, &arm.name)) {
        let counting = document.trials.iter().filter(|t| t.counts());
        let windows = counting.filter_map(|t| t.saturation.as_ref());
        let page = Tally::of(windows.map(|window| (window, true))).worst_page("at full load");
        // With a limit on latency the reason why no rate keeps it names the page.
        let page = page.filter(|_| document.plan.objective.latency.is_none());
        let page = page.map_or_else(String::new, |page| format!("; {page}"));
        return format!(
            "No configuration that was tried answers its requests at full load: of each more than 1 % failed{page}."
        );
    }
    format!(
        "No configuration that was tried keeps the limits ({}).",
        limits(document)
    )
}

/// Whether an arm that breaks a limit does so because its requests fail, which is also a limit where none was given.
pub fn fails(document: &Document, name: &str) -> bool {
    !document.plan.objective.is_limited() || judge::standing(name, document).fails
}

/// The limits that were given, and which of them the arm breaks.
pub fn limits_and_why(document: &Document, arm: &Arm) -> String {
    let why = judge::standing(&arm.name, document).why;
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    format!("({}){why}", limits(document))
}

/// The limits that were given.
pub fn limits(document: &Document) -> String {
    let objective = &document.plan.objective;
    let latency = objective.latency.map(|limit| limit.to_string());
    let memory = objective
        .max_memory_bytes
        .map(|bytes| format!("{} MiB of memory", bytes >> 20));
    let rate = objective
        .must_carry_per_s
        .map(|rate| format!("{rate} requests a second"));
    let all: Vec<String> = latency.into_iter().chain(memory).chain(rate).collect();
    all.join(", ")
}

/// Whether nothing that was tried keeps the limits.
pub fn every_arm_breaks(document: &Document) -> bool {
    let breaks = |arm: &ArmSummary| arm.feasible == Feasibility::Breaks || arm.trials == 0;
    document.arms.iter().all(breaks)
}

/// Trials of an arm that failed while it was being confirmed.
fn failures(document: &Document, arm: &Arm) -> usize {
    let failed = |t: &&run::Trial| {
        t.stage == Stage::Confirm && t.arm == arm.name && t.status == TrialStatus::Failed
    };
    document.trials.iter().filter(failed).count()
}

/// The answer in one sentence for a person.
pub fn sentence(
    document: &Document,
    answer: Answer,
    baseline: &Arm,
    challenger: &Arm,
    comparison: &Comparison,
) -> String {
    let sentence = of_comparison(document, answer, baseline, challenger, comparison);
    match answer {
        Answer::Change | Answer::Smaller => with_unseen_limit(document, challenger, sentence),
        Answer::Keep => with_unseen_limit(document, baseline, sentence),
        Answer::NoneMeets | Answer::Undecided | Answer::Table => sentence,
    }
}

/// The sentence that advises an arm, which also says so where no latency window shows whether the arm keeps the limit.
pub fn with_unseen_limit(document: &Document, advised: &Arm, sentence: String) -> String {
    let mut arms = document.arms.iter();
    let arm = arms.find(|arm| arm.name == advised.name);
    match document.plan.objective.latency {
        Some(limit) if arm.is_some_and(|arm| arm.latency_trials == Some(0)) => format!(
            "{}; whether {advised} keeps {limit} is not known, because no latency window of it counts.",
            sentence.trim_end_matches('.')
        ),
        _ => sentence,
    }
}

fn of_comparison(
    document: &Document,
    answer: Answer,
    baseline: &Arm,
    challenger: &Arm,
    comparison: &Comparison,
) -> String {
    let Words {
        ahead,
        behind,
        level,
        none,
    } = words(comparison);
    let interval = match (comparison.low, comparison.high) {
        (Some(low), Some(high)) => format!(
            "{:+.0} to {:+.0} %",
            (low - 1.0) * 100.0,
            (high - 1.0) * 100.0
        ),
        _ => "no interval".to_owned(),
    };
    let blocks = counted(comparison.blocks, "block");
    let (ours, theirs) = (challenger, baseline);
    match answer {
        Answer::Change if comparison.outcome == Outcome::Better => format!(
            "Run {ours}: it {ahead} than {theirs} ({interval}, {blocks}).{}",
            of_less_late(document, challenger, baseline).unwrap_or_default()
        ),
        Answer::Change => {
            let instead = match fails(document, &baseline.name) {
                false => format!("keeps the limits, which {theirs} does not"),
                true => format!("answers its requests, of which {theirs} fails too many"),
            };
            let metric = called(comparison.metric);
            format!("Run {ours}: it {instead} ({metric} {interval}, {blocks}).")
        }
        Answer::Smaller => {
            format!("Run {ours}: it {level} {theirs} ({interval}, {blocks}) and is smaller.")
        }
        Answer::Keep if comparison.outcome == Outcome::Worse => {
            format!("Keep {theirs}: the best alternative, {ours}, {behind} ({interval}, {blocks}).")
        }
        Answer::Keep if comparison.outcome == Outcome::Equivalent => {
            format!("Keep {theirs}: the best alternative, {ours}, {none} ({interval}, {blocks}).")
        }
        Answer::Keep if fails(document, &challenger.name) => {
            format!("Keep {theirs}: the best alternative, {ours}, fails too many of its requests.")
        }
        Answer::Keep => format!(
            "Keep {theirs}: the best alternative, {ours}, breaks a limit {}.",
            limits_and_why(document, challenger)
        ),
        Answer::NoneMeets => none_meets(document),
        Answer::Undecided | Answer::Table => {
            undecided(document, baseline, challenger, comparison, &interval)
                + &broken_today(document, baseline, challenger)
        }
    }
}

/// What follows the advice of an arm that is not proven to keep the limit that today's settings break.
fn of_less_late(document: &Document, challenger: &Arm, baseline: &Arm) -> Option<String> {
    let limit_ms = document.plan.objective.latency?.limit_ms;
    let (ours, theirs) = (summary(document, challenger)?, summary(document, baseline)?);
    let at = document.plan.rate_per_s?;
    let open = (ours.feasible, theirs.feasible) == (Feasibility::Unclear, Feasibility::Breaks);
    let percent = |arm: &ArmSummary| Some(format!("{:.2} %", arm.violation_rate? * 100.0));
    let (late, before) = (percent(ours)?, percent(theirs)?);
    open.then(|| {
        format!(
            " At {at:.1} requests a second, {late} of its requests take longer than {limit_ms} ms instead of {before}. There is no proof yet that it \
             keeps the limit: {}.",
            proof::remedy(document, Some(ours))
        )
    })
}

/// That what stays for now breaks the limits, and whether the other one does, too.
fn broken_today(document: &Document, baseline: &Arm, challenger: &Arm) -> String {
    let breaks = |arm: &Arm| standing(document, arm) == Feasibility::Breaks;
    if !breaks(baseline) || fails(document, &baseline.name) {
        return String::new();
    }
    let nor = match breaks(challenger) {
        true => format!("; {challenger} breaks one as well"),
        false => String::new(),
    };
    let most = summary(document, baseline).and_then(|arm| arm.capacity_per_s);
    let at = document.plan.rate_per_s.zip(most).map_or_else(String::new, |(rate, most)| {
        format!(" That was at {rate:.1} requests a second; today's settings serve {most:.1} at most.")
    });
    let why = limits_and_why(document, baseline);
    format!(" {baseline}, today's settings, breaks a limit {why}{nor}.{at}")
}

/// How one configuration stands to another.
struct Words {
    /// Better than it, and worse.
    ahead: String,
    behind: String,
    /// As good as it, and no better.
    level: &'static str,
    none: &'static str,
}

fn words(comparison: &Comparison) -> Words {
    let percent = format!("{:.0} %", ((comparison.ratio - 1.0) * 100.0).abs());
    match comparison.metric {
        Metric::ResponseTime => Words {
            ahead: format!("answers 95 % of its requests within {percent} less time"),
            behind: format!("takes {percent} longer for 95 % of its requests"),
            level: "is as quick as",
            none: "is no quicker",
        },
        Metric::Memory => Words {
            ahead: format!("needs {percent} less memory"),
            behind: format!("needs {percent} more memory"),
            level: "needs as much memory as",
            none: "needs no less memory",
        },
        Metric::Processes => Words {
            ahead: format!("runs {percent} fewer processes"),
            behind: format!("runs {percent} more processes"),
            level: "runs as many processes as",
            none: "runs no fewer processes",
        },
        _ => Words {
            ahead: format!("answers {percent} more requests a second"),
            behind: format!("answers {percent} fewer requests a second"),
            level: "answers as many requests a second as",
            none: "answers no more requests a second",
        },
    }
}

/// What is compared, in the middle of a sentence.
fn called(metric: Metric) -> &'static str {
    match metric {
        Metric::Capacity => "requests a second",
        other => other.words(),
    }
}

/// Why there is no answer yet, and what would give one.
fn undecided(
    document: &Document,
    baseline: &Arm,
    challenger: &Arm,
    comparison: &Comparison,
    interval: &str,
) -> String {
    let (ours, theirs) = (challenger, baseline);
    let blocks = counted(comparison.blocks, "block");
    let failed = failures(document, challenger);
    if failed > 0 {
        return format!(
            "Undecided: {ours} failed in {failed} of its trials ({} {interval} in the others); {theirs} stays until it is \
             known why.",
            called(comparison.metric)
        );
    }
    if let Some(why) = &comparison.not_comparable {
        return format!(
            "Undecided: {ours} cannot be compared with {theirs}: {why}; {theirs} stays until it is known why."
        );
    }
    if standing(document, challenger) == Feasibility::Breaks
        && standing(document, baseline) == Feasibility::Unclear
        && let Some((rate, (low, high))) = late(document, baseline)
    {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        return format!(
            "Undecided: {ours} breaks a limit {}; whether {theirs} keeps it is not proven: {} of its requests were late ({} to {}). \
             {theirs} stays for now; {}.",
            limits_and_why(document, challenger),
            percent(rate),
            percent(low),
            percent(high),
            proof::remedy(document, summary(document, baseline))
        );
    }
    if standing(document, challenger) == Feasibility::Breaks
        && comparison.outcome != Outcome::Undecided
    {
        return format!(
            "Undecided: {ours} against {theirs}: {} {interval} ({blocks}). {theirs} stays for now.",
            called(comparison.metric)
        );
    }
    if comparison.outcome != Outcome::Undecided {
        let arm = summary(document, challenger);
        let seen = arm.and_then(|arm| proof::seen(document, arm));
        return format!(
            "Undecided: {ours} against {theirs}: {} {interval}, but whether it keeps the limits is not proven{}; {}.",
            called(comparison.metric),
            seen.map_or_else(String::new, |seen| format!(": {seen}")),
            proof::remedy(document, arm)
        );
    }
    let more = deciding::words(
        std::slice::from_ref(comparison),
        Measured::windows(document),
    );
    let more = more.unwrap_or_default();
    format!(
        "Undecided: {ours} against {theirs}: {} {interval} ({blocks}; up to {:.0} % counts as equal). {theirs} stays for \
         now; {more}.",
        called(comparison.metric),
        document.plan.margin * 100.0
    )
}

/// How an arm stands to the limits.
pub fn standing(document: &Document, arm: &Arm) -> Feasibility {
    summary(document, arm).map_or(Feasibility::Meets, |a| a.feasible)
}

fn summary<'a>(document: &'a Document, arm: &Arm) -> Option<&'a ArmSummary> {
    document.arms.iter().find(|a| a.name == arm.name)
}

#[cfg(test)]
mod tests;
