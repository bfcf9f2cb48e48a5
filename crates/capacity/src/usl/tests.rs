//! The fit on data whose law is known.

use super::*;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;

const LAW: Usl = Usl {
    per_one: 100.0,
    contention: 0.05,
    coherency: 0.0008,
};
const COUNTS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 48.0];
/// Student's t, 95 %, four degrees of freedom.
const T4: f64 = 2.776;

fn measured(law: &Usl, mut noise: impl FnMut() -> f64) -> Vec<Measured> {
    let point = |n: &f64| Measured {
        n: *n,
        throughput: law.throughput(*n) * (1.0 + noise()),
    };
    COUNTS.iter().map(point).collect()
}

/// s = 1/20, k = 1/1250: X(2) = 200 / (1 + 1/20 + 2/1250), the peak is at
/// sqrt(19/20 * 1250) = 34.46.
#[test]
fn the_law_itself_comes_back() {
    assert!((LAW.throughput(2.0) - 200.0 / 1.0516).abs() < 1e-9);
    assert!((LAW.peak().unwrap() - 1187.5_f64.sqrt()).abs() < 1e-9);
    let fit = fit_usl(&measured(&LAW, || 0.0)).unwrap();
    assert!((fit.usl.per_one / LAW.per_one - 1.0).abs() < 1e-9);
    assert!((fit.usl.contention / LAW.contention - 1.0).abs() < 1e-8);
    assert!((fit.usl.coherency / LAW.coherency - 1.0).abs() < 1e-8);
    assert!(fit.scatter < 1e-9 && !fit.held_at_0);
}

#[test]
fn too_little_is_refused() {
    let points = measured(&LAW, || 0.0);
    assert!(matches!(
        fit_usl(&points[..3]),
        Err(CapacityError::TooFewPoints { different: 3, .. })
    ));
    let same = [points[0]; 9];
    assert!(matches!(
        fit_usl(&same),
        Err(CapacityError::TooFewPoints { different: 1, .. })
    ));
    let mut wrong = points.clone();
    wrong[2].throughput = 0.0;
    assert!(fit_usl(&wrong).is_err());
    wrong[2] = Measured {
        n: 0.5,
        throughput: 9.0,
    };
    assert!(fit_usl(&wrong).is_err());
}

/// Faster than linear has no peak, and the law's own coefficients stay at 0.
#[test]
fn superlinear_growth_is_held_at_linear() {
    let points: Vec<Measured> = COUNTS
        .iter()
        .map(|n| Measured {
            n: *n,
            throughput: 100.0 * n.powf(1.1),
        })
        .collect();
    let fit = fit_usl(&points).unwrap();
    assert!(fit.held_at_0);
    assert_eq!(
        (fit.usl.contention, fit.usl.coherency, fit.usl.peak()),
        (0.0, 0.0, None)
    );
    assert_eq!(fit.intervals(T4).peak.high, None);
}

/// A naive fit: the best of a fine grid of s and k, g being free.
#[test]
fn agrees_with_a_grid() {
    let mut rng = Pcg64::seed_from_u64(3);
    let normal = Normal::new(0.0, 0.03).unwrap();
    let points = measured(&LAW, || normal.sample(&mut rng));
    let fit = fit_usl(&points).unwrap();
    let left = |s: f64, k: f64| {
        let relative: Vec<f64> = points
            .iter()
            .map(|p| {
                p.throughput
                    / Usl {
                        per_one: 1.0,
                        contention: s,
                        coherency: k,
                    }
                    .throughput(p.n)
            })
            .collect();
        // The g that leaves least: sum of squares over the sum.
        let g = relative.iter().map(|r| r * r).sum::<f64>() / relative.iter().sum::<f64>();
        relative.iter().map(|r| (r / g - 1.0).powi(2)).sum::<f64>()
    };
    let ours = left(fit.usl.contention, fit.usl.coherency);
    for s in 0..100 {
        for k in 0..100 {
            let there = left(f64::from(s) * 0.001, f64::from(k) * 0.000_02);
            assert!(there >= ours - 1e-12, "{s} {k}: {there} {ours}");
        }
    }
    // The interval of s by the same grid, k and g being free.
    let allowed = ours * (1.0 + T4 * T4 / 4.0);
    let inside =
        |s: u32| (0..400).any(|k| left(f64::from(s) * 0.001, f64::from(k) * 0.000_005) <= allowed);
    let interval = fit.intervals(T4).contention;
    let low = (0..200).find(|s| inside(*s)).unwrap();
    let high = (0..200).rev().find(|s| inside(*s)).unwrap();
    assert!(
        (interval.low - f64::from(low) * 0.001).abs() <= 0.0015,
        "{interval:?} {low}"
    );
    assert!(
        (interval.high.unwrap() - f64::from(high) * 0.001).abs() <= 0.0015,
        "{interval:?} {high}"
    );
}

/// Over many measurements with 5 % scatter the 95 % intervals hold the truth:
/// not significantly less often (1 %, binomial, 600 runs: 0.929).
#[test]
fn intervals_cover_as_often_as_they_claim() {
    let mut rng = Pcg64::seed_from_u64(11);
    let normal = Normal::new(0.0, 0.05).unwrap();
    let runs = 600;
    let mut held = [0_u32; 5];
    for _ in 0..runs {
        let fit = fit_usl(&measured(&LAW, || normal.sample(&mut rng))).unwrap();
        let found = fit.intervals(T4);
        let truths = [
            (found.per_one, LAW.per_one),
            (found.contention, LAW.contention),
            (found.coherency, LAW.coherency),
            (found.peak, LAW.peak().unwrap()),
            (fit.throughput_interval(64.0, T4), LAW.throughput(64.0)),
        ];
        for (count, (interval, truth)) in held.iter_mut().zip(truths) {
            let inside = interval.low <= truth && interval.high.is_none_or(|h| truth <= h);
            *count += u32::from(inside);
        }
    }
    for count in held {
        let share = f64::from(count) / f64::from(runs);
        assert!(share >= 0.929, "{held:?} of {runs}");
        assert!(
            share < 1.0,
            "an interval that always covers says nothing: {held:?}"
        );
    }
}

proptest! {
    #[test]
    fn intervals_hold_the_estimate_and_the_peak_is_a_peak(
        s in 0.0_f64..0.5, k in 0.0_f64..0.01, noise in prop::collection::vec(-0.1_f64..0.1, 7),
    ) {
        let law = Usl { per_one: 10.0, contention: s, coherency: k };
        let mut noise = noise.into_iter();
        let fit = fit_usl(&measured(&law, || noise.next().unwrap())).unwrap();
        let found = fit.intervals(T4);
        for (interval, value) in [
            (found.per_one, fit.usl.per_one),
            (found.contention, fit.usl.contention),
            (found.coherency, fit.usl.coherency),
        ] {
            prop_assert!(interval.low <= value * (1.0 + 1e-9), "{:?} {}", interval, value);
            prop_assert!(interval.high.is_none_or(|h| h >= value * (1.0 - 1e-9)));
        }
        if let Some(peak) = fit.usl.peak() {
            let at = fit.usl.throughput(peak);
            prop_assert!(fit.usl.throughput(peak * 1.1) <= at * (1.0 + 1e-9));
            prop_assert!(peak <= 1.0 || fit.usl.throughput(peak * 0.9) <= at * (1.0 + 1e-9));
        }
    }
}
