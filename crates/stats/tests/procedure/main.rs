//! The procedure as a whole on simulated machines whose truth is known: 2,000
//! experiments for each claim from fixed seeds (500 for what a calibration does),
//! so that each test gives the same count for ever. `examples/calibration.rs` prints more of them.

mod experiments;
mod finalists;
mod machine;
mod windows;

use experiments::{ALPHA, From, MARGIN, PLAN_SEED, PLANS, POWER};
use machine::{DRIFTING, HOSTILE, Host, MACHINES, Machine, QUIET};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use stats::{
    EqualBlock, Fitness, Rule, Verdict, binomial_at_least, binomial_at_most, calibrate, mde,
};

const RUNS: u32 = 2_000;

/// A count may miss its rate by chance; less likely than this is a defect.
const SIGNIFICANT: f64 = 0.01;

fn at_most(rate: f64, count: u32, what: &str) {
    let p = binomial_at_least(count, RUNS, rate);
    assert!(p > SIGNIFICANT, "{what}: {count} of {RUNS}, not {rate}");
}

fn at_least(rate: f64, count: u32, what: &str) {
    let p = binomial_at_most(count, RUNS, rate);
    assert!(p > SIGNIFICANT, "{what}: {count} of {RUNS}, not {rate}");
}

fn everywhere(check: impl Fn(Machine, u32, &str)) {
    for machine in MACHINES {
        for blocks in PLANS {
            check(
                machine,
                blocks,
                &format!("{}, {blocks} blocks", machine.name),
            );
        }
    }
}

#[test]
fn identical_arms_come_out_different_in_at_most_five_per_cent() {
    everywhere(|machine, blocks, what| {
        let wrong = experiments::false_positives(machine, blocks, RUNS, u64::from(blocks));
        at_most(ALPHA, wrong, what);
        assert!(wrong > RUNS / 100, "{what}: it never rejects: {wrong}");
    });
}

/// The simulation can tell: arms in a fixed order are called different on a
/// machine that slows down within a block.
#[test]
fn without_random_order_they_would() {
    let plan = experiments::plan(8);
    let wrong = experiments::count(RUNS, 1, HOSTILE, |host, rng| {
        let pair = |_| {
            let (measured, order) = host.ordered_block(&[0.0, 0.0], rng);
            (measured[order[0]].exp(), measured[order[1]].exp())
        };
        let pairs: Vec<(f64, f64)> = (0..8).map(pair).collect();
        experiments::different(experiments::judge(&pairs, &plan, 1e-6, 0.0).verdict)
    });
    assert!(
        binomial_at_least(wrong, RUNS, ALPHA) < SIGNIFICANT,
        "{wrong}"
    );
}

#[test]
fn intervals_cover_as_often_as_they_claim_wherever_a_run_stops() {
    everywhere(|machine, blocks, what| {
        // Effects only move the data; where a run stops depends on them.
        let effects: &[f64] = if blocks > 12 {
            &[0.0, 0.05, -0.05, 0.2, -0.2]
        } else {
            &[0.05]
        };
        for effect in effects {
            let seed = 1_000 + u64::from(blocks);
            let (covered, claimed) =
                experiments::coverage(machine, blocks, effect.ln_1p(), RUNS, seed);
            assert!(claimed >= 0.95 - 1e-9, "{what}: claims {claimed}");
            at_least(claimed, covered, &format!("{what}, effect {effect}"));
        }
    });
}

#[test]
fn the_printed_effect_is_found_in_four_of_five_runs() {
    everywhere(|machine, blocks, what| {
        for (seed, from) in (2_000..).zip([From::Pilot, From::EqualArms(10), From::Data]) {
            let found = experiments::powered(machine, blocks, from, RUNS, seed);
            at_least(POWER, found, &format!("{what}, {from:?}"));
        }
    });
}

/// A widened calibration asks for more of every difference, and the printed effect says so.
#[test]
fn the_printed_effect_is_found_after_a_calibration_that_widened() {
    let (widened, found) = powered_after_widening(QUIET, 0.02, 500, 2_100);
    assert!(widened > 100, "{widened}");
    let p = binomial_at_most(found, widened, POWER);
    assert!(p > SIGNIFICANT, "{found} of {widened}");
}

/// Of runs after a calibration of ten blocks that widened: how many there were, and how many found a difference of the
/// size that the calibration let them print. The host favours the copy by `bias` in the calibration; the run's
/// difference is the one that is measured there, the host's favour included.
fn powered_after_widening(machine: Machine, bias: f64, runs: u32, seed: u64) -> (u32, u32) {
    let plan = experiments::plan(8);
    let mut rng = Pcg64::seed_from_u64(seed);
    let (mut widened, mut powered) = (0, 0);
    for _ in 0..runs {
        let mut host = Host::new(machine, &mut rng);
        let equal: Vec<EqualBlock> = (host.pairs(10, bias, &mut rng).into_iter())
            .map(|(baseline, copy)| EqualBlock {
                baseline,
                copy,
                baseline_first: true,
            })
            .collect();
        let found = calibrate(&equal, &Rule::default(), PLAN_SEED).unwrap();
        if found.fitness != Fitness::Widened {
            continue;
        }
        widened += 1;
        let printed = mde(&plan, found.noise, found.allowance, POWER, PLAN_SEED).ln();
        let pairs = host.pairs(8, printed, &mut rng);
        powered += u32::from(
            experiments::judge(&pairs, &plan, MARGIN, found.allowance).verdict == Verdict::Better,
        );
    }
    (widened, powered)
}

/// Nor is it a promise of next to nothing: with ten A/A blocks measured on a
/// machine with normal noise the effect is not far from what it could be.
#[test]
fn the_printed_effect_is_not_found_nearly_always() {
    let found = experiments::powered(QUIET, 8, From::EqualArms(10), RUNS, 1);
    assert!(found < RUNS * 92 / 100, "{found}");
}

#[test]
fn equivalence_is_not_granted_at_the_margin() {
    for (machine, margin) in [(QUIET, 0.03), (DRIFTING, 0.1), (HOSTILE, 0.2)] {
        for blocks in PLANS {
            for (seed, sign) in [(3_000, 1.0), (3_001, -1.0)] {
                let seed = seed + u64::from(blocks) * 2;
                let wrong =
                    experiments::wrongly_equivalent(machine, blocks, margin, sign, RUNS, seed);
                let what = format!("{}, {blocks} blocks, {sign} {margin}", machine.name);
                at_most(ALPHA, wrong, &what);
            }
        }
    }
}

/// The winner of a race of identical arms looks better than it is; what is
/// claimed of it on fresh blocks does not.
#[test]
fn the_best_of_five_identical_arms_is_no_better_on_fresh_blocks() {
    for machine in MACHINES {
        let wrong = experiments::false_winners(machine, 5, 6, RUNS, 4_000);
        at_most(ALPHA, wrong, machine.name);
        let (raced, fresh) = experiments::flattery(machine, 5, RUNS, 4_001);
        assert!(
            raced > 0.005 && fresh.abs() < raced / 5.0,
            "{}: {raced} in the race, {fresh} after it",
            machine.name
        );
    }
}

/// Whichever of the three are equal, something false is claimed of two finalists in at most five per cent of runs.
#[test]
fn two_finalists_share_one_error_rate() {
    for machine in MACHINES {
        for blocks in [6, 8, 24] {
            let wrong = |effects, counts: &dyn Fn(finalists::Claimed) -> bool| {
                finalists::count_claims(machine, blocks, effects, RUNS, 4_100, counts)
            };
            let what = format!("{}, {blocks} blocks", machine.name);
            let all = wrong([0.0, 0.0], &|c| c.first || c.second || c.second_over_first);
            at_most(ALPHA, all, &format!("{what}, all equal"));
            let first = wrong([0.0, 0.3], &|c| c.first || c.second_over_first);
            at_most(ALPHA, first, &format!("{what}, the first is the baseline"));
            let second = wrong([0.3, 0.0], &|c| c.second || c.second_over_first);
            at_most(
                ALPHA,
                second,
                &format!("{what}, the second is the baseline"),
            );
            let alike = wrong([0.3, 0.3], &|c| c.second_over_first);
            at_most(ALPHA, alike, &format!("{what}, the finalists are alike"));
        }
    }
}

/// A second finalist that is really better is found together with a first that is no better, and with one that is.
#[test]
fn a_better_second_finalist_is_found() {
    for blocks in [6, 8, 9, 12] {
        let alone = finalists::count_claims(QUIET, blocks, [0.0, 0.3], RUNS, 4_200, |c| c.second);
        let beside = finalists::count_claims(QUIET, blocks, [0.2, 0.5], RUNS, 4_201, |c| {
            c.second_over_first
        });
        assert!(
            alone.min(beside) > RUNS * 9 / 10,
            "{blocks}: {alone} {beside}"
        );
    }
}

/// A host that does not favour one of two identical arms is left alone, a host
/// that does is found out, and what is widened no longer errs.
#[test]
fn calibration_finds_a_host_that_favours_one_arm() {
    let runs = 500;
    for machine in MACHINES {
        let fair = experiments::calibrated(machine, 10, 0.0, runs, 5_000);
        let alarms = fair.widened + fair.refused;
        let p = binomial_at_least(alarms, runs, 0.05);
        assert!(p > SIGNIFICANT, "{}: {fair:?}", machine.name);
    }
    let biased = experiments::calibrated(QUIET, 16, 0.02, runs, 5_001);
    assert!(biased.wrong_without > runs / 5, "{biased:?}");
    assert!(biased.wrong * 3 < biased.wrong_without * 2, "{biased:?}");
    let p = binomial_at_least(biased.wrong_widened, biased.widened, 0.05);
    assert!(biased.widened > runs / 3 && p > SIGNIFICANT, "{biased:?}");
    let broken = experiments::calibrated(QUIET, 10, 0.06, runs, 5_002);
    assert!(broken.refused > runs * 9 / 10, "{broken:?}");
}

/// Windows that follow the noise of the blocks before them change neither promise, wherever the run stops.
#[test]
fn windows_that_follow_the_noise_keep_both_promises() {
    const MANY: u32 = 3 * RUNS;
    everywhere(|machine, blocks, what| {
        let plan = windows::Plan::of(blocks);
        let seed = 6_000 + u64::from(blocks);
        for effect in [0.0, 0.05, -0.2] {
            let effect: f64 = f64::ln_1p(effect);
            let (mut claimed, mut different) = (0.0, 0);
            let covered = experiments::count(MANY, seed, machine, |host, rng| {
                let found = windows::confirm(&plan, machine, effect, 1e-6, host, rng).judged;
                different += u32::from(experiments::different(found.verdict));
                let interval = found.interval.unwrap();
                claimed += interval.confidence / f64::from(MANY);
                interval.low.ln() <= effect && effect <= interval.high.ln()
            });
            assert!(claimed >= 0.95 - 1e-9, "{what}: claims {claimed}");
            let p = binomial_at_most(covered, MANY, claimed);
            assert!(p > SIGNIFICANT, "{what}, effect {effect}: {covered}");
            if effect == 0.0 {
                let p = binomial_at_least(different, MANY, ALPHA);
                assert!(p > SIGNIFICANT, "{what}: {different} of {MANY}");
            }
        }
    });
}

/// They find the margin about as often as they are planned to, and take less time where there is little noise.
#[test]
fn windows_follow_the_noise() {
    let plan = windows::Plan::of(9);
    let with_noise = |noise: f64| Machine { noise, ..QUIET };
    for noise in [0.005, 0.01, 0.02] {
        let machine = with_noise(noise);
        let found = experiments::count(RUNS, 6_300, machine, |host, rng| {
            let found = windows::confirm(&plan, machine, MARGIN.ln_1p(), 1e-6, host, rng);
            found.judged.verdict == Verdict::Better
        });
        at_least(POWER, found, &format!("noise {noise}"));
    }
    let seconds = |noise: f64| {
        let machine = with_noise(noise);
        let mut all_s = 0.0;
        experiments::count(RUNS, 6_301, machine, |host, rng| {
            all_s += windows::confirm(&plan, machine, 0.0, MARGIN, host, rng).windows_s;
            true
        });
        all_s / f64::from(RUNS)
    };
    let (little, usual) = (seconds(0.005), seconds(0.02));
    assert!(little < usual / 4.0, "{little} {usual}");
}
