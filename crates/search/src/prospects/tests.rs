use super::*;
use crate::surrogate::Spread;
use crate::{Factor, How};

/// Processes of four levels and three settings.
fn space() -> Space {
    let factor = Factor::of_levels;
    Space {
        factors: vec![
            factor("workers", 4, How::Modelled),
            factor("preload", 2, How::Screened),
            factor("warm-up", 2, How::Screened),
            factor("jit", 2, How::Screened),
        ],
        forbidden: Vec::new(),
    }
}

const SPREAD: Spread = Spread {
    modelled: 0.1,
    cell: 0.03,
    alone: 0.04,
    pair: 0.03,
    walk: 0.0,
    noise: 0.005,
};

/// Two settings that do harm alone and help together; processes help, and need memory.
fn truth(point: &Point) -> (f64, f64) {
    let on = |factor: usize| f64::from(point.0[factor] == 1);
    let together = 0.2 * on(1) * on(2) - 0.05 * (on(1) + on(2));
    let workers = point.0[0] as f64;
    (together + 0.1 * workers, 0.3 * workers)
}

fn prospects<'s>(space: &'s Space, tried: &[[usize; 4]], limit: Option<f64>) -> Prospects<'s> {
    let tried: Vec<Point> = tried.iter().map(|point| Point(point.to_vec())).collect();
    let of = |figure: fn((f64, f64)) -> f64| {
        let trials = tried.iter().map(|point| (1, point, figure(truth(point))));
        let trials: Vec<(u32, &Point, f64)> = trials.collect();
        Surrogate::of(space, &[], &trials, SPREAD, false)
    };
    Prospects {
        space,
        score: of(|truth| truth.0).unwrap(),
        memory: limit.and_then(|_| of(|truth| truth.1)),
        risk: Risk::of(space, tried.iter().map(|point| (point, false))),
        log_memory_limit: limit,
    }
}

const TRIED: [[usize; 4]; 8] = [
    [0, 0, 0, 0],
    [1, 0, 0, 0],
    [2, 0, 0, 0],
    [0, 1, 0, 0],
    [0, 0, 1, 0],
    [0, 1, 1, 0],
    [1, 1, 0, 1],
    [1, 0, 1, 1],
];

#[test]
fn two_changes_that_help_only_together_are_found_from_today() {
    let space = space();
    let found = prospects(&space, &TRIED, None);
    let best = found.peaks(&[Point(vec![1, 0, 0, 0])]).swap_remove(0);
    assert_eq!(best.0[1..3], [1, 1], "{best:?}");
    let best = Point(vec![2, 0, 0, 0]);
    let next = found.next(&best, std::slice::from_ref(&best), 4);
    assert_eq!(next[0].0.0, [2, 1, 1, 0], "{next:?}");
    assert!(
        next.iter()
            .all(|(point, gain)| *point != best && *gain > 0.0)
    );
}

/// Two processes are at the limit, and three beyond it.
#[test]
fn what_needs_more_memory_than_there_is_is_not_tried() {
    let space = space();
    let found = prospects(&space, &TRIED, Some(0.45));
    let best = Point(vec![1, 0, 0, 0]);
    let next = found.next(&best, std::slice::from_ref(&best), 8);
    assert!(next.iter().all(|(point, _)| point.0[0] < 2), "{next:?}");
    let believed = found.believed(&[best.clone(), best.with(0, 2)]);
    assert!(believed.values[1] < believed.values[0], "{believed:?}");
    assert_eq!(believed.standard_error(1, 1), 0.0);
    assert!(believed.standard_error(0, 1) > 0.0);
}

#[test]
fn what_fails_is_not_tried() {
    let space = space();
    let mut found = prospects(&space, &TRIED, None);
    let failed = [[0, 0, 0, 1], [1, 0, 0, 1], [2, 0, 0, 1]].map(|point| Point(point.to_vec()));
    found.risk = Risk::of(&space, failed.iter().map(|point| (point, true)));
    assert!(!found.may_run(&failed[2]));
    let next = found.next(&space.baseline(), &[space.baseline()], 8);
    assert!(next.iter().all(|(point, _)| point.0[3] == 0), "{next:?}");
}

/// From tables: E max(X, 0) of the standard normal is 1/sqrt(2 pi), and the distribution at 1.96 is 0.975.
#[test]
fn the_normal_distribution() {
    assert!((improvement(0.0, 1.0) - 0.398_942).abs() < 1e-6);
    assert!((improvement(1.0, 1.0) - 1.083_316).abs() < 1e-6);
    assert!((normal(1.959_964) - 0.975).abs() < 1e-6);
    assert!((normal(-1.959_964) - 0.025).abs() < 1e-6);
}
