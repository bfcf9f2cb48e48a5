//! The procedure as a whole, on runs whose truth is known. Seeds are fixed, so
//! each test gives the same count for ever.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal, StudentT};
use rand_pcg::Pcg64;
use stats::{
    Rule, Verdict, binomial_at_least, binomial_at_most, compare, looks, mde, mde_of_looks,
};

const RUNS: u32 = 2_000;

/// A count may miss its rate by chance; less likely than this is a defect.
const SIGNIFICANT: f64 = 0.01;

/// Pairs whose arms share the block's own level, which wanders, and whose log
/// ratios scatter by about 4 % around `effect`.
fn run(
    rng: &mut Pcg64,
    blocks: u32,
    effect: f64,
    noise: impl Distribution<f64>,
) -> Vec<(f64, f64)> {
    let mut level = 0.0;
    let mut block = |_| {
        level += 0.1 * noise.sample(rng);
        let arm =
            |shift: f64, rng: &mut Pcg64| 100.0 * (level + shift + 0.028 * noise.sample(rng)).exp();
        (arm(0.0, rng), arm(effect, rng))
    };
    (0..blocks).map(&mut block).collect()
}

fn calls_a_difference(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}

/// Runs until a look decides; whether it found a difference.
fn decide(pairs: &[(f64, f64)], looks: &[stats::Look], margin: f64) -> Verdict {
    for look in looks {
        let rule = Rule {
            alpha: look.alpha,
            margin,
            ..Rule::default()
        };
        let verdict = compare(&pairs[..look.blocks as usize], &rule)
            .unwrap()
            .verdict;
        if verdict != Verdict::Undecided {
            return verdict;
        }
    }
    Verdict::Undecided
}

#[test]
fn identical_arms_come_out_different_in_at_most_five_per_cent() {
    for (seed, planned) in [(1, 6), (2, 8), (3, 12), (4, 24)] {
        let plan = looks(planned, 0.05, 7).unwrap();
        let mut rng = Pcg64::seed_from_u64(seed);
        // The margin all but closed: every significant difference is called.
        let wrong = (0..RUNS)
            .filter(|_| {
                calls_a_difference(decide(
                    &run(&mut rng, planned, 0.0, StandardNormal),
                    &plan,
                    1e-6,
                ))
            })
            .count() as u32;
        let p = binomial_at_least(wrong, RUNS, 0.05);
        assert!(p > SIGNIFICANT, "{planned} blocks: {wrong} of {RUNS}");
        assert!(
            wrong > RUNS / 100,
            "{planned} blocks: the test never rejects: {wrong}"
        );
    }
}

/// Heavy tails are symmetric too: nothing asks for a normal distribution.
#[test]
fn heavy_tails_change_nothing() {
    let mut rng = Pcg64::seed_from_u64(5);
    let tails = StudentT::new(2.0).unwrap();
    let rule = Rule {
        margin: 1e-6,
        ..Rule::default()
    };
    let wrong = (0..RUNS)
        .filter(|_| {
            calls_a_difference(
                compare(&run(&mut rng, 10, 0.0, tails), &rule)
                    .unwrap()
                    .verdict,
            )
        })
        .count() as u32;
    assert!(
        binomial_at_least(wrong, RUNS, 0.05) > SIGNIFICANT,
        "{wrong}"
    );
}

#[test]
fn intervals_cover_as_often_as_they_say() {
    for (seed, blocks) in [(11, 6), (12, 9), (13, 16)] {
        let mut rng = Pcg64::seed_from_u64(seed);
        let (mut covered, mut confidence) = (0, 0.0);
        for _ in 0..RUNS {
            let effect: f64 = rng.random_range(-0.2..0.2);
            let comparison = compare(
                &run(&mut rng, blocks, effect, StandardNormal),
                &Rule::default(),
            )
            .unwrap();
            let interval = comparison.interval.unwrap();
            confidence = interval.confidence;
            covered += u32::from(interval.low.ln() <= effect && effect <= interval.high.ln());
        }
        assert!(confidence >= 0.95);
        let p = binomial_at_most(covered, RUNS, confidence);
        assert!(
            p > SIGNIFICANT,
            "{blocks} blocks: {covered} of {RUNS} at {confidence}"
        );
    }
}

#[test]
fn the_detectable_effect_is_detected_in_four_of_five_runs() {
    // Two arms of 2.8 % each: the log ratio scatters by 2.8 % sqrt(2).
    let sd = 0.028 * 2.0_f64.sqrt();
    for (seed, planned) in [(21, 6), (22, 9), (23, 24)] {
        let plan = looks(planned, 0.05, 7).unwrap();
        let effect = mde_of_looks(&plan, sd, 0.8, 1);
        let mut rng = Pcg64::seed_from_u64(seed);
        let found = (0..RUNS)
            .filter(|_| {
                decide(
                    &run(&mut rng, planned, effect.ln(), StandardNormal),
                    &plan,
                    1e-6,
                ) == Verdict::Better
            })
            .count() as u32;
        let rate = f64::from(found) / f64::from(RUNS);
        assert!(
            (rate - 0.8).abs() < 0.03,
            "{planned} blocks, {effect}: {rate}"
        );
    }
}

/// A difference of just the margin must not be called equivalent more often
/// than the level allows.
#[test]
fn equivalence_is_not_granted_at_the_margin() {
    let mut rng = Pcg64::seed_from_u64(31);
    let rule = Rule {
        margin: 0.1,
        ..Rule::default()
    };
    let granted = |effect: f64, rng: &mut Pcg64| {
        (0..RUNS)
            .filter(|_| {
                compare(&run(rng, 10, effect, StandardNormal), &rule)
                    .unwrap()
                    .verdict
                    == Verdict::Equivalent
            })
            .count() as u32
    };
    let at_margin = granted(1.1_f64.ln(), &mut rng);
    assert!(
        binomial_at_least(at_margin, RUNS, 0.05) > SIGNIFICANT,
        "{at_margin}"
    );
    let identical = granted(0.0, &mut rng);
    assert!(identical > RUNS * 9 / 10, "{identical}");
}

/// The margin of 3 % costs little power: a detectable effect lies beyond it.
#[test]
fn the_usual_margin_leaves_the_power_as_printed() {
    let sd = 0.028 * 2.0_f64.sqrt();
    let effect = mde(8, sd, 0.05, 0.8, 1).ln();
    let mut rng = Pcg64::seed_from_u64(41);
    let better = (0..RUNS)
        .filter(|_| {
            compare(&run(&mut rng, 8, effect, StandardNormal), &Rule::default())
                .unwrap()
                .verdict
                == Verdict::Better
        })
        .count() as u32;
    assert!(
        binomial_at_most(better, RUNS, 0.8) > SIGNIFICANT,
        "{better} of {RUNS}"
    );
}
