//! From runs to their summary: how the samples of an arm lie, and each arm against the first. Pure.

use crate::judge::{Judging, told};
use run::{CommandRun, Comparison, Distribution, MemoryMeasure, Metric, Stage};
use stats::summary;

/// What is compared of each arm, in this order.
pub const METRICS: [Metric; 3] = [Metric::WallTime, Metric::MedianMemory, Metric::PeakMemory];

/// PSS speaks where it was read with so many of each run's samples or more.
const ENOUGH_PSS: f64 = 0.5;

/// The figure that all runs have: PSS, unless it was too dear or could not be read in one of them.
pub fn measure(runs: &[CommandRun]) -> MemoryMeasure {
    let mut counted = runs.iter().filter(|run| run.counts());
    let enough = |run: &CommandRun| {
        let with = run.memory(MemoryMeasure::Pss).len() as f64;
        with >= ENOUGH_PSS * run.samples.len() as f64
    };
    match counted.all(enough) {
        true => MemoryMeasure::Pss,
        false => MemoryMeasure::Rss,
    }
}

/// How values lie; `None` without any.
pub fn distribution(bytes: &[f64]) -> Option<Distribution> {
    let at = |q: f64| summary::quantile(bytes, q).map(|value| value.round() as u64);
    Some(Distribution {
        samples: bytes.len() as u64,
        min_bytes: at(0.0)?,
        p25_bytes: at(0.25)?,
        p50_bytes: at(0.5)?,
        p75_bytes: at(0.75)?,
        p95_bytes: at(0.95)?,
        max_bytes: at(1.0)?,
    })
}

/// One run's figure.
pub fn figure(run: &CommandRun, metric: Metric, measure: MemoryMeasure) -> Option<f64> {
    match metric {
        // Of trials, which no command has.
        Metric::Capacity | Metric::ResponseTime | Metric::Memory | Metric::Processes => None,
        Metric::WallTime => Some(run.wall_s),
        Metric::MedianMemory => summary::median(&run.memory(measure)),
        Metric::PeakMemory => run.memory(measure).into_iter().reduce(f64::max),
    }
}

/// The typical ratio of the wall times of `candidate` and `baseline` within the blocks of a stage; claims nothing.
pub fn wall_ratio(
    runs: &[CommandRun],
    stage: Stage,
    (baseline, candidate): (&str, &str),
) -> Option<f64> {
    let of = |arm: &str| {
        let arm = arm.to_owned();
        let counting =
            move |run: &&CommandRun| run.stage == stage && run.arm == arm && run.counts();
        runs.iter().filter(counting)
    };
    let ratios = of(baseline).filter_map(|theirs| {
        let ours = of(candidate).find(|run| run.block == theirs.block)?;
        (theirs.wall_s > 0.0).then(|| ours.wall_s / theirs.wall_s)
    });
    summary::median(&ratios.collect::<Vec<_>>())
}

/// Compares one figure of `candidate` with that of `baseline` over the blocks of the stage in which both runs count; less is better.
/// `None` when there is no such block.
pub fn compare(
    runs: &[CommandRun],
    (stage, metric): (Stage, Metric),
    measure: MemoryMeasure,
    (baseline, candidate): (&str, &str),
    judging: Judging,
) -> Option<Comparison> {
    let of = |block: u32, arm: &str| {
        let mut runs = runs.iter().filter(|run| run.stage == stage);
        let run = runs.find(|run| run.block == block && run.arm == arm && run.counts())?;
        figure(run, metric, measure).filter(|value| *value > 0.0)
    };
    let pairs: Vec<(f64, f64)> = (1..=judging.look.blocks)
        .filter_map(|block| Some((of(block, baseline)?, of(block, candidate)?)))
        .collect();
    let rule = judging.rule(metric);
    let judged = stats::compare(&pairs, &rule).ok()?;
    Some(told(stage, metric, (baseline, candidate), &judged, &rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{MemorySample, Outcome};
    use stats::Look;

    const MIB: u64 = 1 << 20;

    fn run(arm: &str, block: u32, wall_s: f64, pss_mib: &[u64]) -> CommandRun {
        let sample = |(at, mib): (usize, &u64)| MemorySample {
            at_s: 1.0 + at as f64,
            rss_bytes: (mib + 10) * MIB,
            pss_bytes: Some(mib * MIB),
        };
        CommandRun {
            id: format!("compare-b{block:02}-{arm}"),
            stage: Stage::Compare,
            block,
            place: 1,
            arm: arm.to_owned(),
            failed: None,
            started_s: 0.0,
            wall_s,
            cpu_s: wall_s,
            exit: Some(0),
            samples: pss_mib.iter().enumerate().map(sample).collect(),
        }
    }

    const JUDGING: Judging = Judging {
        margin: 0.03,
        look: Look {
            blocks: 6,
            alpha: 0.05,
            overall: 0.05,
        },
        allowance: 0.0,
        metric: Metric::Capacity,
    };

    fn compared(runs: &[CommandRun], metric: Metric) -> Comparison {
        let of = (Stage::Compare, metric);
        compare(runs, of, MemoryMeasure::Pss, ("a", "b"), JUDGING).unwrap()
    }

    /// By counting: the least value with so many at or below it, between neighbours in proportion.
    fn naive(values: &[f64], q: f64) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let place = q * (sorted.len() as f64 - 1.0);
        let below = sorted[place as usize];
        let above = sorted.get(place as usize + 1).copied().unwrap_or(below);
        below * (1.0 - place.fract()) + above * place.fract()
    }

    #[test]
    fn a_distribution_is_what_sorting_and_counting_gives() {
        // A multiplicative generator, so that the values are in no order and odd in number.
        let values: Vec<f64> = (0..997_u64)
            .map(|n| (n * 48_271 % 65_537) as f64 * 4096.0)
            .collect();
        let found = distribution(&values).unwrap();
        assert_eq!(found.samples, 997);
        for (bytes, q) in [
            (found.min_bytes, 0.0),
            (found.p25_bytes, 0.25),
            (found.p50_bytes, 0.5),
            (found.p75_bytes, 0.75),
            (found.p95_bytes, 0.95),
            (found.max_bytes, 1.0),
        ] {
            assert!(
                (bytes as f64 - naive(&values, q)).abs() <= 0.5,
                "{q}: {bytes}"
            );
        }
        assert_eq!(distribution(&[]), None);
    }

    #[test]
    fn less_is_better_and_each_figure_is_judged_by_itself() {
        let runs: Vec<CommandRun> = (1..=6)
            .flat_map(|block| {
                let drift = block as f64 / 100.0;
                [
                    run(
                        "a",
                        block,
                        10.0 + drift,
                        &[100, 110, 120 + u64::from(block)],
                    ),
                    // Faster, the same in the middle, and a higher peak.
                    run("b", block, 5.0 + drift, &[100, 110, 240 + u64::from(block)]),
                ]
            })
            .collect();
        let wall = compared(&runs, Metric::WallTime);
        assert_eq!((wall.outcome, wall.blocks), (Outcome::Better, 6));
        assert!(wall.low.unwrap() <= wall.ratio && wall.ratio <= wall.high.unwrap());
        assert!((wall.ratio - 0.5).abs() < 0.01, "{}", wall.ratio);
        assert_eq!(
            compared(&runs, Metric::MedianMemory).outcome,
            Outcome::Equivalent
        );
        let peak = compared(&runs, Metric::PeakMemory);
        assert_eq!(peak.outcome, Outcome::Worse);
        assert!((peak.ratio - 2.0).abs() < 0.06, "{}", peak.ratio);
    }

    #[test]
    fn only_blocks_in_which_both_count_are_evidence() {
        let mut runs: Vec<CommandRun> = (1..=6)
            .flat_map(|b| [run("a", b, 1.0, &[10]), run("b", b, 2.0, &[10])])
            .collect();
        runs[3].failed = Some("it failed".to_owned());
        let wall = compared(&runs, Metric::WallTime);
        // Five blocks can decide nothing at 5 %.
        assert_eq!((wall.blocks, wall.outcome), (5, Outcome::Undecided));
        assert_eq!(wall.low, None);
        let none: Vec<CommandRun> = runs.into_iter().filter(|run| run.arm == "a").collect();
        let nothing = compare(
            &none,
            (Stage::Compare, Metric::WallTime),
            MemoryMeasure::Pss,
            ("a", "b"),
            JUDGING,
        );
        assert_eq!(nothing, None);
    }

    #[test]
    fn one_figure_is_taken_for_all() {
        let mut runs = vec![run("a", 1, 1.0, &[10, 10, 10]), run("b", 1, 1.0, &[10, 10])];
        assert_eq!(measure(&runs), MemoryMeasure::Pss);
        runs[0].samples[2].pss_bytes = None;
        assert_eq!(measure(&runs), MemoryMeasure::Pss);
        runs[0].samples[1].pss_bytes = None;
        assert_eq!(measure(&runs), MemoryMeasure::Rss);
        assert_eq!(
            figure(&runs[0], Metric::PeakMemory, MemoryMeasure::Rss),
            Some((20 * MIB) as f64)
        );
        // What does not count has no say.
        runs[0].failed = Some("it failed".to_owned());
        assert_eq!(measure(&runs), MemoryMeasure::Pss);
    }
}
