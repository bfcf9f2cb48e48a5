//! What the confirmation allows to be said, and how it is said.

use super::choose;
use crate::deciding::{self, Measured};
use crate::judge::{self, Tally};
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
        // Nothing speaks for today's settings where more of their requests are late than may be, only less surely.
        (Feasibility::Breaks, Feasibility::Unclear) if late(document, baseline).is_some() => {
            return (Answer::Undecided, 3);
        }
        (Feasibility::Breaks, _) => return (Answer::Keep, 0),
        // A configuration that keeps the limits beats any that does not, whatever it carries.
        (Feasibility::Meets, Feasibility::Breaks) => return (Answer::Change, 0),
        // One that may keep them is no reason yet to leave one that does, nor to trust one that does not.
        (Feasibility::Unclear, Feasibility::Breaks) => return (Answer::Undecided, 3),
        (Feasibility::Unclear, Feasibility::Meets) if comparison.outcome == Outcome::Better => {
            return (Answer::Undecided, 3);
        }
        _ => {}
    }
    // Crashes are evidence too: what survived of an arm says nothing of how it would live.
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

/// The share of late requests of an arm, and its interval, where more were late than may be.
pub fn late(document: &Document, arm: &Arm) -> Option<(f64, (f64, f64))> {
    let allowed = document.plan.objective.latency?.allowed_violation_rate();
    let arm = summary(document, arm)?;
    let rate = arm.violation_rate.filter(|rate| *rate > allowed)?;
    Some((rate, arm.violation_interval?))
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
        Answer::Change if comparison.outcome == Outcome::Better => {
            format!("Run {ours}: it {ahead} than {theirs} ({interval}, {blocks}).")
        }
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

/// That what stays for now breaks the limits, and whether the other one does, too.
fn broken_today(document: &Document, baseline: &Arm, challenger: &Arm) -> String {
    let breaks = |arm: &Arm| standing(document, arm) == Feasibility::Breaks;
    if !breaks(baseline) || fails(document, &baseline.name) {
        return String::new();
    }
    let limits = limits(document);
    match breaks(challenger) {
        true => {
            format!(" Today's settings do not keep the limits ({limits}), nor does {challenger}.")
        }
        false => format!(" Today's settings do not keep the limits ({limits})."),
    }
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
            deciding::proof(summary(document, baseline))
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
        return format!(
            "Undecided: {ours} against {theirs}: {} {interval}, but whether it keeps the limits is not proven; {}.",
            called(comparison.metric),
            deciding::proof(summary(document, challenger))
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
mod tests {
    use super::*;

    fn told(metric: Metric, outcome: Outcome, answer: Answer) -> String {
        let document = crate::sample::document("tune");
        let mut comparison = document.comparisons.last().unwrap().clone();
        (comparison.metric, comparison.outcome) = (metric, outcome);
        (comparison.ratio, comparison.blocks) = (0.6, 9);
        (comparison.low, comparison.high) = (Some(0.55), Some(0.65));
        let [today, other] = [0, 1].map(|index: usize| Arm::of(document.arms[index].settings));
        sentence(&document, answer, &today, &other, &comparison)
    }

    #[test]
    fn less_of_what_was_asked_for_is_said_in_its_own_words() {
        let found = [
            (Metric::Memory, Outcome::Better, Answer::Change),
            (Metric::ResponseTime, Outcome::Better, Answer::Change),
            (Metric::Processes, Outcome::Equivalent, Answer::Keep),
            (Metric::Capacity, Outcome::Worse, Answer::Keep),
            (Metric::Memory, Outcome::Equivalent, Answer::Smaller),
        ]
        .map(|(metric, outcome, answer)| told(metric, outcome, answer));
        assert_eq!(
            found,
            [
                "Run single × 4 threads: it needs 40 % less memory than single × 1 thread (-45 to -35 %, 9 blocks).",
                "Run single × 4 threads: it answers 95 % of its requests within 40 % less time than single × 1 thread (-45 to \
                 -35 %, 9 blocks).",
                "Keep single × 1 thread: the best alternative, single × 4 threads, runs no fewer processes (-45 to -35 %, 9 blocks).",
                "Keep single × 1 thread: the best alternative, single × 4 threads, answers 40 % fewer requests a second (-45 to -35 %, 9 blocks).",
                "Run single × 4 threads: it needs as much memory as single × 1 thread (-45 to -35 %, 9 blocks) and is smaller.",
            ]
        );
    }

    #[test]
    fn an_undecided_answer_says_that_todays_settings_break_the_limits() {
        let mut document = crate::sample::document("tune");
        document.plan.objective.latency.as_mut().unwrap().limit_ms = 250.0;
        let mut comparison = document.comparisons.last().unwrap().clone();
        let [today, other] = [0, 1].map(|index: usize| Arm::of(document.arms[index].settings));
        let names = [today.name.clone(), other.name.clone()];
        let mut said = |outcome, feasible: [Feasibility; 2]| {
            comparison.outcome = outcome;
            for arm in &mut document.arms {
                for (name, feasible) in names.iter().zip(feasible) {
                    if arm.name == *name {
                        arm.feasible = feasible;
                    }
                }
            }
            sentence(&document, Answer::Undecided, &today, &other, &comparison)
        };
        let (breaks, meets) = (Feasibility::Breaks, Feasibility::Meets);
        for outcome in [Outcome::Undecided, Outcome::Better] {
            let said = said(outcome, [breaks, breaks]);
            assert!(
                said.contains("Today's settings do not keep the limits (p99 ≤ 250 ms"),
                "{said}"
            );
            assert!(said.ends_with("nor does single × 4 threads."), "{said}");
            assert!(!said.contains("not proven"), "{said}");
        }
        let only_today = said(Outcome::Better, [breaks, Feasibility::Unclear]);
        assert!(
            only_today.contains("Today's settings do not keep"),
            "{only_today}"
        );
        let none = said(Outcome::Undecided, [meets, meets]);
        assert!(!none.contains("Today's settings"), "{none}");
    }

    /// Both are late too often, one of them surely.
    #[test]
    fn today_s_settings_are_not_kept_for_being_less_surely_late() {
        let mut document = crate::sample::document("tune");
        let latency = document.plan.objective.latency.as_mut().unwrap();
        latency.limit_ms = 250.0;
        let allowed = latency.allowed_violation_rate();
        let mut comparison = document.comparisons.last().unwrap().clone();
        comparison.outcome = Outcome::Undecided;
        let [today, other] = [0, 1].map(|index: usize| Arm::of(document.arms[index].settings));
        document.arms[0].feasible = Feasibility::Unclear;
        document.arms[0].violation_rate = Some(allowed * 16.0);
        document.arms[0].violation_interval = Some((allowed / 2.0, allowed * 40.0));
        document.arms[1].feasible = Feasibility::Breaks;
        let answered = |document: &Document| answer(document, &today, &other, &comparison);
        assert_eq!(answered(&document), (Answer::Undecided, 3));
        let said = sentence(&document, Answer::Undecided, &today, &other, &comparison);
        for words in [
            "single × 4 threads breaks a limit",
            "is not proven: 16.0 %",
            "(0.5 % to 40.0 %)",
        ] {
            assert!(said.contains(words), "{said}");
        }
        document.arms[0].violation_rate = Some(allowed / 2.0);
        assert_eq!(answered(&document), (Answer::Keep, 0));
    }

    #[test]
    fn requests_that_fail_are_no_limit_that_was_given() {
        let mut document = crate::sample::document("tune");
        let mut comparison = document.comparisons.last().unwrap().clone();
        (comparison.outcome, comparison.blocks) = (Outcome::Undecided, 9);
        comparison.not_comparable = Some("12.0 % of the requests failed".to_owned());
        let [today, other] = [0, 1].map(|index: usize| Arm::of(document.arms[index].settings));
        let said =
            |document: &Document, answer| sentence(document, answer, &today, &other, &comparison);
        assert_eq!(
            said(&document, Answer::Undecided),
            "Undecided: single × 4 threads cannot be compared with single × 1 thread: 12.0 % of the requests failed; \
             single × 1 thread stays until it is known why."
        );
        let answers = [Answer::NoneMeets, Answer::Change, Answer::Keep];
        for limited in [true, false] {
            document.plan.objective.latency = None;
            document.plan.objective.max_memory_bytes = limited.then_some(1 << 30);
            for answer in answers {
                let said = said(&document, answer);
                assert_eq!(said.contains("limit"), limited, "{said}");
            }
        }
    }

    #[test]
    fn the_page_that_fails_most_is_named_where_nothing_answers() {
        let mut document = crate::sample::document("tune");
        document.plan.objective.latency = None;
        document.plan.objective.max_memory_bytes = None;
        let trials = document.trials.iter_mut();
        for window in trials.filter_map(|t| t.saturation.as_mut()) {
            window.errors = window.requests;
            window.endpoints.truncate(1);
            let page = &mut window.endpoints[0];
            (page.name, page.requests, page.failures) = ("GET /broken".to_owned(), 50, 10);
        }
        let said = none_meets(&document);
        assert!(
            said.contains(
                "1 % failed; GET /broken failed in 20.0 % of its requests at full load ("
            ),
            "{said}"
        );
    }

    /// As in a container, whose memory limit is the default of --max-memory.
    #[test]
    fn requests_that_fail_break_no_memory_limit() {
        let mut document = crate::sample::document("tune");
        let mut comparison = document.comparisons.last().unwrap().clone();
        (comparison.outcome, comparison.blocks) = (Outcome::Undecided, 9);
        document.plan.objective.max_memory_bytes = Some(1 << 40);
        let [today, other] = [0, 1].map(|index: usize| Arm::of(document.arms[index].settings));
        for trial in document.trials.iter_mut().filter(|t| t.arm == other.name) {
            if let Some(window) = &mut trial.saturation {
                window.errors = window.requests / 5;
            }
        }
        let kept = sentence(&document, Answer::Keep, &today, &other, &comparison);
        assert!(kept.ends_with("fails too many of its requests."), "{kept}");
        let left = sentence(&document, Answer::Change, &other, &today, &comparison);
        assert!(
            left.contains("of which single × 4 threads fails too many"),
            "{left}"
        );
    }

    #[test]
    fn longer_windows_are_no_proof_where_memory_grows() {
        let mut document = crate::sample::document("tune");
        let mut comparison = document.comparisons.last().unwrap().clone();
        comparison.outcome = Outcome::Better;
        let [today, other] = [0, 1].map(|index: usize| Arm::of(document.arms[index].settings));
        let of_other = document.arms.iter_mut().find(|a| a.name == other.name);
        of_other.unwrap().feasible = Feasibility::Unclear;
        let said = |document: &Document| {
            sentence(document, Answer::Undecided, &today, &other, &comparison)
        };
        let steady = said(&document);
        assert!(
            steady.ends_with("not proven; more blocks or longer windows would tell."),
            "{steady}"
        );
        let of_other = document.arms.iter_mut().find(|a| a.name == other.name);
        of_other.unwrap().growth = Some(crate::sample::growth());
        let growing = said(&document);
        assert!(growing.contains("longer windows would not"), "{growing}");
    }
}
