//! Which configurations are worth a trial.
//!
//! Every point of the grid is predicted (by the formulas or the simulator),
//! what breaks the memory limit leaves, and a handful stay, chosen for what a trial can still teach. A lock looks
//! like I/O and makes the prediction call for too many threads, and bursts
//! more regular than exponential saturate with fewer: so there are always
//! points below the predicted one, and some beyond it. Neighbours differ by a
//! factor of about 1.5, since nearer ones could not be distinguished.

use serde::{Deserialize, Serialize};

use crate::error::above_0;
use crate::{CapacityError, Config, Demand, MemoryModel, predict};

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
    /// The smallest that should carry the rate, with one or another share of room.
    Smallest,
    /// As many processes as cores, where others have more.
    AsManyAsCores,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    pub config: Config,
    /// Predicted throughput at saturation, requests per second.
    pub throughput: f64,
    /// Predicted PSS, where there is a memory model.
    pub memory_bytes: Option<f64>,
    pub why: Why,
}

/// A point of the grid and what is predicted of it, by whatever model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    pub config: Config,
    /// Throughput at saturation, requests per second.
    pub throughput: f64,
    /// PSS, where there is a memory model.
    pub memory_bytes: Option<f64>,
}

impl Scored {
    fn candidate(&self, why: Why) -> Candidate {
        Candidate {
            config: self.config,
            throughput: self.throughput,
            memory_bytes: self.memory_bytes,
            why,
        }
    }
}

/// Predictions within this factor of the best are equivalent.
const MARGIN: f64 = 0.03;

/// What is predicted to do less than this part of the best is not worth a
/// trial, however much of the waiting turns out to be a lock.
const LEAST_PROMISE: f64 = 0.2;

/// Neighbouring thread counts differ by this factor.
const RATIO: f64 = 1.5;

/// So many candidates hold the best, those up to about twice its threads, T* and one with fewer.
const ENOUGH_FOR_AROUND: usize = 5;

/// The most threads of the crate's own grid.
const MOST_THREADS: u16 = 32;

/// The most processes of the crate's own grid where each serves one request at a time.
const MOST_PROCESSES: f64 = 64.0;

impl Grid {
    /// For servers whose processes serve one request at a time: where no number of workers is given, up to twice as many as keep
    /// the cores busy while requests wait, since waits are not evenly spread and may be longer than was measured. `useful` is T*.
    ///
    /// # Errors
    /// Cores that are not above 0.
    pub fn of_processes(
        workers: Option<Vec<u16>>,
        cores: f64,
        useful: f64,
    ) -> Result<Grid, CapacityError> {
        above_0("the number of cores", cores)?;
        let own_workers = || {
            let most = 2.0 * cores * useful.max(1.5);
            (1..=most.ceil().clamp(2.0, MOST_PROCESSES) as u16).collect()
        };
        Ok(Grid {
            threads: Some(vec![1]),
            workers: Some(workers.unwrap_or_else(own_workers)),
        })
    }

    /// Its points, or those of the crate's own choice for so many cores.
    ///
    /// # Errors
    /// Cores that are not above 0, or a grid with 0 threads.
    pub fn configs(&self, cores: f64) -> Result<Vec<Config>, CapacityError> {
        above_0("the number of cores", cores)?;
        let own_threads = || (1..=MOST_THREADS).collect();
        let own_workers = || {
            let most = (2.0 * cores).ceil().clamp(1.0, 256.0) as u16;
            std::iter::once(0).chain(2..=most).collect()
        };
        let threads: Vec<u16> = self.threads.clone().unwrap_or_else(own_threads);
        let workers: Vec<u16> = self.workers.clone().unwrap_or_else(own_workers);
        for &threads in &threads {
            above_0("the number of threads", f64::from(threads))?;
        }
        let of = |workers: u16| {
            let threads = threads.iter();
            threads.map(move |&threads| Config { workers, threads })
        };
        Ok(workers.iter().flat_map(|&workers| of(workers)).collect())
    }
}

impl MemoryLimit<'_> {
    /// Predicted PSS, and whether it is within the limit.
    #[must_use]
    pub fn judge(&self, config: Config) -> (f64, bool) {
        let bytes = self.model.predict(config);
        (bytes, bytes <= self.limit_bytes)
    }
}

/// The grid's points within the memory limit as [`predict()`] has them.
///
/// # Errors
/// Cores that are not above 0, or a grid with 0 threads.
pub fn score(
    demand: &Demand,
    cores: f64,
    memory: Option<MemoryLimit<'_>>,
    grid: &Grid,
) -> Result<Vec<Scored>, CapacityError> {
    let mut scored = Vec::new();
    for config in grid.configs(cores)? {
        let judged = memory.map(|limit| limit.judge(config));
        if judged.is_none_or(|(_, fits)| fits) {
            scored.push(Scored {
                config,
                throughput: predict(demand, cores, config)?.throughput,
                memory_bytes: judged.map(|(bytes, _)| bytes),
            });
        }
    }
    Ok(scored)
}

/// At most `most` of the configurations worth trying in addition to `baseline`,
/// the most promising first. Empty when nothing else is there. `useful` is T*,
/// 1 + i/c threads.
#[must_use]
pub fn candidates(
    scored: Vec<Scored>,
    useful: f64,
    baseline: Config,
    most: usize,
) -> Vec<Candidate> {
    let field = Field::of(scored);
    let mut chosen = Chosen {
        field: &field,
        baseline,
        most,
        candidates: Vec::new(),
    };
    let Some(best) = field.smallest_near_best(|_| true) else {
        return Vec::new();
    };
    chosen.add(best, Why::Predicted);
    if field.has_one_thread_count() {
        chosen.add_processes(best);
        return chosen.candidates;
    }
    let mut least = best.threads;
    let mut greatest = best.threads;
    // First, where there is room, what lies around the best up to about twice its threads: there the model errs.
    let around = most >= ENOUGH_FOR_AROUND;
    if around {
        if let Some(fewer) = field.fewer(best.workers, least) {
            chosen.add_beside_baseline(fewer, Why::FewerThreads);
            least = fewer.threads;
        }
        while greatest < best.threads.saturating_mul(2)
            && let Some(more) = field.more(best.workers, greatest)
        {
            chosen.add_beside_baseline(more, Why::MoreThreads);
            greatest = more.threads;
        }
    }
    let useful = useful.ceil().clamp(1.0, f64::from(u16::MAX)) as u16;
    if let Some(at) = field.at(best.workers, useful)
        && far_apart(useful, best.threads)
    {
        chosen.add(at, Why::UsefulThreads);
        least = least.min(useful);
        greatest = greatest.max(useful);
    }
    let mut others = field.other_processes(best.workers).into_iter().peekable();
    // Fewer, more, other processes; then round again while there is room, with
    // yet more threads only once nothing else is left.
    let mut first_round = !around;
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
    chosen.candidates
}

/// `chosen` with the best of as many processes as cores before the first that has more, unless that is the baseline's number. At
/// most `most`, of which the last leaves.
#[must_use]
pub fn cores_before_more(
    mut chosen: Vec<Candidate>,
    scored: &[Scored],
    cores: f64,
    baseline: Config,
    most: usize,
) -> Vec<Candidate> {
    let full = cores.floor().max(1.0) as u16;
    let more = chosen.iter().position(|c| c.config.processes() > full);
    let has_full = |config: Config| config.processes() == full;
    let (Some(at), false) = (more, has_full(baseline)) else {
        return chosen;
    };
    if most < 2 {
        return chosen;
    }
    let field = Field::of(scored.to_vec());
    let there = chosen.iter().position(|c| has_full(c.config));
    let first = match there {
        Some(there) => Some(chosen.remove(there)),
        None => {
            let best = field.smallest_near_best(has_full);
            let point = best.and_then(|best| field.get(best));
            point.map(|point| point.candidate(Why::AsManyAsCores))
        }
    };
    // What was there may have been the one before which it stands.
    let at = at.min(there.unwrap_or(at));
    chosen.splice(at..at, first);
    chosen.truncate(most);
    chosen
}

/// Whether a trial has a chance to distinguish two thread counts.
pub(crate) fn far_apart(a: u16, b: u16) -> bool {
    f64::from(a.max(b)) >= 1.25 * f64::from(a.min(b))
}

/// Every point that promises enough.
struct Field {
    points: Vec<Scored>,
}

impl Field {
    fn of(mut points: Vec<Scored>) -> Self {
        let best = points.iter().map(|p| p.throughput).fold(0.0, f64::max);
        points.retain(|p| p.throughput >= LEAST_PROMISE * best);
        Self { points }
    }

    /// The fewest processes, then threads, among the points near the best of
    /// those that `of` admits.
    fn smallest_near_best(&self, of: impl Fn(Config) -> bool) -> Option<Config> {
        let admitted = || self.points.iter().filter(|p| of(p.config));
        let best = admitted().map(|p| p.throughput).reduce(f64::max)?;
        admitted()
            .filter(|p| p.throughput * (1.0 + MARGIN) >= best)
            .map(|p| p.config)
            .min_by_key(|config| (config.processes(), config.workers, config.threads))
    }

    /// For each other number of processes its smallest near-best point, those
    /// that promise most first, of equals the fewest processes.
    fn other_processes(&self, workers: u16) -> Vec<Config> {
        let mut others: Vec<u16> = self.points.iter().map(|p| p.config.workers).collect();
        others.sort_unstable();
        others.dedup();
        others.retain(|w| *w != workers);
        let mut found: Vec<(Config, f64)> = others
            .into_iter()
            .filter_map(|w| self.smallest_near_best(|config| config.workers == w))
            .filter_map(|config| Some((config, self.get(config)?.throughput)))
            .collect();
        // Within a margin the promise is the same, so round it to margins.
        let steps = |x: f64| (x.ln() / MARGIN.ln_1p()).round() as i64;
        found.sort_by_key(|(config, x)| (std::cmp::Reverse(steps(*x)), config.workers));
        found.into_iter().map(|(config, _)| config).collect()
    }

    fn get(&self, config: Config) -> Option<&Scored> {
        self.points.iter().find(|p| p.config == config)
    }

    fn at(&self, workers: u16, threads: u16) -> Option<Config> {
        let config = Config { workers, threads };
        self.get(config).map(|_| config)
    }

    /// The next thread count down.
    fn fewer(&self, workers: u16, threads: u16) -> Option<Config> {
        self.at(workers, next_down(self.threads_of(workers), threads)?)
    }

    /// The next thread count up.
    fn more(&self, workers: u16, threads: u16) -> Option<Config> {
        self.at(workers, next_up(self.threads_of(workers), threads)?)
    }

    /// Whether all that can be chosen is the number of processes.
    fn has_one_thread_count(&self) -> bool {
        let mut threads = self.points.iter().map(|p| p.config.threads);
        let first = threads.next();
        threads.all(|t| Some(t) == first)
    }

    fn threads_of(&self, workers: u16) -> impl Iterator<Item = u16> {
        let of = self
            .points
            .iter()
            .filter(move |p| p.config.workers == workers);
        of.map(|p| p.config.threads)
    }
}

/// The greatest value at most a factor below, else the least of those below.
fn next_down(values: impl Iterator<Item = u16>, from: u16) -> Option<u16> {
    let below: Vec<u16> = values.filter(|v| *v < from).collect();
    let far = below
        .iter()
        .filter(|v| f64::from(**v) * RATIO <= f64::from(from));
    far.max().or_else(|| below.iter().min()).copied()
}

/// The least value at least a factor above, else the greatest of those above.
fn next_up(values: impl Iterator<Item = u16>, from: u16) -> Option<u16> {
    let above: Vec<u16> = values.filter(|v| *v > from).collect();
    let far = above
        .iter()
        .filter(|v| f64::from(**v) >= f64::from(from) * RATIO);
    far.min().or_else(|| above.iter().max()).copied()
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
        if let Some(point) = self.field.get(config) {
            self.candidates.push(point.candidate(why));
        }
    }

    /// Fewer and more processes than the predicted best, by turns; those next to it where nothing is further away.
    fn add_processes(&mut self, best: Config) {
        let workers = || self.field.points.iter().map(|p| p.config.workers);
        let down = |from: u16| next_down(workers(), from);
        let up = |from: u16| next_up(workers(), from);
        let far = |from: u16, to: Option<u16>| to.filter(|to| far_apart(*to, from));
        let steps = |next: &dyn Fn(u16) -> Option<u16>| -> Vec<u16> {
            let first = far(best.workers, next(best.workers));
            std::iter::successors(first, |from| far(*from, next(*from))).collect()
        };
        let (mut fewer, mut more) = (steps(&down), steps(&up));
        if fewer.is_empty() && more.is_empty() {
            fewer.extend(down(best.workers));
            more.extend(up(best.workers));
        }
        for step in 0..fewer.len().max(more.len()) {
            for workers in [fewer.get(step), more.get(step)].into_iter().flatten() {
                let config = Config {
                    workers: *workers,
                    ..best
                };
                self.add(config, Why::OtherProcesses);
            }
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
