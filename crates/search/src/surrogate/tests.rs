use super::*;
use crate::Factor;

/// Processes and threads of four levels, three settings and an allocator.
fn space() -> Space {
    let factor = Factor::of_levels;
    let mut factors = vec![
        factor("workers", 4, How::Modelled),
        factor("threads", 4, How::Modelled),
        factor("preload", 2, How::Screened),
        factor("warm-up", 2, How::Screened),
        factor("jit", 2, How::Screened),
        factor("allocator", 3, How::Raced),
    ];
    factors[0].baseline = 1;
    Space {
        factors,
        forbidden: Vec::new(),
    }
}

const USUAL: Spread = Spread {
    modelled: 0.1,
    cell: 0.03,
    alone: 0.04,
    pair: 0.03,
    walk: 0.03,
    noise: 0.01,
};

/// Points all over the space, always the same.
fn points(count: usize) -> Vec<Point> {
    let mut z = 7_u64;
    let mut draw = |levels: usize| {
        z = z.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (z >> 33) as usize % levels
    };
    let point = |_| Point([4, 4, 2, 2, 2, 3].map(&mut draw).to_vec());
    (0..count).map(point).collect()
}

/// Measured without scatter, four points a block.
fn fitted(
    points: &[Point],
    truth: impl Fn(&Point) -> f64,
    foreseen: &[(&Point, f64)],
) -> Surrogate {
    let trials: Vec<(u32, &Point, f64)> = points
        .iter()
        .enumerate()
        .map(|(nth, point)| (1 + nth as u32 / 4, point, truth(point)))
        .collect();
    Surrogate::of(&space(), foreseen, &trials, USUAL, true).unwrap()
}

/// Settings that add up, two that do more together, and processes.
fn truth(point: &Point) -> f64 {
    let on = |factor: usize| f64::from(point.0[factor] == 1);
    0.1 * on(2) - 0.05 * on(3) + 0.12 * on(2) * on(3) + 0.2 * point.0[0] as f64
}

#[test]
fn sums_made_once_give_the_mean_of_the_covariance() {
    let today = space().baseline();
    let foreseen: Vec<(Point, f64)> = (0..4)
        .map(|workers| (today.with(0, workers), 0.1 * workers as f64))
        .collect();
    let foreseen: Vec<(&Point, f64)> = foreseen.iter().map(|(p, x)| (p, *x)).collect();
    let surrogate = fitted(&points(30), truth, &foreseen);
    let others = points(60).split_off(30);
    let joint = surrogate.joint(&others);
    for (point, mean) in others.iter().zip(joint.mean) {
        assert!((surrogate.mean(point) - mean).abs() < 1e-9, "{point:?}");
    }
}

/// By hand: of one trial, the posterior is that of two normal figures.
#[test]
fn one_trial_by_hand() {
    let today = space().baseline();
    let with = today.with(2, 1);
    let surrogate = Surrogate::of(&space(), &[], &[(1, &with, 5.0)], USUAL, false).unwrap();
    let Joint { mean, covariance } = surrogate.joint(&[with.clone(), today]);
    assert!(mean.iter().all(|mean| (mean - 5.0).abs() < 1e-12));
    // What both have in common, what one change adds by itself and with the modelled factors, and the trial's own.
    let common = 0.1_f64.powi(2) + 0.03_f64.powi(2) + 1.0;
    let own = 0.04_f64.powi(2) + 0.03_f64.powi(2);
    let seen = common + own + 0.03_f64.powi(2) + 0.01_f64.powi(2);
    let expected = [
        common + own - (common + own).powi(2) / seen,
        common - common.powi(2) / seen,
    ];
    for (nth, expected) in expected.into_iter().enumerate() {
        assert!((covariance[nth][nth] - expected).abs() < 1e-9, "{nth}");
    }
}

#[test]
fn what_two_settings_do_together_is_predicted_where_they_have_not_run() {
    let surrogate = fitted(&points(60), truth, &[]);
    let today = space().baseline();
    let both = today.with(2, 1).with(3, 1).with(4, 1).with(5, 2);
    let Joint { mean, covariance } = surrogate.joint(&[today.clone(), both.clone()]);
    let ahead = mean[1] - mean[0];
    assert!(
        (ahead - (truth(&both) - truth(&today))).abs() < 0.03,
        "{ahead}"
    );
    let variance = covariance[0][0] + covariance[1][1] - 2.0 * covariance[0][1];
    assert!((0.0..0.03_f64.powi(2)).contains(&variance), "{variance}");
}

/// A model that has the sign of the processes wrong is corrected, and trusted less than one that is right.
#[test]
fn a_wrong_model_is_left() {
    let today = space().baseline();
    let believed = |by: f64| {
        let all = (0..16).map(|nth| today.with(0, nth / 4).with(1, nth % 4));
        let foreseen: Vec<(Point, f64)> = all
            .map(|point| {
                let score = by * point.0[0] as f64;
                (point, score)
            })
            .collect();
        let foreseen: Vec<(&Point, f64)> = foreseen.iter().map(|(p, x)| (p, *x)).collect();
        fitted(&points(40), truth, &foreseen)
    };
    let (right, wrong) = (believed(0.2), believed(-0.3));
    assert!(wrong.spread().modelled > right.spread().modelled);
    let more = |surrogate: &Surrogate| {
        surrogate.mean(&today.with(0, 3)) - surrogate.mean(&today.with(0, 0))
    };
    assert!((more(&right) - 0.6).abs() < 0.06, "{}", more(&right));
    assert!((more(&wrong) - 0.6).abs() < 0.12, "{}", more(&wrong));
}

/// Half of the points ran while the machine was faster.
#[test]
fn the_drift_of_the_machine_is_no_effect() {
    let today = space().baseline();
    let with = today.with(4, 1);
    let trial = |nth: usize| {
        let point = if nth < 6 { &today } else { &with };
        let block = if nth < 6 { 1 } else { 2 };
        (block, point, 0.05 * f64::from(block))
    };
    let trials: Vec<(u32, &Point, f64)> = (0..12).map(trial).collect();
    let surrogate = Surrogate::of(&space(), &[], &trials, USUAL, false).unwrap();
    let Joint { mean, covariance } = surrogate.joint(&[today, with]);
    let variance = covariance[0][0] + covariance[1][1] - 2.0 * covariance[0][1];
    assert!(mean[1] - mean[0] < 2.0 * variance.sqrt());
    assert!(variance.sqrt() > 0.015, "{variance}");
}

#[test]
fn without_a_trial_nothing_is_said() {
    assert!(Surrogate::of(&space(), &[], &[], USUAL, true).is_none());
}
