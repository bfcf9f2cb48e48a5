//! Whole screens of settings whose truth is given.

use super::*;
use crate::{Factor, Forbidden, How};

fn space(factors: usize, forbidden: Vec<Forbidden>) -> Space {
    let factor = |nth: usize| Factor::of_levels(&format!("knob {nth}"), 2, How::Screened);
    Space {
        factors: (0..factors).map(factor).collect(),
        forbidden,
    }
}

fn seen(log_throughput: f64) -> Observation {
    Observation {
        log_throughput,
        log_latency: None,
        log_memory: None,
        processes: 1,
        threads: 1,
        standing: Standing::Meets,
    }
}

/// Runs the whole screen; the pairs that were asked for, and the effects.
fn screened(
    space: &Space,
    mut trial: impl FnMut(u32, &[usize]) -> Option<f64>,
) -> (Vec<Block>, Vec<Effect>) {
    let setting = Setting {
        space,
        objective: Objective::Throughput,
        seed: 3,
    };
    let mut screen = Screen::new(setting, &space.baseline()).unwrap();
    let mut blocks = Vec::new();
    while let Some(block) = screen.block() {
        let told: Vec<Option<Observation>> = block
            .points
            .iter()
            .map(|point| trial(block.number, &point.0).map(seen))
            .collect();
        screen.tell(&told, u32::MAX, space);
        blocks.push(block);
    }
    (blocks, screen.effects([Scatter::default(); 4]))
}

fn sum(point: &[usize], effects: &[f64]) -> f64 {
    point
        .iter()
        .zip(effects)
        .map(|(on, e)| *on as f64 * e)
        .sum()
}

const TRUE: [f64; 7] = [0.08, -0.05, 0.0, 0.03, 0.0, -0.02, 0.01];

fn estimates(effects: &[Effect]) -> Vec<Option<f64>> {
    let estimate = |effect: &Effect| effect.score.map(|score| score.estimate);
    effects.iter().map(estimate).collect()
}

/// Whatever happens between blocks, and whatever two factors do together, main effects are exact without noise: each
/// is half of what the pair does, over both levels of the other.
#[test]
fn sixteen_runs_tell_seven_effects_whatever_drifts_and_whatever_pairs_do() {
    let (blocks, effects) = screened(&space(7, Vec::new()), |block, point| {
        let together = 0.06 * (point[2] * point[4]) as f64;
        Some(sum(point, &TRUE) + together + 0.3 * f64::from(block).sin())
    });
    assert_eq!(blocks.len(), 8);
    assert!(blocks.iter().all(|block| block.points.len() == 2));
    for (nth, found) in estimates(&effects).into_iter().enumerate() {
        let pair = if nth == 2 || nth == 4 { 0.03 } else { 0.0 };
        assert!(
            (found.unwrap() - TRUE[nth] - pair).abs() < 1e-12,
            "{nth}: {found:?}"
        );
    }
    assert_eq!(effects[0].found, Found::Helps);
    assert_eq!(effects[1].found, Found::Harms);
}

#[test]
fn a_factor_that_keeps_the_server_from_starting_is_named_and_the_others_are_told() {
    let (blocks, effects) = screened(&space(7, Vec::new()), |_, point| {
        (point[3] == 0).then(|| sum(point, &TRUE))
    });
    assert_eq!(effects[3].found, Found::Fails);
    for (nth, found) in estimates(&effects).into_iter().enumerate() {
        if nth != 3 {
            assert!(
                (found.unwrap() - TRUE[nth]).abs() < 1e-9,
                "{nth}: {found:?}"
            );
        }
    }
    // Known after a few pairs, which are repeated without it.
    assert!(blocks.len() <= 13, "{}", blocks.len());
}

#[test]
fn a_run_that_fails_once_is_repeated_and_nobody_is_blamed() {
    let mut failed = false;
    let (blocks, effects) = screened(&space(6, Vec::new()), |block, point| {
        let fails = block == 3 && !failed;
        failed |= fails;
        (!fails).then(|| sum(point, &TRUE))
    });
    assert_eq!(blocks.len(), 9);
    for (found, expected) in estimates(&effects).into_iter().zip(TRUE) {
        assert!((found.unwrap() - expected).abs() < 1e-12);
    }
}

/// With one pair missing for good the effects are what least squares makes of the others.
#[test]
fn a_pair_that_is_lost_costs_certainty_and_nothing_else() {
    let lost = std::cell::RefCell::new(None);
    let (_, effects) = screened(&space(5, Vec::new()), |_, point| {
        let mut lost = lost.borrow_mut();
        let first = lost.get_or_insert_with(|| point.to_vec());
        (first != point).then(|| sum(point, &TRUE))
    });
    for (found, expected) in estimates(&effects).into_iter().zip(TRUE) {
        assert!((found.unwrap() - expected).abs() < 1e-9);
    }
    let error = effects[0].score.unwrap().standard_error;
    assert!(error.is_finite() && error > 0.0);
}

#[test]
fn what_does_not_go_together_is_never_in_one_run() {
    let three = Forbidden(vec![(1, 1), (4, 1), (5, 1)]);
    let space = space(6, vec![Forbidden(vec![(0, 1), (2, 1)]), three]);
    let (blocks, effects) = screened(&space, |_, point| Some(sum(point, &TRUE)));
    let mut points = blocks.iter().flat_map(|block| &block.points);
    assert!(points.all(|point| space.allows(point)));
    assert_eq!(effects[2].found, Found::ConflictsWith(0));
    assert!((effects[3].score.unwrap().estimate - TRUE[3]).abs() < 1e-12);
}

#[test]
fn two_that_fail_together_are_told_apart_from_one_that_fails() {
    let (_, effects) = screened(&space(7, Vec::new()), |_, point| {
        (point[1] * point[5] == 0).then(|| sum(point, &TRUE))
    });
    let conflicts = effects
        .iter()
        .filter(|e| matches!(e.found, Found::ConflictsWith(_)))
        .count();
    assert_eq!(conflicts, 1);
    assert_eq!(effects[5].found, Found::ConflictsWith(1));
    assert!((effects[0].score.unwrap().estimate - TRUE[0]).abs() < 1e-9);
}

#[test]
fn one_factor_is_no_screen() {
    let space = space(1, Vec::new());
    let setting = Setting {
        space: &space,
        objective: Objective::Throughput,
        seed: 1,
    };
    assert!(Screen::new(setting, &space.baseline()).is_none());
}
