//! Made-up servers to be tuned, of which the truth is known at every point of the grid.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use search::{Factor, Forbidden, Foreseen, How, Objective, Point, Proposals, Rules, Space};

/// What is hard about a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Effects that add up, a model that is good, a quiet machine.
    Plain,
    /// Nothing helps; half of what can be set does nothing at all.
    Null,
    /// Nothing does anything at all, and processes and threads are not searched: whatever wins is the same as the baseline.
    Sham,
    /// Pairs of settings that strengthen, spoil or replace each other.
    Interactions,
    /// A memory limit, and settings that keep the server from starting, alone or together.
    Corners,
    /// The model believes in three times or a third of the waiting, and in half or twice the cores.
    Misled,
    /// Trials that scatter by 4 to 6 %, on a machine that drifts.
    Noisy,
    /// All of it at once.
    Mixed,
    /// Two processes, two thread counts, two settings: sixteen points.
    Small,
    /// Settings that mean something to one allocator alone, today's or another.
    Exclusive,
}

pub const FAMILIES: [Family; 10] = [
    Family::Plain,
    Family::Null,
    Family::Sham,
    Family::Interactions,
    Family::Corners,
    Family::Misled,
    Family::Noisy,
    Family::Mixed,
    Family::Small,
    Family::Exclusive,
];

pub const WORKERS: usize = 0;
pub const THREADS: usize = 1;

/// A server and its machine.
#[derive(Debug, Clone)]
pub struct Problem {
    pub space: Space,
    pub proposals: Proposals,
    pub log_memory_limit: Option<f64>,
    /// Standard deviation of one trial's log throughput.
    pub noise: f64,
    /// Of the step from block to block, and of the slope from trial to trial.
    pub walk: f64,
    pub slope: f64,
    workers: Vec<u32>,
    threads: Vec<u32>,
    held: f64,
    waits: f64,
    cores: f64,
    memory: [f64; 3],
    /// By factor and level: on log throughput, and on log memory.
    effects: Vec<Vec<(f64, f64)>>,
    /// Of two levels together.
    pairs: Vec<([(usize, usize); 2], f64)>,
    /// With all of these the server does not start.
    fails: Vec<Vec<(usize, usize)>>,
}

fn normal(rng: &mut impl Rng) -> f64 {
    StandardNormal.sample(rng)
}

fn between(rng: &mut impl Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * rng.random::<f64>()
}

impl Problem {
    pub fn draw(family: Family, rng: &mut impl Rng) -> Problem {
        use Family::{Corners, Exclusive, Interactions, Misled, Mixed, Noisy, Null, Sham, Small};
        let small = family == Small;
        let (workers, threads) = match family {
            Small => (vec![1, 2], vec![3, 5]),
            Sham => (vec![2], vec![3]),
            _ => (vec![1, 2, 4, 6, 8], vec![1, 2, 3, 5, 8, 12]),
        };
        let knobs = if small { 2 } else { rng.random_range(5..=7) };
        let allocators = if small { 1 } else { 4 };
        let factor = |name: String, levels: usize, how| Factor {
            name,
            levels: (0..levels).map(|level| level.to_string()).collect(),
            baseline: 0,
            how,
        };
        let mut factors = vec![
            factor("workers".to_owned(), workers.len(), How::Modelled),
            factor("threads".to_owned(), threads.len(), How::Modelled),
        ];
        factors.extend((0..knobs).map(|nth| factor(format!("knob {nth}"), 2, How::Screened)));
        factors.push(factor("allocator".to_owned(), allocators, How::Raced));
        let allocator = factors.len() - 1;
        if family == Exclusive {
            factors.push(factor("option".to_owned(), 2, How::Raced));
        }
        factors[WORKERS].baseline = rng.random_range(0..workers.len().min(3));
        factors[THREADS].baseline = rng.random_range(0..threads.len());
        let null = family == Null;
        let mut effects: Vec<Vec<(f64, f64)>> = factors
            .iter()
            .map(|factor| {
                let one = |level: &usize| effect(factor.how, *level, null, rng);
                (0..factor.levels.len())
                    .collect::<Vec<_>>()
                    .iter()
                    .map(one)
                    .collect()
            })
            .collect();
        if family == Sham {
            effects
                .iter_mut()
                .flatten()
                .for_each(|effect| effect.0 = 0.0);
        }
        let first_knob = 2;
        let knob = |rng: &mut dyn Rng| first_knob + rng.random_range(0..knobs);
        let mut pairs = Vec::new();
        if matches!(family, Interactions | Mixed | Small) {
            for _ in 0..if small { 1 } else { 3 } {
                let (one, other) = (knob(rng), knob(rng));
                let size = between(rng, 0.02, 0.08) * if rng.random() { 1.0 } else { -1.0 };
                if one != other {
                    pairs.push(([(one, 1), (other, 1)], size));
                }
            }
            if !small {
                // A setting that is worth more, or less, with one allocator, or with many processes.
                let size = 0.05 * normal(rng);
                pairs.push(([(knob(rng), 1), (allocator, 1)], size));
                let size = 0.05 * normal(rng);
                let with = knob(rng);
                pairs.extend([2, 3, 4].map(|level| ([(with, 1), (WORKERS, level)], size)));
            }
        }
        let mut fails = Vec::new();
        let corners = matches!(family, Corners | Mixed);
        if corners {
            if rng.random() {
                fails.push(vec![(knob(rng), 1)]);
            }
            if rng.random() {
                let (one, other) = (knob(rng), knob(rng));
                fails.push(if one == other {
                    vec![(one, 1)]
                } else {
                    vec![(one, 1), (other, 1)]
                });
            }
            if rng.random_range(0..3) == 0 {
                fails.push(vec![(allocator, rng.random_range(1..allocators))]);
            }
            // One setting saves memory, whatever else it does.
            effects[first_knob][1].1 = -between(rng, 0.1, 0.25);
        }
        // Preloading has no meaning with a single process.
        let forbidden = match family {
            Sham => Vec::new(),
            _ => vec![Forbidden(vec![(WORKERS, 0), (first_knob, 1)])],
        };
        let (quiet, loud) = match family {
            Noisy => (0.04, 0.06),
            Mixed | Sham => (0.01, 0.06),
            _ => (0.01, 0.03),
        };
        let held = 1.0;
        let mut problem = Problem {
            space: Space { factors, forbidden },
            proposals: Proposals::default(),
            log_memory_limit: None,
            noise: between(rng, quiet, loud),
            walk: if family == Noisy { 0.06 } else { 0.03 },
            slope: if family == Noisy { 0.01 } else { 0.004 },
            workers,
            threads,
            held,
            waits: held * between(rng, 0.1, 1.6).exp_m1(),
            cores: if small {
                2.0
            } else {
                [2.0, 4.0, 4.0, 8.0][rng.random_range(0..4)]
            },
            memory: [
                between(rng, 60.0, 200.0),
                between(rng, 60.0, 140.0),
                between(rng, 3.0, 12.0),
            ],
            effects,
            pairs,
            fails,
        };
        if null {
            problem.start_from_the_best_modelled();
        }
        if family == Exclusive {
            problem.bind_to_allocators([first_knob + 1, first_knob + 2], allocator, rng);
        }
        if corners {
            problem.limit_memory(rng);
        }
        let wrong = match family {
            Misled => true,
            Mixed => rng.random(),
            _ => false,
        };
        problem.propose(wrong, rng);
        problem
    }

    fn start_from_the_best_modelled(&mut self) {
        let best = self.modelled().into_iter().max_by(|a, b| {
            let of = |point: &Point| self.log_throughput(&point.0);
            of(a).total_cmp(&of(b))
        });
        let best = best.unwrap();
        self.space.factors[WORKERS].baseline = best.0[WORKERS];
        self.space.factors[THREADS].baseline = best.0[THREADS];
        // There every setting is possible.
        self.space.forbidden.clear();
    }

    /// Two settings that only today's allocator knows, as arenas are glibc's, and one of another. All of them help.
    fn bind_to_allocators(&mut self, own: [usize; 2], allocator: usize, rng: &mut impl Rng) {
        let option = allocator + 1;
        let levels = 0..self.space.factors[allocator].levels.len();
        let whose = rng.random_range(1..levels.end);
        let strangers = levels.clone().filter(|level| *level != whose);
        let apart = |setting, level| Forbidden(vec![(setting, 1), (allocator, level)]);
        let mut forbidden: Vec<Forbidden> = strangers.map(|level| apart(option, level)).collect();
        forbidden.extend(own.iter().flat_map(|&own| {
            let others = levels.clone().skip(1);
            others.map(move |level| apart(own, level))
        }));
        self.space.forbidden.extend(forbidden);
        for helps in [own[0], own[1], option] {
            self.effects[helps][1].0 = (0.04 + 0.03 * normal(rng)).abs();
        }
    }

    /// So that the baseline fits, and about half of the other points do not.
    fn limit_memory(&mut self, rng: &mut impl Rng) {
        let mut all: Vec<f64> = self
            .modelled()
            .iter()
            .map(|p| self.log_memory(&p.0))
            .collect();
        all.sort_by(f64::total_cmp);
        let wanted = all[rng.random_range(all.len() / 4..all.len() * 3 / 4)];
        let baseline = self.log_memory(&self.space.baseline().0);
        self.log_memory_limit = Some(wanted.max(baseline + 0.05));
    }

    /// Every point of the modelled factors, all else as it is today.
    fn modelled(&self) -> Vec<Point> {
        let baseline = self.space.baseline();
        let of = |w: usize| {
            let baseline = &baseline;
            (0..self.threads.len()).map(move |t| baseline.with(WORKERS, w).with(THREADS, t))
        };
        (0..self.workers.len()).flat_map(of).collect()
    }

    /// As the product chooses them: the smallest near the predicted best, fewer and more threads, other processes.
    fn propose(&mut self, wrong: bool, rng: &mut impl Rng) {
        let (waits, cores) = if wrong {
            let times = |rng: &mut dyn Rng, by: f64| if rng.random() { by } else { 1.0 / by };
            (self.waits * times(rng, 3.0), self.cores * times(rng, 2.0))
        } else {
            (self.waits, self.cores)
        };
        let baseline = self.space.baseline();
        let mut predicted: Vec<(Point, f64)> = Vec::new();
        for point in self.modelled() {
            let (w, t) = (point.0[WORKERS], point.0[THREADS]);
            let score = self.bound(w, t, waits, cores) + 0.03 * normal(rng);
            let memory = self.log_memory(&point.0) + 0.05 * normal(rng);
            if self.space.allows(&point) {
                self.proposals.foreseen.push(Foreseen {
                    point: point.clone(),
                    log_score: score,
                    log_memory: Some(memory),
                });
            }
            let fits = self.log_memory_limit.is_none_or(|limit| memory <= limit);
            if fits && point != baseline && self.space.allows(&point) {
                predicted.push((point, score));
            }
        }
        let best = predicted
            .iter()
            .map(|p| p.1)
            .fold(f64::NEG_INFINITY, f64::max);
        let near = predicted.iter().filter(|p| p.1 >= best - 0.03);
        let Some(first) = near
            .min_by_key(|p| (p.0.0[WORKERS], p.0.0[THREADS]))
            .cloned()
        else {
            return;
        };
        let (w, t) = (first.0.0[WORKERS], first.0.0[THREADS]);
        let wanted = [
            Some((w, t)),
            t.checked_sub(1).map(|t| (w, t)),
            Some((w, t + 1)),
            Some((w + 1, t)),
            w.checked_sub(1).map(|w| (w, t)),
        ];
        for (w, t) in wanted.into_iter().flatten() {
            let found = predicted
                .iter()
                .find(|p| p.0.0[WORKERS] == w && p.0.0[THREADS] == t);
            let candidates = &mut self.proposals.candidates;
            candidates.extend(found.map(|(point, _)| point.clone()));
        }
    }

    fn bound(&self, w: usize, t: usize, waits: f64, cores: f64) -> f64 {
        let (w, t) = (f64::from(self.workers[w]), f64::from(self.threads[t]));
        let bounds = [
            w * t / (self.held + waits),
            w / self.held,
            cores / self.held,
        ];
        let together: f64 = bounds.iter().map(|x| x.powi(-4)).sum();
        -together.ln() / 4.0 - 0.01 * t - 0.03 * (w - cores).max(0.0)
    }

    pub fn log_throughput(&self, point: &[usize]) -> f64 {
        let modelled = self.bound(point[WORKERS], point[THREADS], self.waits, self.cores);
        let alone: f64 = point.iter().zip(&self.effects).map(|(l, e)| e[*l].0).sum();
        let together = self.pairs.iter().filter(|(pair, _)| has(point, pair));
        modelled + alone + together.map(|(_, size)| size).sum::<f64>()
    }

    pub fn log_memory(&self, point: &[usize]) -> f64 {
        let (w, t) = (
            f64::from(self.workers[point[WORKERS]]),
            f64::from(self.threads[point[THREADS]]),
        );
        let [shared, worker, thread] = self.memory;
        let alone: f64 = point.iter().zip(&self.effects).map(|(l, e)| e[*l].1).sum();
        (shared + w * (worker + t * thread)).ln() + alone
    }

    pub fn fails(&self, point: &[usize]) -> bool {
        self.fails.iter().any(|levels| has(point, levels))
    }

    pub fn feasible(&self, point: &[usize]) -> bool {
        !self.fails(point)
            && self
                .log_memory_limit
                .is_none_or(|limit| self.log_memory(point) <= limit)
    }

    pub fn sizes(&self, point: &[usize]) -> (u32, u32) {
        (self.workers[point[WORKERS]], self.threads[point[THREADS]])
    }

    /// Every allowed point.
    pub fn grid(&self, mut each: impl FnMut(&Point)) {
        let mut at = Point(vec![0; self.space.factors.len()]);
        loop {
            if self.space.allows(&at) {
                each(&at);
            }
            let mut factor = 0;
            loop {
                if factor == at.0.len() {
                    return;
                }
                at.0[factor] += 1;
                if at.0[factor] < self.space.factors[factor].levels.len() {
                    break;
                }
                at.0[factor] = 0;
                factor += 1;
            }
        }
    }

    pub fn rules(&self) -> Rules {
        Rules {
            objective: Objective::Throughput,
            log_memory_limit: self.log_memory_limit,
            ..Rules::default()
        }
    }
}

fn has(point: &[usize], levels: &[(usize, usize)]) -> bool {
    levels.iter().all(|&(factor, level)| point[factor] == level)
}

/// On throughput and on memory. Where something does nothing it does exactly nothing, so that ties occur.
fn effect(how: How, level: usize, null: bool, rng: &mut impl Rng) -> (f64, f64) {
    if level == 0 || how == How::Modelled {
        return (0.0, 0.0);
    }
    let throughput = match rng.random_range(0..10) {
        0..=4 => 0.0,
        5..=7 => (0.04 + 0.03 * normal(rng)).abs(),
        _ => -(0.04 + 0.03 * normal(rng)).abs(),
    };
    let throughput = if null {
        -f64::abs(throughput)
    } else {
        throughput
    };
    (
        throughput,
        if rng.random() {
            0.0
        } else {
            0.05 * normal(rng)
        },
    )
}
