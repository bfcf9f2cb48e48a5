//! The machine on which a problem is measured: it scatters, drifts, and sometimes fails for no reason.

use crate::problem::Problem;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use search::{Observation, Point, Standing};
use std::collections::HashMap;

/// Share of trials that fail although their configuration is sound.
const MISHAPS: f64 = 0.005;

pub struct Machine<'p, R> {
    problem: &'p Problem,
    rng: R,
    level: f64,
    /// Least and greatest log memory of each point, and all of them for the estimate.
    memory: HashMap<Point, Vec<f64>>,
}

impl<'p, R: Rng> Machine<'p, R> {
    pub fn new(problem: &'p Problem, rng: R) -> Machine<'p, R> {
        Machine {
            problem,
            rng,
            level: 0.0,
            memory: HashMap::new(),
        }
    }

    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.rng)
    }

    /// One trial of each point, in random order.
    pub fn block(&mut self, points: &[Point]) -> Vec<Option<Observation>> {
        self.level += self.problem.walk * self.normal();
        let slope = self.problem.slope * self.normal();
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.shuffle(&mut self.rng);
        let mut seen = vec![None; points.len()];
        for (place, arm) in order.into_iter().enumerate() {
            let drift = self.level + slope * place as f64;
            seen[arm] = self.trial(&points[arm], drift);
        }
        // Drift goes on from where the block ended.
        self.level += slope * points.len() as f64;
        seen
    }

    fn trial(&mut self, point: &Point, drift: f64) -> Option<Observation> {
        let problem = self.problem;
        let noise = problem.noise * self.normal();
        let memory = problem.log_memory(&point.0) + 0.01 * self.normal();
        if problem.fails(&point.0) || self.rng.random::<f64>() < MISHAPS {
            return None;
        }
        let seen = self.memory.entry(point.clone()).or_default();
        seen.push(memory);
        let standing = problem.log_memory_limit.map_or(Standing::Meets, |limit| {
            let over = seen.iter().filter(|memory| **memory > limit).count();
            if over == seen.len() {
                Standing::Breaks
            } else if over == 0 {
                Standing::Meets
            } else if 2 * over > seen.len() {
                Standing::SeemsToBreak
            } else {
                Standing::SeemsToMeet
            }
        });
        let (processes, threads) = problem.sizes(&point.0);
        Some(Observation {
            log_throughput: problem.log_throughput(&point.0) + drift + noise,
            log_latency: None,
            log_memory: Some(memory),
            processes,
            threads,
            standing,
        })
    }
}
