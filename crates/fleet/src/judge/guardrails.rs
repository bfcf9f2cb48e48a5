//! The guardrails of each arm. They are checked at every reading with all data, not at the looks only: a good arm that is halted costs
//! little, a bad arm that is not halted costs requests.

use super::evidence::{self, Pair, ratio};
use super::quantile::quantile;
use crate::experiment::Experiment;
use crate::join::Fleet;
use run::change_with_interval;
use run::production::{Guardrail, State};
use stats::{Observation, Randomised};

/// Level of each interval.
const LEVEL: f64 = 0.05;
/// The least number of failed requests.
const LEAST_ERRORS: f64 = 20.0;
/// The least ratio of the shares of failed requests, and of the rates of restarts, the arm's to the first arm's. An arm does not cause
/// what the first arm has too.
const MORE_OFTEN: f64 = 2.0;
/// The least number of restarts: one of a container is one of each of its workers.
const LEAST_RESTARTS: f64 = 10.0;
const DAY_S: f64 = 86_400.0;
/// The least number of requests of a slice with a p99.
const LEAST_OF_TAIL: f64 = 20.0;

pub(super) fn states(experiment: &Experiment, fleet: &Fleet, slices: usize) -> Vec<Guardrail> {
    let mut states = Vec::new();
    let others = experiment.arms.iter().enumerate().skip(1);
    // Settings of a holdout are today's: halting it would change nothing.
    for (place, arm) in others.filter(|(_, arm)| !arm.is_holdout) {
        let pair = Pair::of(experiment, fleet, place);
        let limits = &experiment.guardrails;
        let mut add = |figure: &str, (state, sentence): (State, String)| {
            states.push(Guardrail {
                arm: arm.name.clone(),
                figure: figure.to_owned(),
                state,
                sentence,
            });
        };
        if let Some(limit) = limits.errors {
            add("errors", errors(&pair, place, slices, limit));
        }
        if let Some(limit) = limits.p99 {
            add("p99", against(p99(&pair, fleet, slices), limit));
        }
        if let Some(limit) = limits.memory {
            add(
                "memory",
                against(pair.of_slices(slices, LEVEL, evidence::memory), limit),
            );
        }
        if let Some(limit) = limits.restarts {
            let slice_s = experiment.slice_s as f64;
            add("restarts", restarts(&pair, place, slices, slice_s, limit));
        }
    }
    states
}

/// A rule, not a test: it holds for an arm with a single unit, too.
fn errors(pair: &Pair<'_>, arm: usize, slices: usize, limit: f64) -> (State, String) {
    let of = |arm: usize| {
        let units = pair.units.iter().filter(|unit| unit.arm == arm);
        let within = units
            .flat_map(|unit| &unit.slices)
            .filter(|slice| slice.index < slices);
        within.fold((0.0, 0.0), |sum, slice| {
            (sum.0 + slice.requests, sum.1 + slice.errors)
        })
    };
    let ((first_requests, first_failed), (requests, failed)) = (of(0), of(arm));
    if requests <= 0.0 {
        return (State::Unknown, "no requests yet".to_owned());
    }
    let (share, first) = (
        failed / requests,
        first_failed / f64::max(first_requests, 1.0),
    );
    let sentence = format!(
        "{:.2} % of {} requests failed, {:.2} % of the first arm's; the limit is {:.2} %",
        share * 100.0,
        run::grouped(requests as u64),
        first * 100.0,
        limit * 100.0
    );
    let state = match share > limit {
        false => State::Holds,
        true if failed >= LEAST_ERRORS && share > MORE_OFTEN * first => State::Broken,
        true => State::Unknown,
    };
    (state, sentence)
}

/// A rule, too.
fn restarts(
    pair: &Pair<'_>,
    arm: usize,
    slices: usize,
    slice_s: f64,
    limit: f64,
) -> (State, String) {
    let of = |arm: usize| {
        let units = pair.units.iter().filter(|unit| unit.arm == arm);
        units.fold((0.0, 0.0), |sum, unit| {
            let known = unit.slices.iter().map(|slice| slice.index);
            let there = known.chain(unit.left_out.iter().copied());
            let there = there.filter(|slice| *slice < slices).count();
            let within = unit.restarts.iter().filter(|(end, _)| *end <= slices);
            let began: f64 = within.map(|(_, began)| began).sum();
            (sum.0 + there as f64 * slice_s / DAY_S, sum.1 + began)
        })
    };
    let (first, ours) = (of(0), of(arm));
    if first.0 <= 0.0 || ours.0 <= 0.0 {
        return (State::Unknown, "no slices of both arms yet".to_owned());
    }
    let rate = |(days, began): (f64, f64)| began / days;
    let sentence = format!(
        "{} restarts of processes: {:.2} per unit and day, the first arm has {:.2}; the limit is {limit}",
        run::grouped(ours.1 as u64),
        rate(ours),
        rate(first)
    );
    let state = match rate(ours) > limit {
        false => State::Holds,
        true if ours.1 >= LEAST_RESTARTS && rate(ours) > MORE_OFTEN * rate(first) => State::Broken,
        true => State::Unknown,
    };
    (state, sentence)
}

fn against(found: Option<Randomised>, limit: f64) -> (State, String) {
    let limit_text = format!("the limit is +{:.1} %", limit * 100.0);
    let Some(found) = found else {
        return (State::Unknown, format!("no figures yet; {limit_text}"));
    };
    let ratio = ratio(&found, LEVEL);
    let change = change_with_interval(ratio.estimate, ratio.low, ratio.high);
    let state = match (ratio.low, ratio.high) {
        (Some(low), _) if low > 1.0 + limit => State::Broken,
        (_, Some(high)) if high <= 1.0 + limit => State::Holds,
        _ => State::Unknown,
    };
    (state, format!("{change}; {limit_text}"))
}

fn p99(pair: &Pair<'_>, fleet: &Fleet, slices: usize) -> Option<Randomised> {
    let units = pair.units.iter().enumerate();
    let observed = units.flat_map(|(unit, of)| {
        let tails = of.tails.iter().filter(|tail| tail.until <= slices);
        tails.filter_map(move |tail| {
            let weight: f64 = tail.counts.iter().sum();
            let p99 =
                quantile(&fleet.bounds, &tail.counts, 0.99).filter(|_| weight >= LEAST_OF_TAIL)?;
            Some(Observation {
                unit,
                slice: tail.until,
                outcome: p99.ln(),
                weight,
            })
        })
    });
    pair.judged(observed.collect(), LEVEL)
}
