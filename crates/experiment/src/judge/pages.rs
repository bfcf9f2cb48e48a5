//! Which pages differ between two arms: p50 of each at the common rate, block by block.

use super::Judging;
use super::pairs::{NEVER_MS, by_block, medians_ms};
use run::{Comparison, Document, PageTime, Trial};
use stats::summary;

/// From fewer, an interval of a mean is wider than anything that a reader can use.
const LEAST_BLOCKS: usize = 3;

/// Each page in each comparable comparison, in the order of the workload; empty for one page, and without a common rate.
pub fn page_times(document: &Document, comparisons: &[Comparison]) -> Vec<PageTime> {
    let names = pages(&document.trials);
    if names.len() < 2 {
        return Vec::new();
    }
    let comparable = comparisons.iter().filter(|c| c.not_comparable.is_none());
    let mut measured = Vec::new();
    for comparison in comparable {
        for page in &names {
            measured.extend(Measured::of(&document.trials, comparison, page));
        }
    }
    // Bonferroni, over the pages with an interval and over the looks at each: all of them hold together.
    let plan = &document.plan;
    let looks = stats::looks(plan.blocks, plan.alpha, document.seed).map_or(1, |looks| looks.len());
    let intervals = measured.iter().filter(|m| m.has_interval()).count();
    let alpha = plan.alpha / (looks * intervals.max(1)) as f64;
    let allowance = Judging::once(document).allowance.ln_1p();
    measured
        .iter()
        .filter_map(|m| m.page_time(alpha, allowance))
        .collect()
}

/// Every window lists all pages of the workload, also those without a request.
fn pages(trials: &[Trial]) -> Vec<&str> {
    let window = trials.iter().find_map(|t| t.objective.as_ref());
    let pages = window.iter().flat_map(|window| &window.endpoints);
    pages.map(|page| page.name.as_str()).collect()
}

/// A page in a comparison: p50 of the baseline and of the candidate, ms, one pair a block.
struct Measured<'d> {
    page: &'d str,
    comparison: &'d Comparison,
    pairs: Vec<(f64, f64)>,
}

impl<'d> Measured<'d> {
    fn of(trials: &[Trial], comparison: &'d Comparison, page: &'d str) -> Option<Self> {
        let arms = (&*comparison.baseline, &*comparison.candidate);
        let p50 = |_: &[&Trial]| move |trial: &Trial| p50_ms(trial, page);
        let pairs = by_block(trials, comparison.stage, arms, p50);
        let pairs: Vec<(f64, f64)> = pairs.into_values().collect();
        (!pairs.is_empty()).then_some(Self {
            page,
            comparison,
            pairs,
        })
    }

    /// Student's interval of the mean log ratio, its ends moved outwards by what identical arms differ by.
    fn has_interval(&self) -> bool {
        self.pairs.len() >= LEAST_BLOCKS
    }

    fn page_time(&self, alpha: f64, allowance: f64) -> Option<PageTime> {
        let logs: Vec<f64> = self.pairs.iter().map(|(a, b)| (b / a).ln()).collect();
        let mean = summary::mean(&logs)?;
        let half = stats::mean_and_half(&logs, alpha).filter(|_| self.has_interval());
        let half = half.map(|(_, half)| half + allowance);
        let [baseline_ms, candidate_ms] = times_ms(&self.pairs);
        Some(PageTime {
            page: self.page.to_owned(),
            baseline: self.comparison.baseline.clone(),
            candidate: self.comparison.candidate.clone(),
            baseline_ms,
            candidate_ms,
            ratio: mean.exp(),
            low: half.map(|half| (mean - half).exp()),
            high: half.map(|half| (mean + half).exp()),
            blocks: self.pairs.len() as u32,
        })
    }
}

/// Geometric means, whose ratio is the estimate, so that the two times give the change. An infinite p50 counts as an hour, which
/// would dominate a mean: then the medians.
fn times_ms(pairs: &[(f64, f64)]) -> [Option<f64>; 2] {
    let mean = |of: fn(&(f64, f64)) -> f64| {
        let logs: Vec<f64> = pairs.iter().map(|pair| of(pair).ln()).collect();
        summary::mean(&logs).map(f64::exp)
    };
    match pairs.iter().any(|(a, b)| a.max(*b) >= NEVER_MS) {
        true => medians_ms(pairs),
        false => [mean(|pair| pair.0), mean(|pair| pair.1)],
    }
}

/// p50 of a page at the common rate; nothing where it was not asked for.
fn p50_ms(trial: &Trial, page: &str) -> Option<f64> {
    let mut pages = trial.objective.as_ref()?.endpoints.iter();
    let found = pages.find(|p| p.name == page && p.requests > 0)?;
    Some(found.p50_ms.unwrap_or(NEVER_MS)).filter(|ms| *ms > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{EndpointWindow, Stage};

    /// `GET /slow` takes so many times as long with the candidate in each block, and `GET /` as long.
    fn document(slower: &[f64]) -> Document {
        let mut document = crate::sample::document("compare");
        let arms = document.comparisons[0].clone();
        let model = |t: &&Trial| t.objective.is_some() && t.counts();
        let model = document.trials.iter().find(model).unwrap().clone();
        let at = |block: u32, arm: &str, slow_ms: f64, ms: f64| {
            let mut trial = model.clone();
            (trial.stage, trial.block, trial.arm) = (Stage::Compare, block, arm.to_owned());
            let page = |name: &str, ms: f64| EndpointWindow {
                name: name.to_owned(),
                requests: 100,
                failures: 0,
                p50_ms: Some(ms),
                p99_ms: None,
                redirects: Vec::new(),
            };
            trial.objective.as_mut().unwrap().endpoints =
                vec![page("GET /slow", slow_ms), page("GET /", ms)];
            trial
        };
        document.plan.blocks = slower.len() as u32;
        document.calibration = None;
        document.trials = (1..)
            .zip(slower)
            .flat_map(|(block, slower)| {
                let noise = 1.0 + f64::from(block % 3) / 1e2;
                [
                    at(block, &arms.baseline, 10.0, 5.0),
                    at(block, &arms.candidate, 10.0 * slower, 5.0 * noise),
                ]
            })
            .collect();
        document.comparisons.truncate(1);
        document
    }

    fn found(document: &Document) -> Vec<PageTime> {
        page_times(document, &document.comparisons)
    }

    fn page(document: &mut Document, trial: usize) -> &mut EndpointWindow {
        &mut document.trials[trial].objective.as_mut().unwrap().endpoints[0]
    }

    /// By hand: log ratios 0.6, 0.7, 0.8 have the mean 0.7 and s = 0.1, and t(2) is 6.20535 at 0.05 / 2.
    #[test]
    fn the_interval_of_two_pages_by_hand() {
        let document = document(&[0.6_f64, 0.7, 0.8].map(f64::exp));
        let times = found(&document);
        let [slow, other] = times.as_slice() else {
            panic!("{times:?}");
        };
        assert_eq!((slow.page.as_str(), slow.blocks), ("GET /slow", 3));
        let half = 6.205_347 * 0.1 / 3.0_f64.sqrt();
        let (low, high) = (slow.low.unwrap().ln(), slow.high.unwrap().ln());
        assert!((slow.ratio.ln() - 0.7).abs() < 1e-12);
        assert!((low - (0.7 - half)).abs() < 1e-5 && (high - (0.7 + half)).abs() < 1e-5);
        assert!(slow.differs(0.03) && !other.differs(0.03), "{times:?}");
        let median = 10.0 * 0.7_f64.exp();
        assert!((slow.candidate_ms.unwrap() - median).abs() < 1e-9);
        assert!(!slow.differs(1.2), "+101 % is within a margin of 120 %");
    }

    /// The candidate is slower in the middle block, and much faster in one.
    #[test]
    fn the_times_give_the_change() {
        let mut document = document(&[0.5, 1.1, 1.2]);
        page(&mut document, 0).p50_ms = Some(20.0);
        let slow = &found(&document)[0];
        let own = slow.candidate_ms.unwrap() / slow.baseline_ms.unwrap();
        assert!((own / slow.ratio - 1.0).abs() < 1e-9, "{slow:?}");
    }

    #[test]
    fn several_looks_and_what_identical_arms_differ_by_make_it_wider() {
        let ratios: Vec<f64> = (0..13)
            .map(|k| 2.0 * (1.0 + f64::from(k % 3) / 1e2))
            .collect();
        let mut document = document(&ratios);
        let looks = stats::looks(13, document.plan.alpha, document.seed).unwrap();
        assert_eq!(looks.len(), 2);
        let logs: Vec<f64> = ratios.iter().map(|r| r.ln()).collect();
        let (mean, half) = stats::mean_and_half(&logs, 0.05 / 4.0).unwrap();
        let low = |document: &Document| found(document)[0].low.unwrap().ln();
        assert!((low(&document) - (mean - half)).abs() < 1e-9);
        document.calibration = Some(crate::sample::calibration(0.02));
        assert!((low(&document) - (mean - half - 1.02_f64.ln())).abs() < 1e-9);
    }

    #[test]
    fn a_page_that_fails_is_the_slowest_and_not_missing() {
        let mut document = document(&[1.0; 6]);
        for trial in [1, 3, 5, 7, 9, 11] {
            page(&mut document, trial).p50_ms = None;
        }
        let slow = &found(&document)[0];
        assert_eq!(
            (slow.candidate_ms, slow.baseline_ms, slow.blocks),
            (None, Some(10.0), 6)
        );
        assert!(slow.differs(0.03), "{slow:?}");
    }

    #[test]
    fn a_block_without_a_request_of_the_page_is_left_out() {
        let mut document = document(&[2.0; 6]);
        for trial in 2..12 {
            (
                page(&mut document, trial).requests,
                page(&mut document, trial).p50_ms,
            ) = (0, None);
        }
        let times = found(&document);
        assert_eq!((times[0].blocks, times[0].low), (1, None));
        assert!(!times[0].differs(0.03));
        assert_eq!(times[1].blocks, 6);
    }

    #[test]
    fn one_page_and_no_common_rate_and_nothing_comparable_give_no_table() {
        let mut one = document(&[2.0; 6]);
        for trial in &mut one.trials {
            trial.objective.as_mut().unwrap().endpoints.truncate(1);
        }
        assert_eq!(found(&one), []);
        for trial in &mut one.trials {
            trial.objective = None;
        }
        assert_eq!(found(&one), []);
        let mut failing = document(&[2.0; 6]);
        failing.comparisons[0].not_comparable = Some("12 % of its requests failed".to_owned());
        assert_eq!(found(&failing), []);
    }
}
