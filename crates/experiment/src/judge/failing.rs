//! Whether an arm's failures forbid a claim about it: the capacity of a server that fails its requests is no capacity, and a
//! percentile that is infinite is no latency.

use super::feasible::MOST_FAILURES;
use run::{Comparison, Outcome, Stage, Trial, Window};
use std::collections::BTreeMap;

/// The comparison, without a claim where one of its arms failed too many of its requests in the comparison's stage. What
/// fails may be worse than what does not.
pub fn withdrawn(trials: &[Trial], comparison: Comparison) -> Comparison {
    let stage = comparison.stage;
    let theirs = failing(trials, stage, &comparison.baseline, Role::Reference);
    let ours = failing(trials, stage, &comparison.candidate, Role::Candidate);
    let why = match (theirs, ours) {
        (Some(theirs), _) => format!("of what it is compared with, {theirs}"),
        (None, Some(ours)) if comparison.outcome != Outcome::Worse => ours,
        _ => return comparison,
    };
    Comparison {
        outcome: Outcome::Undecided,
        blocks_to_decide: None,
        not_comparable: Some(why),
        ..comparison
    }
}

/// Which side of a comparison an arm is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Candidate,
    /// A rate beyond its capacity may be why others are tried: timeouts at such a rate are what the comparison shows.
    Reference,
}

/// What of an arm's requests failed in a stage, for a person; `None` where that is little.
pub fn failing(trials: &[Trial], stage: Stage, arm: &str, role: Role) -> Option<String> {
    let mine = || {
        let mine = trials
            .iter()
            .filter(move |t| t.stage == stage && t.arm == arm);
        mine.filter(|t| t.counts())
    };
    let full_load = mine().filter_map(|t| Some((t.saturation.as_ref()?, true)));
    let at_the_rate = mine().filter_map(|t| {
        let window = t.objective.as_ref()?;
        let overloaded = t.capacity_per_s() < window.asked_per_s;
        Some((window, role == Role::Candidate || !overloaded))
    });
    said(full_load, "at full load").or_else(|| said(at_the_rate, "where latency is measured"))
}

/// `windows`: each with whether its timeouts count.
fn said<'t>(windows: impl Iterator<Item = (&'t Window, bool)>, when: &str) -> Option<String> {
    let (mut failed, mut requests) = (0, 0);
    // At least so many of those that count.
    let mut pages = BTreeMap::<&str, u64>::new();
    for (window, with_timeouts) in windows {
        let left_out = if with_timeouts { 0 } else { window.timeouts };
        failed += window.errors + window.timeouts - left_out;
        requests += window.requests;
        for page in &window.endpoints {
            *pages.entry(&page.name).or_default() += page.failures.saturating_sub(left_out);
        }
    }
    let share = failed as f64 / requests.max(1) as f64;
    if share <= MOST_FAILURES {
        return None;
    }
    let most = pages.into_iter().max_by_key(|(_, failures)| *failures);
    let most = match most {
        Some((name, failures)) if failures * 2 > failed => format!(", most of them {name}"),
        Some((name, failures)) if failures > 0 => format!(", {failures} of them {name}"),
        _ => String::new(),
    };
    Some(format!(
        "{:.1} % of the requests failed {when} ({failed} of {requests}{most})",
        share * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A comparison that has come out so, and its trials, in one of which of a hundred requests so many failed.
    fn case(outcome: Outcome, fails: &str, change: impl Fn(&mut Trial)) -> Comparison {
        let document = crate::sample::document("compare");
        let model = document.trials.iter().find(|t| t.counts()).unwrap().clone();
        let trials: Vec<Trial> = ["today", "other"]
            .map(|arm| {
                let mut trial = model.clone();
                (trial.stage, trial.arm) = (Stage::Compare, arm.to_owned());
                if arm == fails {
                    change(&mut trial);
                }
                trial
            })
            .into();
        let comparison = Comparison {
            stage: Stage::Compare,
            baseline: "today".to_owned(),
            candidate: "other".to_owned(),
            outcome,
            blocks_to_decide: Some(9),
            ..document.comparisons[0].clone()
        };
        withdrawn(&trials, comparison)
    }

    fn at_full_load(failed: u64) -> impl Fn(&mut Trial) {
        move |trial| {
            let window = trial.saturation.as_mut().unwrap();
            (window.requests, window.errors, window.timeouts) = (100, failed, 0);
            window.endpoints[0].name = "GET /weather".to_owned();
            window.endpoints[0].failures = failed;
        }
    }

    #[test]
    fn what_fails_is_neither_better_nor_a_reference() {
        use Outcome::{Better, Equivalent, Undecided, Worse};
        for (outcome, fails, expected) in [
            (Better, "other", Undecided),
            (Equivalent, "other", Undecided),
            (Worse, "other", Worse),
            (Better, "today", Undecided),
            (Worse, "today", Undecided),
            (Equivalent, "today", Undecided),
            (Better, "neither", Better),
        ] {
            let found = case(outcome, fails, at_full_load(2));
            assert_eq!(found.outcome, expected, "{outcome:?} {fails}");
            assert_eq!(found.not_comparable.is_some(), outcome != expected);
            assert_eq!(found.blocks_to_decide.is_none(), outcome != expected);
        }
        let found = case(Better, "other", at_full_load(2));
        assert_eq!(
            found.not_comparable.unwrap(),
            "2.0 % of the requests failed at full load (2 of 100, most of them GET /weather)"
        );
        assert_eq!(case(Better, "other", at_full_load(1)).outcome, Better);
    }

    #[test]
    fn a_page_is_named_for_failures_that_count() {
        let why = |pages: [(&'static str, u64); 3], timeouts: u64| {
            let change = move |trial: &mut Trial| {
                trial.saturation.as_mut().unwrap().good_per_s = 50.0;
                let window = trial.objective.as_mut().unwrap();
                let failures: u64 = pages.iter().map(|(_, failures)| failures).sum();
                (window.requests, window.timeouts) = (100, timeouts);
                window.errors = failures - timeouts;
                window.asked_per_s = Some(60.0);
                let model = window.endpoints[0].clone();
                window.endpoints = pages
                    .map(|(name, failures)| run::EndpointWindow {
                        name: name.to_owned(),
                        failures,
                        ..model.clone()
                    })
                    .into();
            };
            // The reference is overloaded: its timeouts do not count.
            case(Outcome::Better, "today", change)
                .not_comparable
                .unwrap()
        };
        let thirds = why([("GET /a", 4), ("GET /b", 3), ("GET /c", 3)], 0);
        assert!(
            thirds.ends_with("(10 of 100, 4 of them GET /a)"),
            "{thirds}"
        );
        let late = why([("GET /late", 20), ("GET /b", 5), ("GET /c", 0)], 20);
        assert!(late.ends_with("(5 of 100)"), "{late}");
        let both = why([("GET /late", 2), ("GET /b", 30), ("GET /c", 0)], 2);
        assert!(both.ends_with("(30 of 100, most of them GET /b)"), "{both}");
    }

    /// An infinite percentile is no latency, but what is offered more than it carries does answer late.
    #[test]
    fn failures_where_latency_is_measured_count_but_for_the_timeouts_of_an_overloaded_reference() {
        let at_the_rate = |asked: f64, errors: u64, timeouts: u64| {
            move |trial: &mut Trial| {
                trial.saturation.as_mut().unwrap().good_per_s = 50.0;
                let window = trial.objective.as_mut().unwrap();
                (window.requests, window.errors, window.timeouts) = (100, errors, timeouts);
                window.asked_per_s = Some(asked);
            }
        };
        let comparable = |fails, change: (f64, u64, u64)| {
            let found = case(
                Outcome::Better,
                fails,
                at_the_rate(change.0, change.1, change.2),
            );
            found.not_comparable.is_none()
        };
        assert!(!comparable("other", (40.0, 0, 20)) && !comparable("other", (60.0, 0, 20)));
        assert!(!comparable("today", (40.0, 0, 20)) && comparable("today", (60.0, 0, 20)));
        assert!(!comparable("today", (60.0, 20, 0)));
    }
}
