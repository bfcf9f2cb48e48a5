//! Looks round a centre of four settings, whose truth is given.

use super::*;
use crate::{Factor, Forbidden, Observation, Rules};

fn space(limit: usize) -> Space {
    let factor = |nth: usize| Factor::of_levels(&format!("knob {nth}"), 2, How::Screened);
    Space {
        factors: (0..limit).map(factor).collect(),
        forbidden: Vec::new(),
    }
}

/// What each of four settings does to throughput and memory.
type Truth = [(f64, f64); 4];

/// Looks round a centre and says what is suggested; memory is limited to this.
fn suggested(centre: [usize; 4], truth: Truth, limit: Option<f64>) -> Vec<Vec<usize>> {
    let (_, suggested) = looked(&space(4), centre, truth, limit);
    suggested
}

/// The same in any space, with what it looked at.
fn looked(
    space: &Space,
    centre: [usize; 4],
    truth: Truth,
    limit: Option<f64>,
) -> (Ablation, Vec<Vec<usize>>) {
    let centre = Point(centre.to_vec());
    let input = AblationInput {
        space,
        effects: &[],
        lost: &[],
        foreseen: &[],
        known: &[],
        margin: 0.03,
        log_memory: None,
        log_memory_limit: limit,
        objective: Objective::Throughput,
        only_without: false,
    };
    let mut ablation = Ablation::new(input, &centre, 16, 3).unwrap();
    let rules = Rules::default();
    while let Some(block) = ablation.race.block() {
        let trial = |point: &Point| {
            let sum = |of: &dyn Fn(&(f64, f64)) -> f64| -> f64 {
                let on = point.0.iter().zip(&truth).filter(|(on, _)| **on == 1);
                on.map(|(_, effect)| of(effect)).sum()
            };
            let memory = sum(&|effect| effect.1);
            Some(Observation {
                log_throughput: sum(&|effect| effect.0) + f64::from(block.number),
                log_latency: None,
                log_memory: Some(memory),
                processes: 1,
                threads: 1,
                standing: if limit.is_some_and(|limit| memory > limit) {
                    Standing::Breaks
                } else {
                    Standing::Meets
                },
            })
        };
        let told: Vec<Option<Observation>> = block.points.iter().map(trial).collect();
        ablation.race.tell(&told, &rules, Some(0));
    }
    let suggested = ablation.suggested(&[], 1e-6, 0.03, limit, space);
    let suggested = suggested.into_iter().map(|point| point.0).collect();
    (ablation, suggested)
}

/// The last two are an allocator and an option of its own.
fn with_an_option() -> Space {
    let mut space = space(4);
    for factor in [2, 3] {
        space.factors[factor].how = How::Raced;
    }
    space.forbidden = vec![Forbidden(vec![(3, 1), (2, 0)])];
    space
}

#[test]
fn an_allocator_is_taken_out_with_its_option_and_explained() {
    let truth = [(0.1, 0.0), (0.0, 0.0), (0.0, 0.0), (-0.01, 0.0)];
    let (ablation, suggested) = looked(&with_an_option(), [1, 0, 1, 1], truth, None);
    assert_eq!(suggested.last().unwrap(), &[1, 0, 0, 0]);
    let winner = Point(vec![1, 0, 0, 0]);
    let steps = ablation.steps(&winner, 0.03, 0.05);
    let steps: Vec<(usize, bool)> = steps.iter().map(|s| (s.factor, s.kept)).collect();
    assert_eq!(steps, [(0, true), (2, false), (3, false)]);
}

/// The option is worth 2 %, the allocator half a per cent: without both it costs 2.5 of the 3 % that may be given up.
#[test]
fn what_goes_with_something_else_costs_once() {
    let truth = [(0.1, 0.0), (0.0, 0.0), (0.005, 0.0), (0.02, 0.0)];
    let (ablation, suggested) = looked(&with_an_option(), [1, 0, 1, 1], truth, None);
    assert_eq!(suggested.last().unwrap(), &[1, 0, 0, 0]);
    // The step of the allocator is its own, not its option's too.
    let steps = ablation.steps(&Point(vec![1, 0, 1, 1]), 0.03, 0.05);
    let allocator = steps.iter().find(|step| step.factor == 2).unwrap();
    assert!(
        (allocator.ratio.unwrap() - 1.005).abs() < 0.001,
        "{allocator:?}"
    );
}

/// Without the option 5 % more, without both 2 % less: the allocator stays.
#[test]
fn what_goes_without_its_option_costs_what_it_is_worth_alone() {
    let truth = [(0.1, 0.0), (0.0, 0.0), (0.07, 0.0), (-0.05, 0.0)];
    let (_, suggested) = looked(&with_an_option(), [1, 1, 1, 1], truth, None);
    assert_eq!(suggested.last().unwrap(), &[1, 0, 1, 0]);
}

#[test]
fn an_option_brings_its_allocator() {
    let truth = [(0.1, 0.0), (0.0, 0.0), (-0.02, 0.0), (0.2, 0.0)];
    let (_, suggested) = looked(&with_an_option(), [1, 0, 0, 0], truth, None);
    assert_eq!(suggested.last().unwrap(), &[1, 0, 1, 1]);
}

#[test]
fn what_brings_nothing_goes_and_what_helps_comes() {
    let truth = [(0.1, 0.0), (0.0, 0.0), (0.06, 0.0), (-0.05, 0.0)];
    let found = suggested([1, 1, 0, 0], truth, None);
    assert_eq!(found.first().unwrap(), &[1, 1, 0, 0]);
    assert_eq!(found.last().unwrap(), &[1, 0, 1, 0]);
}

#[test]
fn together_no_more_is_given_up_than_the_margin() {
    let found = suggested(
        [1, 1, 1, 0],
        [(0.02, 0.0), (0.02, 0.0), (0.1, 0.0), (0.0, 0.0)],
        None,
    );
    let kept = found.last().unwrap();
    assert_eq!(kept.iter().sum::<usize>(), 2, "{found:?}");
    assert_eq!(kept[2], 1);
}

#[test]
fn what_saves_memory_stays_whatever_it_does_to_the_score() {
    let truth = [(0.0, -0.2), (0.0, 0.0), (0.1, 0.0), (-0.1, 0.0)];
    assert_eq!(
        suggested([1, 1, 1, 0], truth, None).last().unwrap(),
        &[1, 0, 1, 0]
    );
}

/// The third setting brings 0.3 and does not fit by itself; the fourth makes room for it.
#[test]
fn a_change_that_does_not_fit_is_joined_with_one_that_saves() {
    let truth = [(0.1, 0.0), (0.1, 0.0), (0.3, 0.4), (-0.02, -0.3)];
    let found = suggested([1, 1, 0, 0], truth, Some(0.2));
    assert!(found.contains(&vec![1, 1, 1, 1]), "{found:?}");
    assert!(!found.contains(&vec![1, 1, 1, 0]), "{found:?}");
}
