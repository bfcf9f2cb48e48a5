//! What trials are compared by, block by block.

use super::{Judging, equal_requests, growth, memory_bytes};
use run::{Comparison, Metric, Stage, Trial};
use stats::summary;
use std::collections::BTreeMap;

/// Stands for a response time that is infinite, because so many requests failed: an hour, which is worse than any and has a
/// logarithm.
pub const NEVER_MS: f64 = 3.6e6;

/// p95 of the response time at the common rate; nothing where latency was not measured.
pub fn p95_ms(trial: &Trial) -> Option<f64> {
    let window = trial.objective.as_ref()?;
    Some(window.response.p95_ms.unwrap_or(NEVER_MS))
}

/// What a trial says of it; memory as [`memory_bytes`] takes it.
fn figure(trial: &Trial, metric: Metric, grows: bool, after: Option<u64>) -> Option<f64> {
    let figure = match metric {
        Metric::Capacity => trial.capacity_per_s(),
        Metric::ResponseTime => p95_ms(trial),
        Metric::Memory => memory_bytes(trial, grows, after),
        Metric::Processes => Some(f64::from(trial.settings.processes())),
        // Of commands, which have runs and no trials.
        Metric::WallTime | Metric::MedianMemory | Metric::PeakMemory => None,
    };
    figure.filter(|figure| *figure > 0.0)
}

/// `(baseline, candidate)`, one pair a block in which both trials count and have the figure.
pub fn pairs(
    trials: &[Trial],
    stage: Stage,
    metric: Metric,
    arms: (&str, &str),
) -> Vec<(f64, f64)> {
    let pairs = pairs_by_block(trials, stage, metric, arms);
    pairs.into_values().collect()
}

/// p95 over the blocks of a comparison, ms, as [`medians_ms`] has it; `None` where no block measured it.
pub fn p95_medians(trials: &[Trial], compared: &Comparison) -> Option<[Option<f64>; 2]> {
    let arms = (&*compared.baseline, &*compared.candidate);
    let pairs = pairs(trials, compared.stage, Metric::ResponseTime, arms);
    (!pairs.is_empty()).then(|| medians_ms(&pairs))
}

/// Medians of response times in which an infinite one is [`NEVER_MS`], the baseline's first; `None`: infinite.
pub fn medians_ms(pairs: &[(f64, f64)]) -> [Option<f64>; 2] {
    let (baseline, candidate): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    [baseline, candidate].map(|values| summary::median(&values).filter(|ms| *ms < NEVER_MS))
}

/// The same by block.
fn pairs_by_block(
    trials: &[Trial],
    stage: Stage,
    metric: Metric,
    arms: (&str, &str),
) -> BTreeMap<u32, (f64, f64)> {
    let after = equal_requests(trials);
    by_block(trials, stage, arms, |mine| {
        let grows = metric == Metric::Memory && growth(mine).is_some();
        move |trial| figure(trial, metric, grows, after)
    })
}

/// Pairs of any figure by block; `of_arm` gives the figure for all trials of an arm that count in the stage.
pub fn by_block<F: Fn(&Trial) -> Option<f64>>(
    trials: &[Trial],
    stage: Stage,
    (baseline, candidate): (&str, &str),
    of_arm: impl Fn(&[&Trial]) -> F,
) -> BTreeMap<u32, (f64, f64)> {
    let figures = |arm: &str| -> BTreeMap<u32, f64> {
        let mine = trials
            .iter()
            .filter(|t| t.stage == stage && t.arm == arm && t.counts());
        let mine: Vec<&Trial> = mine.collect();
        let figure = of_arm(&mine);
        let figures = mine.iter().filter_map(|t| Some((t.block, figure(t)?)));
        figures.collect()
    };
    let ours = figures(candidate);
    figures(baseline)
        .into_iter()
        .filter_map(|(block, theirs)| Some((block, (theirs, *ours.get(&block)?))))
        .collect()
}

/// In how many blocks of a stage the last of three arms is the best of them, and in how many all three count.
pub fn best_of_three(
    trials: &[Trial],
    stage: Stage,
    [baseline, first, second]: [&str; 3],
    judging: Judging,
) -> (u32, u32) {
    let against = |other: &str| pairs_by_block(trials, stage, judging.metric, (other, second));
    let ahead = |(theirs, ours): (f64, f64)| match judging.metric.less_is_better() {
        true => ours < theirs,
        false => ours > theirs,
    };
    let others = against(first);
    let both: Vec<bool> = against(baseline)
        .into_iter()
        .filter_map(|(block, pair)| Some(ahead(pair) && ahead(*others.get(&block)?)))
        .collect();
    let best = both.iter().filter(|best| **best).count();
    (best as u32, both.len() as u32)
}
