//! Whole experiments on a simulated machine, many of them, and what is counted
//! in them. The decisions are those that `powerband` takes: the same looks, the
//! same comparison, the same race.

use crate::machine::{Host, Machine};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use stats::{
    ArmSoFar, Better, Comparison, EqualArms, EqualBlock, Fitness, Look, Noise, RaceRule, Rule,
    Verdict, calibrate, compare, foresee, looks, mde, step,
};

pub const ALPHA: f64 = 0.05;
pub const POWER: f64 = 0.8;
pub const MARGIN: f64 = 0.03;
/// Blocks that are planned in the tables.
pub const PLANS: [u32; 5] = [6, 8, 9, 12, 24];
pub const PLAN_SEED: u64 = 7;

/// A plan of so many blocks.
pub fn plan(blocks: u32) -> Vec<Look> {
    looks(blocks, ALPHA, PLAN_SEED).unwrap()
}

/// What an experiment on these pairs comes to: its first look that decides, or
/// its last one.
pub fn judge(pairs: &[(f64, f64)], plan: &[Look], margin: f64, allowance: f64) -> Comparison {
    let at = |look: &Look| {
        let rule = Rule {
            allowance,
            ..Rule::at(look, margin, Better::Higher)
        };
        compare(&pairs[..look.blocks as usize], &rule).unwrap()
    };
    let (last, interim) = plan.split_last().unwrap();
    let decided = interim
        .iter()
        .map(at)
        .find(|c| c.verdict != Verdict::Undecided);
    decided.unwrap_or_else(|| at(last))
}

pub fn different(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}

/// Counts over `runs` experiments that are independent of each other.
pub fn count(
    runs: u32,
    seed: u64,
    machine: Machine,
    mut run: impl FnMut(&mut Host, &mut Pcg64) -> bool,
) -> u32 {
    let mut rng = Pcg64::seed_from_u64(seed);
    let one = |_: &u32| {
        let mut host = Host::new(machine, &mut rng);
        run(&mut host, &mut rng)
    };
    (0..runs).filter(one).count() as u32
}

/// Identical arms that come out better or worse. The margin is all but closed,
/// so that every significant difference is called.
pub fn false_positives(machine: Machine, blocks: u32, runs: u32, seed: u64) -> u32 {
    let plan = plan(blocks);
    count(runs, seed, machine, |host, rng| {
        different(judge(&host.pairs(blocks, 0.0, rng), &plan, 1e-6, 0.0).verdict)
    })
}

/// Intervals that hold the true effect at the look where the run stopped, and
/// the confidence that they claim on average.
pub fn coverage(machine: Machine, blocks: u32, effect: f64, runs: u32, seed: u64) -> (u32, f64) {
    let plan = plan(blocks);
    let mut claimed = 0.0;
    let covered = count(runs, seed, machine, |host, rng| {
        let found = judge(&host.pairs(blocks, effect, rng), &plan, MARGIN, 0.0);
        let interval = found.interval.unwrap();
        claimed += interval.confidence;
        interval.low.ln() <= effect && effect <= interval.high.ln()
    });
    (covered, claimed / f64::from(runs))
}

/// Where the detectable effect was taken from.
#[derive(Debug, Clone, Copy)]
pub enum From {
    /// Printed before the run, after a pilot of two trials of the baseline.
    Pilot,
    /// Printed before the run, after so many A/A blocks.
    EqualArms(u32),
    /// Printed after a run, from its own blocks.
    Data,
}

/// Runs that find an effect as great as the one that was printed.
pub fn powered(machine: Machine, blocks: u32, from: From, runs: u32, seed: u64) -> u32 {
    let plan = plan(blocks);
    // The effect scales with the noise, so it is simulated once for each number
    // of degrees of freedom that occurs.
    let freedoms = match from {
        From::Pilot => vec![1],
        From::EqualArms(blocks) => vec![blocks],
        From::Data => plan.iter().map(|look| look.blocks - 1).collect(),
    };
    let unit = |freedom: u32| {
        let one = Noise {
            sd: 1.0,
            freedom: Some(freedom),
            answers: None,
        };
        (Some(freedom), mde(&plan, one, 0.0, POWER, PLAN_SEED).ln())
    };
    let units: Vec<(Option<u32>, f64)> = freedoms.into_iter().map(unit).collect();
    let printed = |noise: Noise| {
        let unit = units.iter().find(|unit| unit.0 == noise.freedom).unwrap();
        noise.sd * unit.1
    };
    let default = foresee(&plan, EqualArms::default(), 0.0, POWER, PLAN_SEED)
        .effect
        .ln();
    count(runs, seed, machine, |host, rng| {
        let effect = match from {
            From::Pilot => {
                let noise = Noise::of_equal_arms(&[host.pilot(rng)]).unwrap();
                printed(noise).max(default)
            }
            From::EqualArms(blocks) => {
                let pairs = host.pairs(blocks, 0.0, rng);
                let ratios: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
                printed(Noise::of_equal_arms(&ratios).unwrap())
            }
            From::Data => {
                let before = judge(&host.pairs(blocks, 0.0, rng), &plan, 1e-6, 0.0);
                printed(Noise::of_comparison(
                    before.sd_log_ratio.unwrap(),
                    before.blocks,
                ))
            }
        };
        judge(&host.pairs(blocks, effect, rng), &plan, 1e-6, 0.0).verdict == Verdict::Better
    })
}

/// Differences of just the margin that are called equivalent. It is wide, so
/// that equivalence is within reach.
pub fn wrongly_equivalent(
    machine: Machine,
    blocks: u32,
    margin: f64,
    sign: f64,
    runs: u32,
    seed: u64,
) -> u32 {
    let plan = plan(blocks);
    let effect = sign * margin.ln_1p();
    count(runs, seed, machine, |host, rng| {
        judge(&host.pairs(blocks, effect, rng), &plan, margin, 0.0).verdict == Verdict::Equivalent
    })
}

/// `tune` among `arms` identical arms: a race of three blocks, the best of
/// those left meets the baseline on fresh blocks. Whether it is called better
/// or worse there.
pub fn false_winners(machine: Machine, arms: usize, blocks: u32, runs: u32, seed: u64) -> u32 {
    let plan = plan(blocks);
    count(runs, seed, machine, |host, rng| {
        race(host, arms, rng);
        different(judge(&host.pairs(blocks, 0.0, rng), &plan, 1e-6, 0.0).verdict)
    })
}

/// The estimate that the race itself would print of its winner: how much the
/// best of `arms` identical arms seems to be ahead of the baseline, against
/// what fresh blocks say of it. Medians, as logarithms.
pub fn flattery(machine: Machine, arms: usize, runs: u32, seed: u64) -> (f64, f64) {
    let mut rng = Pcg64::seed_from_u64(seed);
    let (mut raced, mut fresh) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let mut host = Host::new(machine, &mut rng);
        raced.push(race(&mut host, arms, &mut rng));
        let pairs = host.pairs(6, 0.0, &mut rng);
        fresh.push(compare(&pairs, &Rule::default()).unwrap().ratio.ln());
    }
    let median = |x: &[f64]| stats::summary::median(x).unwrap();
    (median(&raced), median(&fresh))
}

/// How far the winner is ahead of the baseline, which is the first arm and
/// never dropped.
fn race(host: &mut Host, arms: usize, rng: &mut Pcg64) -> f64 {
    let mut so_far: Vec<ArmSoFar> = (0..arms)
        .map(|arm| ArmSoFar {
            name: arm.to_string(),
            log_throughput: Vec::new(),
        })
        .collect();
    for _ in 0..3 {
        let block = host.block(&vec![0.0; so_far.len()], rng);
        for (arm, measured) in so_far.iter_mut().zip(block) {
            arm.log_throughput.push(Some(measured));
        }
        let dropped = step(&so_far, &RaceRule::default()).unwrap().dropped;
        let gone: Vec<usize> = dropped
            .iter()
            .map(|d| d.arm)
            .filter(|arm| *arm > 0)
            .collect();
        let mut index = 0;
        so_far.retain(|_| {
            index += 1;
            !gone.contains(&(index - 1))
        });
    }
    let pairs = |arm: &ArmSoFar| -> Vec<(f64, f64)> {
        let paired = so_far[0].log_throughput.iter().zip(&arm.log_throughput);
        paired
            .map(|(b, a)| (b.unwrap().exp(), a.unwrap().exp()))
            .collect()
    };
    so_far[1..]
        .iter()
        .map(|arm| compare(&pairs(arm), &Rule::default()).unwrap().ratio.ln())
        .fold(f64::NEG_INFINITY, f64::max)
}

/// What became of calibrated A/A runs of six blocks on a host that favours the
/// copy by `bias`, the same in calibration and run.
#[derive(Debug, Default, Clone, Copy)]
pub struct Calibrations {
    pub sound: u32,
    pub widened: u32,
    pub refused: u32,
    /// Called different after a calibration that let the run go on.
    pub wrong: u32,
    /// Of these, after one that widened.
    pub wrong_widened: u32,
    /// The same runs without a calibration.
    pub wrong_without: u32,
}

pub fn calibrated(
    machine: Machine,
    aa_blocks: u32,
    bias: f64,
    runs: u32,
    seed: u64,
) -> Calibrations {
    let plan = plan(6);
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut all = Calibrations::default();
    for _ in 0..runs {
        let mut host = Host::new(machine, &mut rng);
        let equal = |_| {
            let (measured, order) = host.ordered_block(&[0.0, bias], &mut rng);
            EqualBlock {
                baseline: measured[0].exp(),
                copy: measured[1].exp(),
                baseline_first: order[0] == 0,
            }
        };
        let equal: Vec<EqualBlock> = (0..aa_blocks).map(equal).collect();
        let found = calibrate(&equal, &Rule::default(), PLAN_SEED).unwrap();
        let pairs = host.pairs(6, bias, &mut rng);
        let wrong = |allowance: f64| different(judge(&pairs, &plan, MARGIN, allowance).verdict);
        let after = u32::from(wrong(found.allowance));
        all.wrong_without += u32::from(wrong(0.0));
        match found.fitness {
            Fitness::Sound => {
                all.sound += 1;
                all.wrong += after;
            }
            Fitness::Widened => {
                all.widened += 1;
                all.wrong += after;
                all.wrong_widened += after;
            }
            Fitness::Refused => all.refused += 1,
        }
    }
    all
}
