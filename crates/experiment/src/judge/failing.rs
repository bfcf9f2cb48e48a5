//! Whether an arm's failures forbid a claim about it: the capacity of a server that fails its requests is no capacity, and a
//! percentile that is infinite is no latency.

use super::feasible::MOST_FAILURES;
use run::{Comparison, Outcome, Stage, Trial, Window};
use std::collections::BTreeMap;

/// What to do where a page fails.
pub const CORRECT_THE_PAGE: &str =
    "correct the page, or take it out of the workload (--path, [[request]])";

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
    let tally = Tally::of(windows);
    let (failed, requests) = (tally.failed, tally.requests);
    if tally.share() <= MOST_FAILURES {
        return None;
    }
    let most = match tally.worst() {
        Some((name, page)) if page.failures * 2 > failed => format!(", most of them {name}"),
        Some((name, page)) => format!(", {} of them {name}", page.failures),
        _ => String::new(),
    };
    Some(format!(
        "{:.1} % of the requests failed {when} ({failed} of {requests}{most})",
        tally.share() * 100.0
    ))
}

/// The failed requests of windows.
#[derive(Debug, Default)]
pub struct Tally<'t> {
    failed: u64,
    requests: u64,
    /// At least so many failures of those that count.
    pages: BTreeMap<&'t str, Page>,
}

#[derive(Debug, Default)]
struct Page {
    failures: u64,
    requests: u64,
}

impl<'t> Tally<'t> {
    /// `windows`: each with whether its timeouts count.
    pub fn of(windows: impl Iterator<Item = (&'t Window, bool)>) -> Tally<'t> {
        let mut tally = Tally::default();
        for (window, with_timeouts) in windows {
            let left_out = if with_timeouts { 0 } else { window.timeouts };
            tally.failed += window.errors + window.timeouts - left_out;
            tally.requests += window.requests;
            for of in &window.endpoints {
                let page = tally.pages.entry(&of.name).or_default();
                page.failures += of.failures.saturating_sub(left_out);
                page.requests += of.requests;
            }
        }
        tally
    }

    fn share(&self) -> f64 {
        self.failed as f64 / self.requests.max(1) as f64
    }

    /// The page with the most failures.
    fn worst(&self) -> Option<(&'t str, &Page)> {
        let failing = self.pages.iter().filter(|(_, page)| page.failures > 0);
        failing
            .max_by_key(|(_, page)| page.failures)
            .map(|(name, page)| (*name, page))
    }

    /// The page with the most failures, for a person: `GET /broken failed in 20.0 % of its requests at full load (212 of 1,060)`.
    /// `when`: which windows were counted, since other parts of a page count others.
    pub fn worst_page(&self, when: &str) -> Option<String> {
        let (name, page) = self.worst()?;
        Some(format!(
            "{name} failed in {:.1} % of its requests {when} ({} of {})",
            100.0 * page.failures as f64 / page.requests.max(1) as f64,
            run::grouped(page.failures),
            run::grouped(page.requests)
        ))
    }
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
