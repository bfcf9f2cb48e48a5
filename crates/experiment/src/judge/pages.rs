//! Which pages differ between two arms: p50 of each at the common rate, block by block.

use super::Judging;
use run::{Comparison, Document, EndpointWindow, PageTime, Stage, Trial};
use stats::summary;
use std::collections::BTreeMap;

/// Each page in each of these comparisons, in the order in which windows have them; none where there is one page, or no common
/// rate.
pub fn page_times(document: &Document, comparisons: &[Comparison]) -> Vec<PageTime> {
    let names = pages(&document.trials);
    if names.len() < 2 {
        return Vec::new();
    }
    let together = (names.len() * comparisons.len()) as f64;
    let of = |comparison: &Comparison, page: &&str| {
        // Bonferroni: all of them hold together.
        let alpha = Judging::reached(document, comparison.stage).look.alpha / together;
        page_time(&document.trials, comparison, page, alpha)
    };
    comparisons
        .iter()
        .flat_map(|c| names.iter().filter_map(move |page| of(c, page)))
        .collect()
}

/// Those of all windows at the common rate: a short one may lack a rare page.
fn pages(trials: &[Trial]) -> Vec<&str> {
    let windows = trials.iter().filter_map(|t| t.objective.as_ref());
    let mut pages: Vec<&str> = Vec::new();
    for page in windows.flat_map(|window| &window.endpoints) {
        if !pages.contains(&page.name.as_str()) {
            pages.push(&page.name);
        }
    }
    pages
}

fn page_time(
    trials: &[Trial],
    comparison: &Comparison,
    page: &str,
    alpha: f64,
) -> Option<PageTime> {
    let by_block = |arm: &str| p50_by_block(trials, comparison.stage, arm, page);
    let candidate = by_block(&comparison.candidate);
    let pairs: Vec<(f64, f64)> = by_block(&comparison.baseline)
        .into_iter()
        .filter_map(|(block, theirs)| Some((theirs, *candidate.get(&block)?)))
        .collect();
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
    let mean = summary::mean(&logs)?;
    let half = summary::sd(&logs).map(|sd| {
        let n = logs.len();
        stats::student_two_sided(alpha, n as u32 - 1) * sd / (n as f64).sqrt()
    });
    let median = |of: fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = pairs.iter().map(of).collect();
        summary::median(&values)
    };
    Some(PageTime {
        page: page.to_owned(),
        baseline: comparison.baseline.clone(),
        candidate: comparison.candidate.clone(),
        baseline_ms: median(|pair| pair.0)?,
        candidate_ms: median(|pair| pair.1)?,
        ratio: mean.exp(),
        low: half.map(|half| (mean - half).exp()),
        high: half.map(|half| (mean + half).exp()),
        blocks: pairs.len() as u32,
    })
}

fn p50_by_block(trials: &[Trial], stage: Stage, arm: &str, page: &str) -> BTreeMap<u32, f64> {
    let mine = trials
        .iter()
        .filter(|t| t.stage == stage && t.arm == arm && t.counts());
    let p50 = |trial: &Trial| {
        let mut pages = trial.objective.as_ref()?.endpoints.iter();
        let found: &EndpointWindow = pages.find(|p| p.name == page)?;
        found.p50_ms.filter(|ms| *ms > 0.0)
    };
    mine.filter_map(|trial| Some((trial.block, p50(trial)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six blocks of two arms; `/slow` takes so many times as long in the second.
    fn document(slower: f64) -> Document {
        let mut document = crate::sample::document("compare");
        let arms = document.comparisons[0].clone();
        let model = |t: &&Trial| t.objective.is_some() && t.counts();
        let model = document.trials.iter().find(model).unwrap().clone();
        let at = |block: u32, arm: &str, slow_ms: f64| {
            let mut trial = model.clone();
            (trial.stage, trial.block, trial.arm) = (Stage::Compare, block, arm.to_owned());
            let noise = 1.0 + f64::from(block * block % 5) / 1e3;
            let page = |name: &str, ms: f64| EndpointWindow {
                name: name.to_owned(),
                requests: 100,
                failures: 0,
                p50_ms: Some(ms),
                p99_ms: None,
                redirects: Vec::new(),
            };
            let other = 5.0 * (1.0 + f64::from((block + arm.len() as u32) % 3) / 1e2);
            trial.objective.as_mut().unwrap().endpoints =
                vec![page("GET /slow", slow_ms * noise), page("GET /", other)];
            trial
        };
        document.plan.blocks = 6;
        document.trials = (1..=6)
            .flat_map(|b| {
                [
                    at(b, &arms.baseline, 10.0),
                    at(
                        b,
                        &arms.candidate,
                        10.0 * slower * (1.0 + f64::from(b % 2) / 1e3),
                    ),
                ]
            })
            .collect();
        document.comparisons.truncate(1);
        document
    }

    #[test]
    fn the_page_that_became_slower_differs_and_the_other_does_not() {
        let document = document(2.0);
        let found = page_times(&document, &document.comparisons);
        let [slow, other] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!((slow.page.as_str(), slow.blocks), ("GET /slow", 6));
        assert!(
            (slow.ratio - 2.0).abs() < 0.01 && slow.differs(),
            "{slow:?}"
        );
        assert!((slow.candidate_ms / slow.baseline_ms - 2.0).abs() < 0.01);
        assert!(!other.differs() && other.low.is_some(), "{other:?}");
    }

    #[test]
    fn a_page_without_a_median_in_a_block_leaves_the_block_out() {
        let mut document = document(2.0);
        for trial in document.trials.iter_mut().skip(2) {
            trial.objective.as_mut().unwrap().endpoints[0].p50_ms = None;
        }
        document
            .trials
            .last_mut()
            .unwrap()
            .objective
            .as_mut()
            .unwrap()
            .endpoints
            .remove(0);
        let found = page_times(&document, &document.comparisons);
        assert_eq!((found[0].blocks, found[0].low), (1, None));
        assert!(!found[0].differs());
        assert_eq!(found[1].blocks, 6);
    }

    #[test]
    fn one_page_is_no_table() {
        let mut document = document(2.0);
        for trial in &mut document.trials {
            trial.objective.as_mut().unwrap().endpoints.truncate(1);
        }
        assert_eq!(page_times(&document, &document.comparisons), []);
        for trial in &mut document.trials {
            trial.objective = None;
        }
        assert_eq!(page_times(&document, &document.comparisons), []);
    }
}
