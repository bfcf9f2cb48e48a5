//! Problems searched, and how good what was found really is.

use crate::machine::Machine;
use crate::problem::{Family, Problem};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use search::{Ask, Claim, Outcome, Point, Rules, Search};

/// A problem, its best point, and what the search made of it.
pub struct Played {
    pub problem: Problem,
    pub outcome: Outcome,
    /// The best feasible point's log throughput.
    pub best: f64,
    /// The same of points that are clear of the memory limit by 2 %, twice what a trial's memory scatters by.
    pub best_clear: f64,
    #[allow(dead_code)] // For the tables alone.
    pub points: usize,
    #[allow(dead_code)] // For the tables alone.
    pub race_blocks: u32,
    /// Points that had a trial.
    #[allow(dead_code)] // For the analysis alone.
    pub tried: Vec<Point>,
}

pub fn seed_of(family: Family, nth: u64, seed: u64) -> u64 {
    seed.wrapping_mul(1_000_003) ^ ((family as u64) << 40) ^ nth
}

/// One problem, drawn and searched; `trials`: the most that the search may spend.
pub fn play(family: Family, nth: u64, seed: u64, trials: Option<u32>) -> Played {
    let mut rng = Pcg64::seed_from_u64(seed_of(family, nth, seed));
    let problem = Problem::draw(family, &mut rng);
    let rules = Rules {
        trials,
        ..problem.rules()
    };
    let race_blocks = rules.race_blocks;
    let proposals = problem.proposals.clone();
    let mut search = Search::new(problem.space.clone(), proposals, rules, nth).unwrap();
    let mut machine = Machine::new(&problem, rng);
    let mut tried: Vec<Point> = Vec::new();
    let outcome = loop {
        match search.ask() {
            Ask::Block(block) => {
                search.tell(&machine.block(&block.points)).unwrap();
                tried.extend(block.points);
            }
            Ask::Done(outcome) => break *outcome,
        }
    };
    let (mut best, mut best_clear, mut points) = (f64::NEG_INFINITY, f64::NEG_INFINITY, 0);
    let clear = |point: &Point| {
        let limit = problem.log_memory_limit;
        limit.is_none_or(|limit| problem.log_memory(&point.0) <= limit - 0.02)
    };
    problem.grid(|point| {
        points += 1;
        if problem.feasible(&point.0) {
            let throughput = problem.log_throughput(&point.0);
            best = best.max(throughput);
            if clear(point) {
                best_clear = best_clear.max(throughput);
            }
        }
    });
    Played {
        problem,
        outcome,
        best,
        best_clear,
        points,
        race_blocks,
        tried,
    }
}

impl Played {
    /// How much the point falls short of the best, as a share; all of it where it is not feasible.
    pub fn regret(&self, point: &Point) -> f64 {
        if !self.problem.feasible(&point.0) {
            return 1.0;
        }
        1.0 - (self.problem.log_throughput(&point.0) - self.best).exp()
    }

    /// The same next to the best point that is clear of the limit.
    #[allow(dead_code)] // For the tables alone.
    pub fn regret_beside_clear(&self, point: &Point) -> f64 {
        if !self.problem.feasible(&point.0) {
            return 1.0;
        }
        1.0 - (self.problem.log_throughput(&point.0) - self.best_clear).exp()
    }

    /// The winner over the baseline, as a logarithm.
    #[allow(dead_code)] // For the tables and the tests.
    pub fn gain(&self) -> f64 {
        let of = |point: &Point| self.problem.log_throughput(&point.0);
        of(&self.outcome.winner) - of(&self.problem.space.baseline())
    }

    #[allow(dead_code)] // For the tables and the tests.
    pub fn claimed_better(&self) -> bool {
        self.outcome.claim == Claim::Better
    }

    /// The trials of a grid: every point in as many blocks as the search's race has.
    #[allow(dead_code)] // For the tables and the tests.
    pub fn grid_trials(&self) -> usize {
        self.points * self.race_blocks as usize
    }
}
