//! Windows -> the ratio of two servers' times, with an interval that holds though neighbouring windows resemble each
//! other.
//!
//! The unit of evidence is the batch: a stretch of time with a 24th (or 12th) of the requests, long compared with what a
//! queue remembers (batch means: Schmeiser 1982 finds that between 10 and 30 batches lose little against any number).
//! What two servers share of the machine's and the traffic's mood is in both times of a batch and not in their ratio.
//! Where the log ratios of neighbouring batches resemble each other all the same, their deviations are widened by
//! sqrt((1 + r) / (1 - r)), which is what an autoregressive series of that correlation takes off the precision of its
//! mean. So few batches show r only roughly, and one that is too low costs more coverage than one that is too high costs
//! width: so r is the estimate and its standard error, sqrt((1 - r²) / n).

use stats::{Better, Rule, SignedRank, Verdict};

use crate::series::{Series, Spread, Sum};
use crate::windows::batches;

/// Batches of a run, where there is enough for so many, and of a short one.
const MANY: u64 = 24;
const FEW: u64 = 12;

/// Least number of requests that a batch's mean is of.
const REQUESTS_A_BATCH: u64 = 10;

/// No correlation is taken for more: a series beyond it says next to nothing of its mean.
const MOST_CORRELATED: f64 = 0.95;

/// Percentiles need so many requests beyond them in each batch, and so many batches.
const BEYOND_A_BATCH: f64 = 2.0;
const LEAST_BATCHES: u64 = 8;

/// Level of an interval.
pub const ALPHA: f64 = 0.05;

/// One log ratio a batch, widened for what neighbours share.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// Candidate over reference, in the order of time.
    ratios: Vec<f64>,
    pub correlation: f64,
    pub widened: f64,
    /// By at most what share of the reference's time the mirror's wait for a core lengthens the candidate's: mean over batches,
    /// each of which counts the same, as for the ratio.
    pub core_wait: f64,
}

/// Of the mean.
pub fn of_means(series: &Series) -> Option<Evidence> {
    let (windows, requests) = filled(series);
    let enough = |most: u64| windows >= 2 * most && requests >= REQUESTS_A_BATCH * most;
    let most = [MANY, FEW].into_iter().find(|most| enough(*most))?;
    let found = batches(&series.sums, |sum| sum.requests, most);
    let pairs: Vec<(f64, f64)> = found.iter().filter_map(Sum::means_ms).collect();
    let waits = found.iter().map(|sum| (sum.waited_ns, sum.reference_ns));
    let waits: Vec<f64> = waits
        .map(|(waited, reference)| waited as f64 / reference as f64)
        .collect();
    Evidence::of(&pairs, &waits)
}

/// Of a percentile, 0 to 1.
pub fn of_quantile(series: &Series, q: f64) -> Option<Evidence> {
    let requests: u64 = series.spreads.iter().map(weight).sum();
    let a_batch = (BEYOND_A_BATCH / (1.0 - q)).max(REQUESTS_A_BATCH as f64);
    let most = (requests as f64 / a_batch) as u64;
    if most < LEAST_BATCHES {
        return None;
    }
    let found = batches(&series.spreads, weight, most.min(MANY));
    let quantiles = found.iter().map(|spread| {
        let quantile = |histogram: &crate::histogram::Histogram| histogram.quantile_ns(q);
        Some((quantile(&spread.reference)?, quantile(&spread.candidate)?))
    });
    // One batch in which it is infinite, and there is no ratio.
    let pairs = quantiles.collect::<Option<Vec<(f64, f64)>>>()?;
    let wait = |(spread, (reference, candidate)): (&Spread, &(f64, f64))| {
        let unwaited = spread.unwaited.quantile_ns(q).unwrap_or(*candidate);
        (candidate - unwaited) / reference
    };
    let waits: Vec<f64> = found.iter().zip(&pairs).map(wait).collect();
    (pairs.len() as u64 >= LEAST_BATCHES).then(|| Evidence::of(&pairs, &waits))?
}

/// What there is of what an interval of the mean needs at least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Batches that could be made of it, and the least number.
    pub batches: u64,
    pub needed: u64,
    /// Requests that both have to answer yet; 0 where only time is lacking.
    pub requests: u64,
    /// How many times as long a run at the same rate has enough; `None` before the first request.
    pub longer: Option<f64>,
}

/// Of a run that is too short for an interval of the mean.
pub fn progress(series: &Series) -> Progress {
    let (windows, requests) = filled(series);
    let (least_windows, least_requests) = (2 * FEW, REQUESTS_A_BATCH * FEW);
    let times = |least: u64, found: u64| least as f64 / found as f64;
    Progress {
        batches: (windows / 2).min(requests / REQUESTS_A_BATCH),
        needed: FEW,
        requests: least_requests.saturating_sub(requests),
        longer: (requests > 0)
            .then(|| times(least_windows, windows).max(times(least_requests, requests))),
    }
}

fn weight(spread: &Spread) -> u64 {
    spread.candidate.count()
}

fn filled(series: &Series) -> (u64, u64) {
    let filled = series.sums.iter().filter(|sum| sum.requests > 0);
    filled.fold((0, 0), |(windows, requests), sum| {
        (windows + 1, requests + sum.requests)
    })
}

impl Evidence {
    /// From (reference, candidate) of each batch, and the share of the reference that the mirror waited for a core.
    fn of(pairs: &[(f64, f64)], waits: &[f64]) -> Option<Evidence> {
        let logs: Vec<f64> = pairs
            .iter()
            .map(|(reference, candidate)| (candidate / reference).ln())
            .collect();
        let centre = SignedRank::of(&logs).ok()?.estimate();
        let correlation = correlation(&logs)?;
        let error = ((1.0 - correlation.powi(2)) / logs.len() as f64).sqrt();
        let r = (correlation + error).clamp(0.0, MOST_CORRELATED);
        let widened = ((1.0 + r) / (1.0 - r)).sqrt();
        let ratios = logs.iter().map(|x| (centre + widened * (x - centre)).exp());
        Some(Evidence {
            ratios: ratios.collect(),
            correlation,
            widened,
            core_wait: stats::summary::mean(waits)?,
        })
    }

    /// How many batches.
    pub fn batches(&self) -> u32 {
        self.ratios.len() as u32
    }

    /// The ratio and its 95 % interval.
    pub fn interval(&self, allowance: f64) -> Option<(f64, f64, f64)> {
        let logs: Vec<f64> = self.ratios.iter().map(|ratio| ratio.ln()).collect();
        let test = SignedRank::of(&logs).ok()?;
        let interval = test.interval(ALPHA)?;
        let allowance = 1.0 + allowance;
        Some((
            test.estimate().exp(),
            interval.low.exp() / allowance,
            interval.high.exp() * allowance,
        ))
    }

    /// Judged at a level; `allowance` is taken off every difference.
    pub fn compare(&self, margin: f64, alpha: f64, allowance: f64) -> Option<stats::Comparison> {
        let pairs: Vec<(f64, f64)> = self.ratios.iter().map(|ratio| (1.0, *ratio)).collect();
        let rule = rule(margin, alpha, allowance);
        stats::compare(&pairs, &rule).ok()
    }
}

/// How many times as long a run would have decided, with probability 0.8; `None` where it has, or none would.
fn run_to_decide(found: &stats::Comparison, margin: f64, allowance: f64) -> Option<f64> {
    if found.verdict != Verdict::Undecided {
        return None;
    }
    // From 24 on the large-sample rule answers, which needs no simulation and is meant for any number.
    let blocks = found.blocks.max(MANY as u32);
    let foreseen = stats::Comparison {
        blocks,
        ..found.clone()
    };
    let needed = stats::blocks_to_decide(&foreseen, &rule(margin, ALPHA, allowance), 0)?;
    Some(f64::from(needed) / f64::from(found.blocks))
}

/// How many times as long the run would have to be for the ratio found, and at least and at most for ratios within one standard
/// error of it: the time depends on the ratio so much that the figure for the ratio itself changes severalfold while the run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RunToDecide {
    pub least: Option<f64>,
    pub at: Option<f64>,
    pub most: Option<f64>,
}

pub fn runs_to_decide(found: &stats::Comparison, margin: f64, allowance: f64) -> RunToDecide {
    let error = found.sd_log_ratio.unwrap_or(0.0) / f64::from(found.blocks.max(1)).sqrt();
    let of = |errors: f64| {
        let ratio = found.ratio * (errors * error).exp();
        let found = stats::Comparison {
            ratio,
            ..found.clone()
        };
        run_to_decide(&found, margin, allowance)
    };
    let times = [-1.0, -0.5, 0.0, 0.5, 1.0].map(of);
    let [.., at, _, _] = times;
    let all: Option<Vec<f64>> = times.into_iter().collect();
    RunToDecide {
        least: times.into_iter().flatten().reduce(f64::min),
        at,
        most: all.and_then(|all| all.into_iter().reduce(f64::max)),
    }
}

fn rule(margin: f64, alpha: f64, allowance: f64) -> Rule {
    Rule {
        margin,
        alpha,
        overall: alpha,
        allowance,
        better: Better::Lower,
    }
}

/// The lag-one correlation, less the bias that it has in a short series, -(1 + 3 r) / n (Marriott and Pope 1954).
fn correlation(series: &[f64]) -> Option<f64> {
    let n = series.len() as f64;
    let mean = stats::summary::mean(series)?;
    let squares: f64 = series.iter().map(|x| (x - mean).powi(2)).sum();
    if n < 4.0 {
        return None;
    }
    if squares <= f64::MIN_POSITIVE {
        return Some(0.0);
    }
    let products: f64 = series
        .windows(2)
        .map(|two| (two[0] - mean) * (two[1] - mean))
        .sum();
    Some(((n * products / squares + 1.0) / (n - 3.0)).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;

    const RUNS: u32 = 400;

    /// Two identical servers. Times of requests are log-normal, so that a few are very long; each server has good and bad
    /// batches, which neighbours share as a first-order autoregressive series does.
    struct Equal {
        batches: usize,
        /// Correlation of one batch with the next.
        memory: f64,
    }

    impl Equal {
        const REQUESTS: usize = 13;
        /// Standard deviations of logarithms.
        const REQUEST: f64 = 1.0;
        const BATCH: f64 = 0.5;

        fn run(&self, seed: u64) -> Option<Evidence> {
            let mut rng = Pcg64::seed_from_u64(seed);
            let mut normal = move || -> f64 { StandardNormal.sample(&mut rng) };
            let fresh = Self::BATCH * (1.0 - self.memory.powi(2)).sqrt();
            let mut moods = [normal(), normal()].map(|z| Self::BATCH * z);
            let mut batch = || {
                let means = moods.map(|mood| {
                    let times =
                        (0..Self::REQUESTS).map(|_| (mood + Self::REQUEST * normal()).exp());
                    times.sum::<f64>()
                });
                moods = moods.map(|mood| self.memory * mood + fresh * normal());
                (means[0], means[1])
            };
            let pairs: Vec<(f64, f64)> = (0..self.batches).map(|_| batch()).collect();
            Evidence::of(&pairs, &vec![0.0; self.batches])
        }

        fn covered(&self, runs: u32) -> u32 {
            let holds = |seed: &u64| {
                let (_, low, high) = self.run(*seed).unwrap().interval(0.0).unwrap();
                low <= 1.0 && 1.0 <= high
            };
            (0..u64::from(runs)).filter(holds).count() as u32
        }
    }

    #[test]
    fn intervals_of_few_batches_hold_the_truth_where_neighbours_resemble_each_other() {
        for batches in [8, 12, 24, 40] {
            for memory in [0.0, 0.3, 0.5] {
                let covered = Equal { batches, memory }.covered(RUNS);
                // Significantly fewer than 95 in a hundred is a broken promise.
                let chance = stats::binomial_at_most(covered, RUNS, 0.95);
                assert!(chance > 0.01, "{batches} {memory}: {covered}");
            }
        }
    }

    #[test]
    fn too_few_batches_have_no_interval() {
        let of = |batches| {
            Equal {
                batches,
                memory: 0.0,
            }
            .run(1)
        };
        assert!(of(3).is_none());
        for batches in 4..6 {
            assert_eq!(of(batches).unwrap().interval(0.0), None);
        }
    }
}
