//! What people do instead, with as many trials.

use crate::machine::Machine;
use crate::problem::Problem;
use rand::{Rng, RngExt};
use search::{Observation, Point, Standing};

/// Trials of a block: they share the machine's mood, as far as that can be hoped for.
const BLOCK: usize = 8;

fn keeps(seen: &Observation) -> bool {
    seen.standing != Standing::Breaks
}

/// Points drawn at random, one trial each; the best that was seen.
pub fn random(problem: &Problem, trials: u32, mut rng: impl Rng, machine_rng: impl Rng) -> Point {
    let baseline = problem.space.baseline();
    let mut points = vec![baseline.clone()];
    while points.len() < trials as usize {
        let levels = problem.space.factors.iter();
        let point = Point(
            levels
                .map(|f| rng.random_range(0..f.levels.len()))
                .collect(),
        );
        if problem.space.allows(&point) {
            points.push(point);
        }
    }
    let mut machine = Machine::new(problem, machine_rng);
    let mut best = (baseline, f64::NEG_INFINITY);
    for block in points.chunks(BLOCK) {
        for (point, seen) in block.iter().zip(machine.block(block)) {
            if let Some(seen) = seen.filter(keeps)
                && seen.log_throughput > best.1
            {
                best = (point.clone(), seen.log_throughput);
            }
        }
    }
    best.0
}

/// One setting after the other, each level of it and what was best so far, as often as the trials allow; whatever was
/// best on average stays.
pub fn one_at_a_time(problem: &Problem, trials: u32, machine_rng: impl Rng) -> Point {
    let levels: usize = problem.space.factors.iter().map(|f| f.levels.len()).sum();
    let times = (trials as usize / levels).max(1);
    let mut machine = Machine::new(problem, machine_rng);
    let mut at = problem.space.baseline();
    for (index, factor) in problem.space.factors.iter().enumerate() {
        let arms: Vec<Point> = (0..factor.levels.len())
            .map(|level| at.with(index, level))
            .filter(|point| problem.space.allows(point))
            .collect();
        let mut sums = vec![(0.0, 0); arms.len()];
        for _ in 0..times {
            for (sum, seen) in sums.iter_mut().zip(machine.block(&arms)) {
                if let Some(seen) = seen.filter(keeps) {
                    *sum = (sum.0 + seen.log_throughput, sum.1 + 1);
                }
            }
        }
        let mean = |&(sum, count): &(f64, usize)| match count {
            0 => f64::NEG_INFINITY,
            some => sum / some as f64,
        };
        let best = (0..arms.len()).max_by(|&a, &b| mean(&sums[a]).total_cmp(&mean(&sums[b])));
        at = arms[best.unwrap()].clone();
    }
    at
}
