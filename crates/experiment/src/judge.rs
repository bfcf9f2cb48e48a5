//! From trials to comparisons and arm summaries: picks the evidence, calls `stats`, fills the document's types.

mod aged;
mod beyond;
mod failing;
mod feasible;
mod growth;
mod judging;
mod pages;
mod pairs;
#[cfg(test)]
pub mod sample;

pub use aged::usable_bytes;
pub use beyond::compare_beyond;
pub use failing::{CORRECT_THE_PAGE, Role, Tally, failing, withdrawn};
pub use feasible::{Feasible, VIOLATION_ALPHA, feasibility, rate_of};
pub use growth::{any_grows, equal_requests, growth, memory_bytes, resident};
pub use judging::Judging;
pub use pages::page_times;
use pairs::pairs;
pub use pairs::{best_of_three, p95_medians, p95_ms};

use crate::arm_time;
use crate::request::Arm;
use hdrhistogram::Histogram;
use run::{
    ArmSummary, Comparison, Detectable, Document, Foreseen, Metric, Outcome, SdSource, Stage,
    Timing, Trial,
};
use stats::{ArmSoFar, EqualArms, Noise, Rule, Verdict, summary};

/// Share of true effects of that size that are found.
pub const POWER: f64 = 0.8;

/// Pairs of trials from whose scatter a bound can be given for what a run finds.
pub const PAIRS_OF_A_BOUND: usize = 4;

/// Of the simulation behind "so many blocks would decide": an estimate, which no choice of seed should change.
const DECIDING_SEED: u64 = 1;

/// Compares `candidate` with `baseline` over the blocks of `stage` in which both count. `None` when there is no such block.
pub fn compare(
    trials: &[Trial],
    stage: Stage,
    baseline: &str,
    candidate: &str,
    judging: Judging,
) -> Option<Comparison> {
    let metric = judging.metric;
    let pairs = pairs(trials, stage, metric, (baseline, candidate));
    let rule = judging.rule(metric);
    let judged = stats::compare(&pairs, &rule).ok()?;
    Some(told(stage, metric, (baseline, candidate), &judged, &rule))
}

/// Another figure of the arms that these comparisons are of, over the blocks of the same stages; none where they are of that figure.
pub fn in_addition(
    document: &Document,
    comparisons: &[Comparison],
    metric: Metric,
) -> Vec<Comparison> {
    let others = comparisons.iter().filter(|c| c.metric != metric);
    let added = others.filter_map(|c| {
        let judging = Judging {
            metric,
            ..Judging::reached(document, c.stage)
        };
        compare(
            &document.trials,
            c.stage,
            &c.baseline,
            &c.candidate,
            judging,
        )
    });
    added.map(|c| withdrawn(&document.trials, c)).collect()
}

/// A comparison as the run document has it.
pub fn told(
    stage: Stage,
    metric: Metric,
    (baseline, candidate): (&str, &str),
    judged: &stats::Comparison,
    rule: &Rule,
) -> Comparison {
    // The race decides nothing, whatever the number of its blocks.
    let undecided = judged.verdict == Verdict::Undecided && stage != Stage::Race;
    let blocks_to_decide = undecided
        .then(|| stats::blocks_to_decide(judged, rule, DECIDING_SEED))
        .flatten();
    Comparison {
        stage,
        baseline: baseline.to_owned(),
        candidate: candidate.to_owned(),
        metric,
        outcome: match judged.verdict {
            Verdict::Better => Outcome::Better,
            Verdict::Worse => Outcome::Worse,
            Verdict::Equivalent => Outcome::Equivalent,
            Verdict::Undecided => Outcome::Undecided,
        },
        ratio: judged.ratio,
        low: judged.interval.map(|i| i.low),
        high: judged.interval.map(|i| i.high),
        confidence: judged.interval.map(|i| i.confidence),
        p: judged.p,
        blocks: judged.blocks,
        sd_log_ratio: judged.sd_log_ratio,
        blocks_to_decide,
        not_comparable: None,
        not_claimed: false,
    }
}

/// The minimum detectable effect of so many blocks, with the looks that they will really have, before any of them is
/// measured: from what equal arms have shown, or from the stated default without any. `allowance` as in [`Judging`].
pub fn foreseen(
    blocks: u32,
    alpha: f64,
    equal_arms: EqualArms<'_>,
    allowance: f64,
    measured: SdSource,
    seed: u64,
) -> Detectable {
    let looks = stats::looks(blocks, alpha, seed).unwrap_or_default();
    let foreseen = stats::foresee(&looks, equal_arms, allowance, POWER, seed);
    Detectable {
        sd_log_ratio: foreseen.noise.sd,
        source: match foreseen.noise.freedom {
            Some(_) => measured,
            None => SdSource::Default,
        },
        effect: known(foreseen.effect - 1.0, equal_arms.log_ratios.len()),
    }
}

/// The same from noise that the pilot and earlier runs have shown together.
pub fn foreseen_by(blocks: u32, alpha: f64, noise: Noise, seed: u64) -> Detectable {
    let looks = stats::looks(blocks, alpha, seed).unwrap_or_default();
    let effect = stats::mde(&looks, noise, 0.0, POWER, seed) - 1.0;
    Detectable {
        sd_log_ratio: noise.sd,
        source: SdSource::EarlierRuns,
        effect: known(effect, noise.freedom.unwrap_or(0) as usize),
    }
}

/// The same afterwards, from the scatter of the comparison's own blocks. `None` when there was but one.
pub fn detectable(document: &Document, comparison: &Comparison) -> Option<Detectable> {
    let (plan, seed) = (&document.plan, document.seed);
    let sd_log_ratio = comparison.sd_log_ratio?;
    let mut noise = Noise::of_comparison(sd_log_ratio, comparison.blocks);
    if comparison.metric == Metric::Capacity {
        let arms = (&*comparison.baseline, &*comparison.candidate);
        let pairs = pairs(&document.trials, comparison.stage, Metric::Capacity, arms);
        let capacities: Vec<f64> = pairs
            .iter()
            .flat_map(|(one, other)| [*one, *other])
            .collect();
        noise = noise.counted(answers_a_window(&capacities, &plan.timing));
    }
    let looks = stats::looks(plan.blocks, plan.alpha, seed).unwrap_or_default();
    let allowance = Judging::once(document).allowance;
    Some(Detectable {
        sd_log_ratio,
        source: SdSource::Data,
        effect: known(
            stats::mde(&looks, noise, allowance, POWER, seed) - 1.0,
            comparison.blocks as usize,
        ),
    })
}

/// Blocks too few to decide find nothing, and from the scatter of too few pairs no bound can be given: from one pair the same noise
/// gives anything from 7 to 80 %.
fn known(effect: f64, pairs: usize) -> Option<f64> {
    Some(effect).filter(|effect| effect.is_finite() && pairs >= PAIRS_OF_A_BOUND)
}

/// Answers that a window holds at the least of these capacities; `None` without any.
pub fn answers_a_window(capacities_per_s: &[f64], timing: &Timing) -> Option<f64> {
    let least = capacities_per_s.iter().copied().reduce(f64::min)?;
    Some(least * timing.saturation_s)
}

/// The blocks of a stage, in order.
pub fn blocks(trials: &[Trial], stage: Stage) -> Vec<u32> {
    let mut blocks: Vec<u32> = trials
        .iter()
        .filter(|t| t.stage == stage)
        .map(|t| t.block)
        .collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}

/// The arms' capacities as the race reads them.
pub fn so_far(trials: &[Trial], stage: Stage, arms: &[Arm]) -> Vec<ArmSoFar> {
    let blocks = blocks(trials, stage);
    let of = |arm: &Arm, block: u32| {
        let trial = trials
            .iter()
            .find(|t| t.stage == stage && t.block == block && t.arm == arm.name && t.counts())?;
        trial.capacity_per_s().filter(|c| *c > 0.0).map(f64::ln)
    };
    arms.iter()
        .map(|arm| ArmSoFar {
            name: arm.name.clone(),
            log_throughput: blocks.iter().map(|b| of(arm, *b)).collect(),
        })
        .collect()
}

/// How an arm stands to the limits, from what its row of the table rests on.
pub fn standing(arm: &str, document: &Document) -> Feasible {
    let mine = run::evidence(arm, &document.trials).into_iter();
    feasibility(&mine.filter(|t| t.counts()).collect::<Vec<_>>(), document)
}

/// One row of the arms' table.
pub fn summarise(
    arm: &Arm,
    fate: String,
    predicted: Option<Foreseen>,
    document: &Document,
) -> ArmSummary {
    let trials = &document.trials;
    let mine = run::evidence(&arm.name, trials);
    let failed = mine
        .iter()
        .filter(|t| t.status == run::TrialStatus::Failed)
        .count() as u32;
    let valid: Vec<&Trial> = mine.into_iter().filter(|t| t.counts()).collect();
    let median_of = |of: &dyn Fn(&Trial) -> Option<f64>| {
        let values: Vec<f64> = valid.iter().filter_map(|t| of(t)).collect();
        summary::median(&values)
    };
    let feasible = feasibility(&valid, document);
    let response = merged_response(&valid);
    ArmSummary {
        name: arm.name.clone(),
        label: arm.label.clone(),
        settings: arm.settings,
        environment: trials
            .iter()
            .rev()
            .find(|trial| trial.arm == arm.name)
            .map_or_else(Vec::new, |trial| trial.environment.clone()),
        fate,
        trials: valid.len() as u32,
        failed,
        capacity_per_s: median_of(&Trial::capacity_per_s),
        predicted_per_s: predicted.map(|p| p.capacity_per_s),
        predicted_p50_ms: predicted.and_then(|p| p.p50_ms),
        predicted_p99_ms: predicted.and_then(|p| p.p99_ms),
        violation_rate: feasible.violations.map(|(rate, _)| rate),
        violation_interval: feasible.violations.map(|(_, interval)| interval),
        violation_requests: feasible.violations.map(|_| feasible.requests),
        latency_trials: Some(valid.iter().filter(|t| t.objective.is_some()).count() as u32),
        p50_ms: response
            .as_ref()
            .and_then(|h| crate::windows::quantile_ms(h, 0.50)),
        p99_ms: response
            .as_ref()
            .and_then(|h| crate::windows::quantile_ms(h, 0.99)),
        percentiles: response
            .as_ref()
            .map_or_else(Vec::new, crate::windows::percentiles),
        pss_bytes: median_of(&|t| Some(t.memory.as_ref()?.compared_bytes()? as f64))
            .map(|b| b as u64),
        pss_interval: aged::interval(&valid),
        growth_bytes_per_thousand: median_of(&|t| {
            let memory = t.memory.as_ref()?;
            let of_windows = Some(memory.growth_bytes_per_thousand);
            memory
                .aged
                .as_ref()
                .map_or(of_windows, |_| aged::late_pace(t))
        }),
        growth: growth(&valid),
        aged: aged::aged(&valid, document),
        cpu_ms_per_request: median_of(&|t| t.saturation.as_ref().map(|w| w.cpu_ms_per_request)),
        time: arm_time::request_time(&valid),
        machine: arm_time::machine(&valid),
        feasible: feasible.standing,
        broken: feasible.why,
    }
}

/// All response times of the objective windows; `None` when there is none.
fn merged_response(trials: &[&Trial]) -> Option<Histogram<u64>> {
    let windows = trials.iter().filter_map(|t| t.objective.as_ref());
    let mut decoded = windows
        .filter_map(|w| w.response.hdr.as_ref())
        .filter_map(|h| h.decode(&load::new_histogram()).ok());
    let mut all = decoded.next()?;
    for histogram in decoded {
        // Of the same bounds: `decode` refuses others, which are left out rather than ending the run.
        let _ = all.add(histogram);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Look;

    /// Two arms in six blocks, the second of which has a quarter of the memory and four fifths of the response time, gives half of
    /// the answers, and runs one process instead of two.
    fn trials() -> Vec<Trial> {
        let document = crate::sample::document("compare");
        let model = document
            .trials
            .iter()
            .find(|t| t.memory.is_some() && t.counts());
        let model = model.unwrap().clone();
        let trial = |block: u32, small: bool| {
            let noise = 1.0 + f64::from(block * block % 5) / 1e3;
            let mut trial = model.clone();
            (trial.stage, trial.block) = (Stage::Confirm, block);
            trial.arm = if small { "small" } else { "today" }.to_owned();
            trial.settings.workers = if small { 0 } else { 2 };
            let of = |all: f64, share: f64| if small { all * share * noise } else { all };
            trial.saturation.as_mut().unwrap().good_per_s = of(100.0, 0.5);
            trial.objective.as_mut().unwrap().response.p95_ms = Some(of(50.0, 0.8));
            trial.memory.as_mut().unwrap().pss_bytes = of(4e8, 0.25) as u64;
            trial
        };
        (1..=6)
            .flat_map(|block| [trial(block, false), trial(block, true)])
            .collect()
    }

    #[test]
    fn what_is_compared_is_what_was_asked_for_and_less_of_it_is_better() {
        let trials = trials();
        let compared = |metric| {
            let look = Look {
                blocks: 6,
                alpha: 0.05,
                overall: 0.05,
            };
            let judging = Judging {
                margin: 0.03,
                look,
                allowance: 0.0,
                metric,
            };
            compare(&trials, Stage::Confirm, "today", "small", judging).unwrap()
        };
        for (metric, ratio, outcome) in [
            (Metric::Capacity, 0.5, Outcome::Worse),
            (Metric::ResponseTime, 0.8, Outcome::Better),
            (Metric::Memory, 0.25, Outcome::Better),
            (Metric::Processes, 0.5, Outcome::Better),
        ] {
            let found = compared(metric);
            assert_eq!(
                (found.metric, found.outcome),
                (metric, outcome),
                "{metric:?}"
            );
            assert!(
                (found.ratio / ratio - 1.0).abs() < 0.01,
                "{metric:?} {}",
                found.ratio
            );
        }
    }

    /// Throughput was asked for; the memory and the response time of the same blocks have their own intervals and verdicts.
    #[test]
    fn other_figures_are_judged_over_the_same_blocks() {
        let mut document = crate::sample::document("tune");
        document.trials = trials();
        document.plan.blocks = 6;
        let judging = Judging::reached(&document, Stage::Confirm);
        let asked = compare(&document.trials, Stage::Confirm, "today", "small", judging).unwrap();
        let memory = in_addition(&document, std::slice::from_ref(&asked), Metric::Memory);
        let [found] = memory.as_slice() else {
            panic!("{memory:?}");
        };
        assert_eq!(
            (asked.metric, found.metric, found.outcome),
            (Metric::Capacity, Metric::Memory, Outcome::Better)
        );
        assert!(found.low.unwrap() < 0.26 && found.blocks == 6, "{found:?}");
        assert_eq!(in_addition(&document, &memory, Metric::Memory), []);
        let latency = in_addition(&document, &[asked], Metric::ResponseTime);
        assert_eq!(
            (latency[0].metric, latency[0].outcome),
            (Metric::ResponseTime, Outcome::Better)
        );
    }

    #[test]
    fn no_bound_is_given_from_few_pairs() {
        let effect = |pairs: usize| {
            let log_ratios: Vec<f64> = (0..pairs).map(|i| [0.02, -0.02][i % 2]).collect();
            let equal_arms = EqualArms {
                log_ratios: &log_ratios,
                answers: None,
            };
            foreseen(6, 0.05, equal_arms, 0.0, SdSource::Pilot, 1).effect
        };
        assert_eq!([0, 1, 2, 3].map(effect), [None; 4]);
        assert!(effect(6).is_some_and(|found| found < 0.1));
    }

    #[test]
    fn what_has_no_figure_is_no_evidence() {
        let mut trials = trials();
        trials[0].objective = None;
        trials[2].memory = None;
        let pairs = |metric| pairs(&trials, Stage::Confirm, metric, ("today", "small")).len();
        assert_eq!(
            [Metric::Capacity, Metric::ResponseTime, Metric::Memory].map(pairs),
            [6, 5, 5]
        );
        assert_eq!(pairs(Metric::WallTime), 0);
    }

    /// Leaving out the blocks in which most requests failed would flatter the arm that failed.
    #[test]
    fn an_infinite_response_time_is_the_worst_and_not_missing() {
        let mut trials = trials();
        trials[1].objective.as_mut().unwrap().response.p95_ms = None;
        let arms = ("today", "small");
        let pairs = pairs(&trials, Stage::Confirm, Metric::ResponseTime, arms);
        assert_eq!(pairs.len(), 6);
        assert!(pairs[0].1 > 1e3 * pairs[0].0, "{pairs:?}");
    }

    #[test]
    fn what_carries_less_than_the_rate_keeps_no_limit() {
        let trials = trials();
        let small: Vec<&Trial> = trials.iter().filter(|t| t.arm == "small").collect();
        let standing = |rate| {
            let mut document = crate::sample::document("compare");
            document.plan.objective = run::Objective {
                latency: None,
                max_memory_bytes: None,
                least: Some(run::Least::Memory),
                must_carry_per_s: Some(rate),
            };
            feasibility(&small, &document).standing
        };
        use run::Feasibility::{Breaks, Meets, Unclear};
        // It carries 50.05 to 50.2.
        assert_eq!([40.0, 50.1, 60.0].map(standing), [Meets, Unclear, Breaks]);
    }
}
