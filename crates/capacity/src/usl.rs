//! Gunther's Universal Scalability Law fitted to measured throughput,
//! X(N) = g N / (1 + s (N - 1) + k N (N - 1)), with intervals.
//!
//! N / X is linear in 1/g, s/g and k/g, so that the fit is a small least-squares
//! problem with an exact answer: no start values, no iteration, no chance. The
//! residuals are relative, X measured / X fitted - 1, because throughput scatters
//! by a share of itself. No coefficient may be below 0.
//!
//! Intervals are profiles: the values for which the best fit of all else is not
//! significantly worse, by the F statistic of one parameter (t²). For quotients of
//! linear coefficients these are Fieller's, and need no approximation.

mod least_squares;

use crate::CapacityError;
use crate::error::above_0;
use least_squares::{at_least_0, unbounded};

/// Three parameters, and one degree of freedom to see the scatter by.
pub const LEAST_POINTS: usize = 4;

/// The law's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usl {
    /// g: the throughput at N = 1.
    pub per_one: f64,
    /// s: the share of contention, work that queues up.
    pub contention: f64,
    /// k: coherency, what every pair costs.
    pub coherency: f64,
}

impl Usl {
    /// X(N).
    pub fn throughput(&self, n: f64) -> f64 {
        let drag = 1.0 + self.contention * (n - 1.0) + self.coherency * n * (n - 1.0);
        self.per_one * n / drag
    }

    /// The N of the highest throughput, sqrt((1 - s) / k), at least 1; `None`
    /// without coherency, when more never harms.
    pub fn peak(&self) -> Option<f64> {
        let squared = (1.0 - self.contention).max(0.0) / self.coherency;
        (self.coherency > 0.0).then(|| squared.sqrt().max(1.0))
    }
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Threads, processes, clients: what was varied.
    pub n: f64,
    pub throughput: f64,
}

/// Between which values a parameter lies; no `high` where the data allow any.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: Option<f64>,
}

/// A fit.
#[derive(Debug, Clone, PartialEq)]
pub struct UslFit {
    pub usl: Usl,
    /// Root of the mean square of the relative residuals, by degrees of freedom.
    pub scatter: f64,
    /// Measurements less parameters.
    pub freedom: usize,
    /// s or k came out below 0 and was held there: throughput that grows faster
    /// than N, or noise.
    pub held_at_0: bool,
    columns: [Vec<f64>; 3],
    residual: f64,
}

/// The intervals of a fit's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UslIntervals {
    pub per_one: Interval,
    pub contention: Interval,
    pub coherency: Interval,
    pub peak: Interval,
}

/// Fits the law.
///
/// # Errors
/// Fewer than four different N, an N below 1, a throughput that is not above 0, or
/// nothing that shows what N = 1 would do.
pub fn fit_usl(points: &[Measured]) -> Result<UslFit, CapacityError> {
    for point in points {
        above_0("the throughput", point.throughput)?;
        if !(point.n >= 1.0 && point.n.is_finite()) {
            return Err(CapacityError::OutOfRange {
                name: "N",
                value: point.n,
                limits: "1 or more",
            });
        }
    }
    let mut different: Vec<f64> = points.iter().map(|p| p.n).collect();
    different.sort_by(f64::total_cmp);
    different.dedup();
    if different.len() < LEAST_POINTS {
        return Err(CapacityError::TooFewPoints {
            different: different.len(),
            needed: LEAST_POINTS,
        });
    }
    let column = |basis: fn(f64) -> f64| -> Vec<f64> {
        points
            .iter()
            .map(|p| basis(p.n) * p.throughput / p.n)
            .collect()
    };
    let columns = [
        column(|_| 1.0),
        column(|n| n - 1.0),
        column(|n| n * (n - 1.0)),
    ];
    let ones = vec![1.0; points.len()];
    let (found, residual) = at_least_0(&columns, &ones);
    if found[0] <= 0.0 {
        return Err(CapacityError::NothingAtOne);
    }
    let free = unbounded(&columns, &ones);
    let freedom = points.len() - 3;
    Ok(UslFit {
        usl: Usl {
            per_one: 1.0 / found[0],
            contention: found[1] / found[0],
            coherency: found[2] / found[0],
        },
        scatter: (residual / freedom as f64).sqrt(),
        freedom,
        held_at_0: free.is_some_and(|free| free[1] < 0.0 || free[2] < 0.0),
        columns,
        residual,
    })
}

impl UslFit {
    /// Intervals at the confidence of `t`: the value that Student's t with
    /// [`UslFit::freedom`] degrees of freedom exceeds, either way, with the
    /// remaining probability.
    pub fn intervals(&self, t: f64) -> UslIntervals {
        let [one, contention, coherency] = &self.columns;
        let ones = vec![1.0; one.len()];
        let residual = |columns: &[Vec<f64>]| at_least_0(columns, &ones).1;
        let peak_squared =
            |m: f64| residual(&[sum(one, contention, 1.0), sum(one, coherency, 1.0 / m)]);
        let peak = match self.usl.peak() {
            Some(peak) => self.within(peak * peak, 1.0, t, peak_squared),
            None => Interval {
                low: self.lowest(1e9, 1.0, t, peak_squared),
                high: None,
            },
        };
        UslIntervals {
            per_one: self.within(self.usl.per_one, 0.0, t, |g| {
                let rest: Vec<f64> = one.iter().map(|x| 1.0 - x / g).collect();
                at_least_0(&[contention.clone(), coherency.clone()], &rest).1
            }),
            contention: self.within(self.usl.contention, 0.0, t, |s| {
                residual(&[sum(one, contention, s), coherency.clone()])
            }),
            coherency: self.within(self.usl.coherency, 0.0, t, |k| {
                residual(&[sum(one, coherency, k), contention.clone()])
            }),
            peak: Interval {
                low: peak.low.sqrt(),
                high: peak.high.map(f64::sqrt),
            },
        }
    }

    /// The interval of the fitted throughput at `n`.
    pub fn throughput_interval(&self, n: f64, t: f64) -> Interval {
        let [one, contention, coherency] = &self.columns;
        let columns = [
            sum(contention, one, -(n - 1.0)),
            sum(coherency, one, -n * (n - 1.0)),
        ];
        self.within(self.usl.throughput(n), 0.0, t, |x| {
            let rest: Vec<f64> = one.iter().map(|c| 1.0 - c * n / x).collect();
            at_least_0(&columns, &rest).1
        })
    }

    /// Values around `found` for which `residual` is not significantly greater.
    /// They are an interval, because the fits that are not significantly worse
    /// are a convex set and each parameter is a quotient of linear ones.
    fn within(&self, found: f64, least: f64, t: f64, residual: impl Fn(f64) -> f64) -> Interval {
        let low = self.lowest(found, least, t, &residual);
        let (mut inside, mut outside) = (found, found.max(1e-9) * 2.0);
        while residual(outside) <= self.allowed(t) {
            (inside, outside) = (outside, outside * 2.0);
            if outside > 1e12 {
                return Interval { low, high: None };
            }
        }
        let high = self.border(inside, outside, t, &residual);
        Interval {
            low,
            high: Some(high),
        }
    }

    fn lowest(&self, found: f64, least: f64, t: f64, residual: impl Fn(f64) -> f64) -> f64 {
        // 0 itself may have no fit (a throughput of 0); what is next to it will do.
        let floor = least.max(1e-12);
        if found <= floor || residual(floor) <= self.allowed(t) {
            return least;
        }
        self.border(found, floor, t, residual)
    }

    fn border(&self, inside: f64, outside: f64, t: f64, residual: impl Fn(f64) -> f64) -> f64 {
        let (mut inside, mut outside) = (inside, outside);
        for _ in 0..80 {
            let middle = (inside + outside) / 2.0;
            if residual(middle) <= self.allowed(t) {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        inside
    }

    /// The greatest residual that is not significantly worse.
    fn allowed(&self, t: f64) -> f64 {
        // Data without any scatter leave rounding alone.
        self.residual.max(1e-20) * (1.0 + t * t / self.freedom as f64)
    }
}

fn sum(a: &[f64], b: &[f64], times: f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + times * b).collect()
}

#[cfg(test)]
mod tests;
