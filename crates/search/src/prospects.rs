//! Which points are worth a trial next, and which is the best so far, by all trials together.

use crate::choose::{HANDICAP, ROOM};
use crate::risk::Risk;
use crate::surrogate::{Joint, Surrogate};
use crate::{Point, Space};
use small_sort::SmallSort;
use std::collections::HashMap;

/// Points whose covariance is looked at: those of the highest mean.
const LOOKED_AT: usize = 48;

/// A point that fails more likely than this is not tried.
const TOO_RISKY: f64 = 0.5;

/// What a configuration that breaks the memory limit costs, as a logarithm: it is of no use, but a trial of it is cheap.
const BROKEN: f64 = 0.5;

/// An estimate of memory beyond its limit by more than this is not tried.
const DOUBT: f64 = 0.03;

#[derive(Debug, Clone)]
pub struct Prospects<'s> {
    pub space: &'s Space,
    pub score: Surrogate,
    pub memory: Option<Surrogate>,
    pub risk: Risk,
    pub log_memory_limit: Option<f64>,
}

/// The probability that memory is clear of the limit, and that it keeps it.
#[derive(Debug, Clone, Copy)]
struct Keeps {
    clear: f64,
    within: f64,
}

impl Keeps {
    /// What its doubtful limit takes from a score.
    fn costs(self) -> f64 {
        HANDICAP * (1.0 - self.clear) + BROKEN * (1.0 - self.within)
    }
}

impl Prospects<'_> {
    pub fn may_run(&self, point: &Point) -> bool {
        self.space.allows(point) && self.risk.at(point) <= TOO_RISKY
    }

    /// The mean of the score, less for what hardly fits; `None` where it is out of the question.
    fn promise(&self, point: &Point) -> Option<f64> {
        if !self.may_run(point) {
            return None;
        }
        let score = self.score.mean(point);
        let (Some(limit), Some(memory)) = (self.log_memory_limit, &self.memory) else {
            return Some(score);
        };
        let beyond = memory.mean(point) - limit;
        if beyond > DOUBT {
            return None;
        }
        let edge = ((beyond + ROOM) / ROOM).clamp(0.0, 1.0);
        Some(score - HANDICAP * edge)
    }

    /// The most promising points, found from these by one change at a time, and two where one brings no more.
    pub fn peaks(&self, starts: &[Point]) -> Vec<Point> {
        let mut seen: HashMap<Point, Option<f64>> = HashMap::new();
        let mut peaks: Vec<Point> = Vec::new();
        for start in starts {
            let mut at = start.clone();
            let mut height = self.promise(&at);
            seen.insert(at.clone(), height);
            while !peaks.contains(&at) {
                let near = self.higher(&mut seen, self.around(&at), height);
                let next = near.or_else(|| self.higher(&mut seen, self.two_away(&at), height));
                match next {
                    Some((point, promise)) => (at, height) = (point, Some(promise)),
                    None => peaks.push(at.clone()),
                }
            }
        }
        let found = seen.into_iter();
        let mut found: Vec<(Point, f64)> = found
            .filter_map(|(p, promise)| Some((p, promise?)))
            .collect();
        // The order of a hash map is random, and the same trials must lead to the same blocks.
        found.small_sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        found.truncate(LOOKED_AT);
        found.into_iter().map(|(point, _)| point).collect()
    }

    /// The highest of these points, where it is higher than this.
    fn higher(
        &self,
        seen: &mut HashMap<Point, Option<f64>>,
        points: Vec<Point>,
        than: Option<f64>,
    ) -> Option<(Point, f64)> {
        let mut best: Option<(Point, f64)> = None;
        for point in points {
            let promise = *seen
                .entry(point.clone())
                .or_insert_with(|| self.promise(&point));
            let Some(promise) = promise else { continue };
            if best.as_ref().is_none_or(|(_, best)| promise > *best)
                && than.is_none_or(|than| promise > than)
            {
                best = Some((point, promise));
            }
        }
        best
    }

    /// One change away.
    fn around(&self, at: &Point) -> Vec<Point> {
        self.changed_from(at, 0)
    }

    fn changed_from(&self, at: &Point, first: usize) -> Vec<Point> {
        let changed = |factor: usize| {
            let levels = 0..self.space.factors[factor].levels.len();
            let others = levels.filter(move |level| *level != at.0[factor]);
            others.map(move |level| at.with(factor, level))
        };
        (first..at.0.len()).flat_map(changed).collect()
    }

    fn two_away(&self, at: &Point) -> Vec<Point> {
        let singles = self.around(at).into_iter();
        let beyond = |single: Point| {
            let changed = single.differing(at).next().unwrap_or(0);
            self.changed_from(&single, changed + 1)
        };
        singles.flat_map(beyond).collect()
    }

    fn keeps(&self, points: &[Point]) -> Vec<Keeps> {
        let (Some(limit), Some(memory)) = (self.log_memory_limit, &self.memory) else {
            return vec![
                Keeps {
                    clear: 1.0,
                    within: 1.0
                };
                points.len()
            ];
        };
        let Joint { mean, covariance } = memory.joint(points);
        let of = |nth: usize| {
            let sd = covariance[nth][nth].max(1e-12).sqrt();
            Keeps {
                clear: normal((limit - ROOM - mean[nth]) / sd),
                within: normal((limit - mean[nth]) / sd),
            }
        };
        (0..points.len()).map(of).collect()
    }

    /// What is to be tried next to the incumbent, the most to gain first, with what is expected of each.
    pub fn next(&self, incumbent: &Point, starts: &[Point], most: usize) -> Vec<(Point, f64)> {
        let mut points = vec![incumbent.clone()];
        points.extend(
            self.peaks(starts)
                .into_iter()
                .filter(|point| point != incumbent),
        );
        let Joint {
            mean,
            mut covariance,
        } = self.score.joint(&points);
        let keeps = self.keeps(&points);
        let risks: Vec<f64> = points.iter().map(|point| self.risk.at(point)).collect();
        let noise = self.score.spread().noise.powi(2);
        let here = mean[0] - keeps[0].costs();
        let mut chosen: Vec<(Point, f64)> = Vec::new();
        while chosen.len() < most {
            let gain = |nth: usize| {
                let variance = covariance[nth][nth] + covariance[0][0] - 2.0 * covariance[0][nth];
                let sd = variance.max(1e-12).sqrt();
                let ahead = mean[nth] - here;
                let Keeps { clear, within } = keeps[nth];
                let expected = clear * improvement(ahead, sd)
                    + (within - clear) * improvement(ahead - HANDICAP, sd);
                (1.0 - risks[nth]) * expected
            };
            let untaken =
                (1..points.len()).filter(|&nth| chosen.iter().all(|c| c.0 != points[nth]));
            let gains = untaken.map(|nth| (nth, gain(nth)));
            let Some((best, expected)) = gains.max_by(|a, b| a.1.total_cmp(&b.1)) else {
                break;
            };
            chosen.push((points[best].clone(), expected));
            // What a trial of it will tell of the others, whatever comes of it.
            let column: Vec<f64> = covariance.iter().map(|row| row[best]).collect();
            let own = column[best] + noise;
            for (row, of) in covariance.iter_mut().zip(&column) {
                for (entry, other) in row.iter_mut().zip(&column) {
                    *entry -= of * other / own;
                }
            }
        }
        chosen
    }

    /// What is believed of these points.
    pub fn believed(&self, points: &[Point]) -> Believed {
        let Joint { mean, covariance } = self.score.joint(points);
        let values = mean.iter().zip(self.keeps(points));
        Believed {
            values: values.map(|(mean, keeps)| mean - keeps.costs()).collect(),
            covariance,
        }
    }
}

/// Scores, less what a doubtful limit takes from them, and how sure they are.
#[derive(Debug, Clone)]
pub struct Believed {
    pub values: Vec<f64>,
    covariance: Vec<Vec<f64>>,
}

impl Believed {
    /// Of the difference of two.
    pub fn standard_error(&self, one: usize, other: usize) -> f64 {
        let of = |a: usize, b: usize| self.covariance[a][b];
        let variance = of(one, one) + of(other, other) - 2.0 * of(one, other);
        variance.max(0.0).sqrt()
    }
}

/// What a normal figure is above zero by, on average.
fn improvement(mean: f64, sd: f64) -> f64 {
    let z = mean / sd;
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    mean * normal(z) + sd * density
}

/// The normal distribution.
fn normal(z: f64) -> f64 {
    0.5 * erfc(-z / std::f64::consts::SQRT_2)
}

/// Abramowitz and Stegun 7.1.26, off by less than 2e-7.
fn erfc(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let poly = t
        * (0.254_829_592
            + t * (-0.284_496_736
                + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let tail = poly * (-x * x).exp();
    if x >= 0.0 { tail } else { 2.0 - tail }
}

#[cfg(test)]
mod tests;
