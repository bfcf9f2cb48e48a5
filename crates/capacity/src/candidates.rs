//! Which configurations are worth a trial.
//!
//! Every point of the grid is predicted, what breaks the memory limit leaves,
//! and a handful stay, chosen for what a trial can still teach. A lock looks
//! like I/O and makes the prediction call for too many threads, and bursts
//! more regular than exponential saturate with fewer: so there are always
//! points below the predicted one, and some beyond it. Neighbours differ by a
//! factor of about 1.5, since nearer ones could not be told apart.

use serde::{Deserialize, Serialize};

use crate::{CapacityError, Config, Demand, MemoryModel, Prediction, predict, useful_threads};

/// The values to search. `None` stands for the crate's own choice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Own choice: 1 to 32.
    pub threads: Option<Vec<u16>>,
    /// Own choice: single mode (0), and 2 up to twice the cores. One worker
    /// under a master does the work of single mode for more memory.
    pub workers: Option<Vec<u16>>,
}

/// The memory that a configuration must keep within.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryLimit<'a> {
    pub model: &'a MemoryModel,
    pub limit_bytes: f64,
}

/// What made a configuration a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The smallest within 3 % of the best prediction.
    Predicted,
    /// T* = 1 + i/c threads.
    UsefulThreads,
    /// Fewer threads, in case some of the waiting is a lock.
    FewerThreads,
    /// More threads, in case requests wait longer than was measured.
    MoreThreads,
    /// Another number of processes, with its own best threads.
    OtherProcesses,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    pub config: Config,
    pub predicted: Prediction,
    /// Predicted PSS, where there is a memory model.
    pub memory_bytes: Option<f64>,
    pub why: Why,
}

/// Predictions within this factor of the best are equivalent.
const MARGIN: f64 = 0.03;

/// What is predicted to do less than this part of the best is not worth a
/// trial, however much of the waiting turns out to be a lock.
const LEAST_PROMISE: f64 = 0.2;

/// Neighbouring thread counts differ by this factor.
const RATIO: f64 = 1.5;

/// The most threads of the crate's own grid.
const MOST_THREADS: u16 = 32;

/// At most `most` configurations worth trying beside `baseline`, the most
/// promising first. Empty when nothing else fits the grid and the limit.
///
/// # Errors
/// Cores that are not above 0, or a grid with 0 threads.
pub fn candidates(
    demand: &Demand,
    cores: f64,
    memory: Option<MemoryLimit<'_>>,
    baseline: Config,
    grid: &Grid,
    most: usize,
) -> Result<Vec<Candidate>, CapacityError> {
    let field = Field::new(demand, cores, memory, grid)?;
    let mut chosen = Chosen {
        field: &field,
        baseline,
        most,
        candidates: Vec::new(),
    };
    let Some(best) = field.smallest_near_best(|_| true) else {
        return Ok(Vec::new());
    };
    chosen.add(best, Why::Predicted);
    let useful = useful_threads(demand.held_s(), demand.io_s()).map_or(f64::INFINITY, f64::ceil);
    let useful = useful.min(f64::from(u16::MAX)) as u16;
    if let Some(at) = field.at(best.workers, useful)
        && far_apart(useful, best.threads)
    {
        chosen.add(at, Why::UsefulThreads);
    }
    let tried = chosen.candidates.iter().map(|c| c.config.threads);
    let mut least = tried.clone().fold(best.threads, u16::min);
    let mut greatest = tried.fold(best.threads, u16::max);
    let mut others = field.other_processes(best.workers).into_iter().peekable();
    // Fewer, more, other processes; then round again while there is room, with
    // yet more threads only once nothing else is left.
    let mut first_round = true;
    while chosen.candidates.len() < most {
        let fewer = field.fewer(best.workers, least);
        if let Some(fewer) = fewer {
            chosen.add_beside_baseline(fewer, Why::FewerThreads);
            least = fewer.threads;
        }
        let more = field.more(best.workers, greatest);
        let other = others.peek().copied();
        if let Some(more) = more
            && (first_round || fewer.or(other).is_none())
        {
            chosen.add_beside_baseline(more, Why::MoreThreads);
            greatest = more.threads;
        }
        if let Some(other) = others.next() {
            chosen.add(other, Why::OtherProcesses);
        }
        if fewer.or(more).or(other).is_none() {
            break;
        }
        first_round = false;
    }
    Ok(chosen.candidates)
}

/// Whether a trial has a chance to tell two thread counts apart.
fn far_apart(a: u16, b: u16) -> bool {
    f64::from(a.max(b)) >= 1.25 * f64::from(a.min(b))
}

/// Every point of the grid that keeps within the memory limit and promises
/// enough.
struct Field {
    points: Vec<(Config, Prediction, Option<f64>)>,
}

impl Field {
    fn new(
        demand: &Demand,
        cores: f64,
        memory: Option<MemoryLimit<'_>>,
        grid: &Grid,
    ) -> Result<Self, CapacityError> {
        let own_threads = || (1..=MOST_THREADS).collect();
        let own_workers = || {
            let most = (2.0 * cores).ceil().clamp(1.0, 256.0) as u16;
            std::iter::once(0).chain(2..=most).collect()
        };
        let threads: Vec<u16> = grid.threads.clone().unwrap_or_else(own_threads);
        let workers: Vec<u16> = grid.workers.clone().unwrap_or_else(own_workers);
        let mut points = Vec::new();
        for &workers in &workers {
            for &threads in &threads {
                let config = Config { workers, threads };
                let bytes = memory.map(|m| m.model.predict(config));
                let fits = bytes
                    .zip(memory)
                    .is_none_or(|(bytes, m)| bytes <= m.limit_bytes);
                if fits {
                    points.push((config, predict(demand, cores, config)?, bytes));
                }
            }
        }
        let throughputs = points.iter().map(|(_, p, _)| p.throughput);
        let best = throughputs.fold(0.0, f64::max);
        points.retain(|(_, p, _)| p.throughput >= LEAST_PROMISE * best);
        Ok(Self { points })
    }

    /// The fewest processes, then threads, among the points near the best of
    /// those that `of` admits.
    fn smallest_near_best(&self, of: impl Fn(Config) -> bool) -> Option<Config> {
        let admitted = || self.points.iter().filter(|(config, ..)| of(*config));
        let best = admitted().map(|(_, p, _)| p.throughput).reduce(f64::max)?;
        admitted()
            .filter(|(_, p, _)| p.throughput * (1.0 + MARGIN) >= best)
            .map(|(config, ..)| *config)
            .min_by_key(|config| (config.processes(), config.workers, config.threads))
    }

    /// For each other number of processes its smallest near-best point, those
    /// that promise most first, of equals the fewest processes.
    fn other_processes(&self, workers: u16) -> Vec<Config> {
        let mut others: Vec<u16> = self.points.iter().map(|(c, ..)| c.workers).collect();
        others.sort_unstable();
        others.dedup();
        others.retain(|w| *w != workers);
        let mut found: Vec<(Config, f64)> = others
            .into_iter()
            .filter_map(|w| self.smallest_near_best(|config| config.workers == w))
            .filter_map(|config| Some((config, self.get(config)?.1.throughput)))
            .collect();
        // Within a margin the promise is the same, so round it to margins.
        let steps = |x: f64| (x.ln() / MARGIN.ln_1p()).round() as i64;
        found.sort_by_key(|(config, x)| (std::cmp::Reverse(steps(*x)), config.workers));
        found.into_iter().map(|(config, _)| config).collect()
    }

    fn get(&self, config: Config) -> Option<&(Config, Prediction, Option<f64>)> {
        self.points.iter().find(|(c, ..)| *c == config)
    }

    fn at(&self, workers: u16, threads: u16) -> Option<Config> {
        let config = Config { workers, threads };
        self.get(config).map(|_| config)
    }

    /// The next thread count down: the greatest at most a factor away.
    fn fewer(&self, workers: u16, threads: u16) -> Option<Config> {
        let of = self.threads_of(workers).filter(|t| *t < threads);
        let below: Vec<u16> = of.collect();
        let far = below
            .iter()
            .filter(|t| f64::from(**t) * RATIO <= f64::from(threads));
        let chosen = far.max().or_else(|| below.iter().min())?;
        self.at(workers, *chosen)
    }

    /// The next thread count up: the least at least a factor away.
    fn more(&self, workers: u16, threads: u16) -> Option<Config> {
        let of = self.threads_of(workers).filter(|t| *t > threads);
        let above: Vec<u16> = of.collect();
        let far = above
            .iter()
            .filter(|t| f64::from(**t) >= f64::from(threads) * RATIO);
        let chosen = far.min().or_else(|| above.iter().max())?;
        self.at(workers, *chosen)
    }

    fn threads_of(&self, workers: u16) -> impl Iterator<Item = u16> {
        let of = move |(c, ..): &&(Config, Prediction, Option<f64>)| c.workers == workers;
        self.points.iter().filter(of).map(|(c, ..)| c.threads)
    }
}

/// The choice as it grows: no duplicates, never the baseline, never too many.
struct Chosen<'a> {
    field: &'a Field,
    baseline: Config,
    most: usize,
    candidates: Vec<Candidate>,
}

impl Chosen<'_> {
    fn add(&mut self, config: Config, why: Why) {
        let known = self.candidates.iter().any(|c| c.config == config);
        if known || config == self.baseline || self.candidates.len() >= self.most {
            return;
        }
        if let Some(&(config, predicted, memory_bytes)) = self.field.get(config) {
            self.candidates.push(Candidate {
                config,
                predicted,
                memory_bytes,
                why,
            });
        }
    }

    /// As `add`, unless the baseline is so near that it answers for `config`.
    fn add_beside_baseline(&mut self, config: Config, why: Why) {
        let near = config.workers == self.baseline.workers
            && !far_apart(config.threads, self.baseline.threads);
        if !near {
            self.add(config, why);
        }
    }
}
