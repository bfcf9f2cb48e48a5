//! What all trials so far say of a figure at every point, tried or not: a Gaussian process (Rasmussen and Williams 2006).
//!
//! Its covariance adds up what may move the figure (additive kernels: Duvenaud, Nickisch and Rasmussen 2011): the modelled
//! factors by their distance in steps, which corrects the model's prediction; each other change by itself; and each two of
//! them, or one of them and the modelled factors, together. The machine's drift is a random walk over the blocks.

use crate::cholesky::{Cholesky, dot};
use crate::{How, Observation, Point, Space};
use std::collections::HashMap;

/// A trial of a point, whatever its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// From 1, over all stages.
    pub block: u32,
    pub point: Point,
    pub seen: Option<Observation>,
}

/// Standard deviations of what the figure is made of, in logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Of the model's error, which neighbours share.
    pub modelled: f64,
    /// Of the part that they do not share.
    pub cell: f64,
    /// Of what one change does.
    pub alone: f64,
    /// Of what two do in addition.
    pub pair: f64,
    /// Of the machine's level from block to block.
    pub walk: f64,
    /// Of a trial.
    pub noise: f64,
}

/// Steps in which the model's error changes by about its size.
const REACH: f64 = 5.0;

/// Of the figure's level, which nothing is known of.
const LEVEL: f64 = 1.0;

/// What two points have in common.
#[derive(Debug, Clone, Copy)]
struct Common {
    /// Changes of what is not modelled.
    changes: f64,
    near: f64,
    same: bool,
}

#[derive(Debug, Clone)]
pub struct Surrogate {
    baseline: Point,
    modelled: Vec<usize>,
    others: Vec<usize>,
    /// How much of the model's error two points share, by the steps between them.
    decay: Vec<f64>,
    /// By the modelled levels.
    foreseen: HashMap<Vec<usize>, f64>,
    usual: f64,
    points: Vec<Point>,
    spread: Spread,
    root: Cholesky,
    weights: Vec<f64>,
    mean: f64,
    /// The mean with the posterior of the level, which all points share.
    level: f64,
    tables: Tables,
}

/// The posterior mean, taken apart into what its covariance adds up. Levels are numbered over all factors.
#[derive(Debug, Clone, Default)]
struct Tables {
    offsets: Vec<usize>,
    alone: Vec<f64>,
    pair: Vec<Vec<f64>>,
    strides: Vec<usize>,
    /// By modelled levels: their own part, and that of each change with them.
    cells: Vec<(f64, Vec<f64>)>,
}

/// A posterior of some points.
#[derive(Debug, Clone)]
pub struct Joint {
    pub mean: Vec<f64>,
    pub covariance: Vec<Vec<f64>>,
}

impl Surrogate {
    /// From the trials in which the figure was measured; `None` where there are none. `foreseen`: what a model says of
    /// points with all else as it is today.
    pub fn of(
        space: &Space,
        foreseen: &[(&Point, f64)],
        trials: &[(u32, &Point, f64)],
        start: Spread,
        fit: bool,
    ) -> Option<Surrogate> {
        if trials.is_empty() {
            return None;
        }
        let modelled: Vec<usize> = space.searched(How::Modelled).collect();
        let others = (0..space.factors.len()).filter(|f| !modelled.contains(f));
        let others: Vec<usize> = others.collect();
        let cell = |point: &Point| -> Vec<usize> { modelled.iter().map(|&f| point.0[f]).collect() };
        let usual = foreseen.iter().map(|f| f.1).sum::<f64>() / foreseen.len().max(1) as f64;
        let foreseen: HashMap<Vec<usize>, f64> = foreseen
            .iter()
            .map(|(point, value)| (cell(point), *value))
            .collect();
        let furthest: usize = modelled
            .iter()
            .map(|&f| space.factors[f].levels.len() - 1)
            .sum();
        let mut surrogate = Surrogate {
            baseline: space.baseline(),
            decay: (0..=furthest)
                .map(|steps| (-(steps as f64) / REACH).exp())
                .collect(),
            foreseen,
            usual,
            points: trials.iter().map(|trial| trial.1.clone()).collect(),
            spread: start,
            root: Cholesky::of(0, |_, _| 0.0)?,
            weights: Vec::new(),
            mean: 0.0,
            level: 0.0,
            tables: Tables::default(),
            modelled,
            others,
        };
        let residuals: Vec<f64> = trials
            .iter()
            .map(|(_, point, value)| value - surrogate.prior(&surrogate.cell(point)))
            .collect();
        surrogate.mean = residuals.iter().sum::<f64>() / residuals.len().max(1) as f64;
        let residuals: Vec<f64> = residuals.into_iter().map(|x| x - surrogate.mean).collect();
        let blocks: Vec<f64> = trials.iter().map(|trial| f64::from(trial.0)).collect();
        let common: Vec<Vec<Common>> = (0..trials.len())
            .map(|i| {
                (0..=i)
                    .map(|j| surrogate.common(trials[i].1, trials[j].1))
                    .collect()
            })
            .collect();
        let gram = |spread: &Spread| {
            Cholesky::of(trials.len(), |i, j| {
                let own = if i == j { spread.noise.powi(2) } else { 0.0 };
                spread.covariance(common[i][j])
                    + LEVEL.powi(2)
                    + spread.walk.powi(2) * blocks[i].min(blocks[j])
                    + own
            })
        };
        let evidence = |spread: &Spread| {
            let root = gram(spread)?;
            let white = root.forward(&residuals);
            let likelihood = -0.5 * (dot(&white, &white) + root.log_determinant());
            Some(likelihood + spread.plausible(&start))
        };
        if fit {
            surrogate.spread = start.fitted(evidence);
        }
        surrogate.root = gram(&surrogate.spread)?;
        surrogate.weights = surrogate.root.backward(&surrogate.root.forward(&residuals));
        let shared: f64 = surrogate.weights.iter().sum();
        surrogate.level = surrogate.mean + LEVEL.powi(2) * shared;
        surrogate.tables = surrogate.tables(space);
        Some(surrogate)
    }

    pub fn spread(&self) -> Spread {
        self.spread
    }

    fn cell(&self, point: &Point) -> Vec<usize> {
        self.modelled.iter().map(|&f| point.0[f]).collect()
    }

    /// By the modelled levels.
    fn prior(&self, cell: &[usize]) -> f64 {
        self.foreseen.get(cell).copied().unwrap_or(self.usual)
    }

    fn common(&self, one: &Point, other: &Point) -> Common {
        let shared = |f: &&usize| one.0[**f] == other.0[**f] && one.0[**f] != self.baseline.0[**f];
        let steps = self.modelled.iter().map(|&f| one.0[f].abs_diff(other.0[f]));
        let steps: usize = steps.sum();
        Common {
            changes: self.others.iter().filter(shared).count() as f64,
            near: self.decay[steps],
            same: steps == 0,
        }
    }

    /// The posterior of these points' levels; the drift is left out.
    pub fn joint(&self, points: &[Point]) -> Joint {
        let columns: Vec<(f64, Vec<f64>)> = points
            .iter()
            .map(|point| {
                let column: Vec<f64> = self
                    .points
                    .iter()
                    .map(|tried| self.spread.covariance(self.common(point, tried)) + LEVEL.powi(2))
                    .collect();
                let mean = self.prior(&self.cell(point)) + self.mean + dot(&column, &self.weights);
                (mean, self.root.forward(&column))
            })
            .collect();
        let covariance = (0..points.len())
            .map(|i| {
                let of = |j: usize| {
                    let before =
                        self.spread.covariance(self.common(&points[i], &points[j])) + LEVEL.powi(2);
                    before - dot(&columns[i].1, &columns[j].1)
                };
                (0..points.len()).map(of).collect()
            })
            .collect();
        Joint {
            mean: columns.into_iter().map(|column| column.0).collect(),
            covariance,
        }
    }

    fn tables(&self, space: &Space) -> Tables {
        let offsets = space.offsets();
        let numbers = space.factors.iter().map(|f| f.levels.len()).sum();
        let Spread {
            alone,
            pair,
            modelled,
            cell,
            ..
        } = self.spread;
        let (alone, pair) = (alone.powi(2), pair.powi(2));
        let (modelled, cell) = (modelled.powi(2), cell.powi(2));
        let mut strides = Vec::new();
        let mut count = 1;
        for &factor in &self.modelled {
            strides.push(count);
            count *= space.factors[factor].levels.len();
        }
        let mut tables = Tables {
            strides,
            alone: vec![0.0; numbers],
            pair: vec![vec![0.0; numbers]; numbers],
            cells: Vec::with_capacity(count),
            offsets,
        };
        let weighed = self.points.iter().zip(&self.weights);
        let tried: Vec<(Vec<usize>, Vec<usize>, f64)> = weighed
            .map(|(point, weight)| {
                (
                    self.cell(point),
                    self.active(&tables, point).collect(),
                    *weight,
                )
            })
            .collect();
        for (_, active, weight) in &tried {
            for &one in active {
                tables.alone[one] += alone * weight;
                for &other in active {
                    tables.pair[one][other] += pair * weight;
                }
            }
        }
        for nth in 0..count {
            let mut rest = nth;
            let here: Vec<usize> = self
                .modelled
                .iter()
                .map(|&factor| {
                    let levels = space.factors[factor].levels.len();
                    let level = rest % levels;
                    rest /= levels;
                    level
                })
                .collect();
            let prior = self.prior(&here);
            let (mut own, mut with) = (prior, vec![0.0; numbers]);
            for (there, active, weight) in &tried {
                let steps = here.iter().zip(there).map(|(a, b)| a.abs_diff(*b));
                let near = self.decay[steps.sum::<usize>()] * weight;
                own += modelled * near;
                if here == *there {
                    own += cell * weight;
                }
                for &one in active {
                    with[one] += pair * near;
                }
            }
            tables.cells.push((own, with));
        }
        tables
    }

    fn active<'s>(
        &'s self,
        tables: &'s Tables,
        point: &'s Point,
    ) -> impl Iterator<Item = usize> + 's {
        let changed = |f: &&usize| point.0[**f] != self.baseline.0[**f];
        let changed = self.others.iter().filter(changed);
        changed.map(|&f| tables.offsets[f] + point.0[f])
    }

    /// The posterior mean; the same as that of [`Surrogate::joint`], from sums made once.
    pub fn mean(&self, point: &Point) -> f64 {
        let tables = &self.tables;
        let cell = self.modelled.iter().zip(&tables.strides);
        let cell: usize = cell.map(|(&f, stride)| point.0[f] * stride).sum();
        let (own, with) = &tables.cells[cell];
        let mut sum = self.level + own;
        for (nth, one) in self.active(tables, point).enumerate() {
            sum += tables.alone[one] + with[one];
            let pairs = &tables.pair[one];
            sum += self
                .active(tables, point)
                .take(nth)
                .map(|other| pairs[other])
                .sum::<f64>();
        }
        sum
    }
}

impl Spread {
    fn covariance(&self, common: Common) -> f64 {
        let Common {
            changes,
            near,
            same,
        } = common;
        let cell = if same { self.cell.powi(2) } else { 0.0 };
        self.modelled.powi(2) * near
            + cell
            + self.alone.powi(2) * changes
            + self.pair.powi(2) * (changes * (changes - 1.0) / 2.0 + changes * near)
    }

    /// The logarithm of how plausible it is next to what is usual: a factor of two either way is ordinary.
    fn plausible(&self, usual: &Spread) -> f64 {
        let of = |own: f64, usual: f64, sd: f64| {
            if usual > 0.0 {
                -0.5 * ((own / usual).ln() / sd).powi(2)
            } else {
                0.0
            }
        };
        of(self.modelled, usual.modelled, 1.5)
            + of(self.cell, usual.cell, 0.7)
            + of(self.alone, usual.alone, 0.7)
            + of(self.pair, usual.pair, 0.7)
            + of(self.walk, usual.walk, 0.7)
            + of(self.noise, usual.noise, 0.2)
    }

    /// The most likely one, each by doubling and halving in turn.
    fn fitted(self, evidence: impl Fn(&Spread) -> Option<f64>) -> Spread {
        let parts: [fn(&mut Spread) -> &mut f64; 5] = [
            |s| &mut s.modelled,
            |s| &mut s.pair,
            |s| &mut s.alone,
            |s| &mut s.walk,
            |s| &mut s.cell,
        ];
        let mut best = self;
        let Some(mut at) = evidence(&best) else {
            return self;
        };
        for part in parts {
            if *part(&mut best) <= 0.0 {
                continue;
            }
            for times in [2.0, 0.5] {
                let before = best;
                loop {
                    let mut next = best;
                    *part(&mut next) *= times;
                    match evidence(&next) {
                        Some(better) if better > at => (best, at) = (next, better),
                        _ => break,
                    }
                }
                if best != before {
                    break;
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests;
