//! Every configuration at every rate: what it would answer, the most that it does, how much it does within an objective, and
//! when it has become too little.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use capacity::sim::Work;
use small_sort::SmallSort;

use crate::objective::{AtObjective, Looked, Objective, Slow, quantile_ms};
use crate::{Bench, OfferedLoad, Point, PredictError, Prediction, Within, bootstrap};

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub points: Vec<Point>,
    pub rates_per_s: Vec<f64>,
    pub objective: Option<Objective>,
    /// Of each simulation.
    pub requests: usize,
    /// Of the trace, for the intervals.
    pub draws: u32,
    pub seed: u64,
}

/// A configuration at one rate.
#[derive(Debug, Clone, PartialEq)]
pub struct AtRate {
    pub rate_per_s: f64,
    /// `None`: it cannot do as much, and the queue would grow without end.
    pub answer: Option<(Prediction, Within)>,
    /// Whether it is at most the highest rate that meets the objective; without one, `None`.
    pub meets: Option<bool>,
}

/// A configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Surveyed {
    pub point: Point,
    /// Answers per second when it always has something to do.
    pub most_per_s: f64,
    /// The rate at which the mean response is twice that of a request that comes alone.
    pub knee_per_s: f64,
    pub objective: Option<AtObjective>,
    /// The rate at which to add capacity: 80 % of the knee, or of the rate that meets the objective where that is less.
    pub add_at_per_s: f64,
    pub rates: Vec<AtRate>,
}

/// Part of the knee, or of the rate at an objective, at which there is still room for a busy minute.
const HEADROOM: f64 = 0.8;
/// Beyond this part of the most it can do, a queue does not settle in any time that is simulated.
const SETTLES: f64 = 0.98;
/// Parts of the most it can do at which response times are looked at.
const LADDER: [f64; 11] = [
    0.05, 0.2, 0.35, 0.5, 0.6, 0.7, 0.78, 0.85, 0.9, 0.95, SETTLES,
];

impl Bench {
    /// Answers for every configuration, in their order, on so many threads. `done` hears of each.
    ///
    /// # Errors
    /// A configuration, a rate or a machine that is none.
    pub fn survey(
        &self,
        question: &Question,
        threads: usize,
        done: impl Fn() + Sync,
    ) -> Result<Vec<Surveyed>, PredictError> {
        let draws = (1..=u64::from(question.draws))
            .map(|nth| bootstrap::draw(self.application().work(), question.seed.wrapping_add(nth)));
        let draws: Vec<Work> = draws.collect();
        let next = AtomicUsize::new(0);
        let found = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                scope.spawn(|| {
                    loop {
                        let nth = next.fetch_add(1, Ordering::Relaxed);
                        let Some(&point) = question.points.get(nth) else {
                            return;
                        };
                        let answer = self.surveyed(point, question, &draws);
                        if let Ok(mut found) = found.lock() {
                            found.push((nth, answer));
                        }
                        done();
                    }
                });
            }
        });
        let mut found = found.into_inner().unwrap_or_default();
        found.small_sort_by_key(|(nth, _)| *nth);
        found.into_iter().map(|(_, answer)| answer).collect()
    }

    fn surveyed(
        &self,
        point: Point,
        question: &Question,
        draws: &[Work],
    ) -> Result<Surveyed, PredictError> {
        let &Question { requests, seed, .. } = question;
        let busy = OfferedLoad::Closed {
            connections: 2 * u32::from(point.processes) * u32::from(point.threads),
            requests,
        };
        let most_per_s = self.predict(point, &busy, seed)?.figures.throughput_per_s;
        let poisson = |rate_per_s: f64| OfferedLoad::Poisson {
            rate_per_s,
            requests,
        };
        let percentile = question.objective.map_or(99.0, |o| o.percentile);
        let mut curve = Vec::with_capacity(LADDER.len());
        for part in LADDER {
            let rate_per_s = part * most_per_s;
            let found = self.predict(point, &poisson(rate_per_s), seed)?;
            let slow_ms = quantile_ms(&found, percentile);
            curve.push((rate_per_s, found.figures.mean_ms, slow_ms));
        }
        let means = curve.iter().map(|&(rate, mean, _)| (rate, mean));
        let alone_ms = curve.first().map_or(0.0, |first| first.1);
        let knee_per_s = highest_rate(means, 2.0 * alone_ms);
        let mut answers = Vec::with_capacity(question.rates_per_s.len());
        for &rate_per_s in &question.rates_per_s {
            let answer = match rate_per_s < SETTLES * most_per_s {
                true => Some(self.within(point, &poisson(rate_per_s), seed, draws)?),
                false => None,
            };
            answers.push((rate_per_s, answer));
        }
        let objective = match question.objective {
            None => None,
            Some(Objective {
                percentile,
                limit_ms,
            }) => {
                let slow = |found: &(Prediction, Within)| Slow::of(&found.0, &found.1, percentile);
                let shown = answers.iter();
                let shown = shown.filter_map(|(rate, found)| Some((*rate, slow(found.as_ref()?))));
                let ladder = curve.iter().map(|&(rate, ..)| rate);
                let of_the_trace = curve.iter().map(|&(rate, _, slow)| (rate, slow));
                let near = highest_rate(of_the_trace, limit_ms);
                let mut looked = Looked::new(&shown.collect::<Vec<_>>(), ladder);
                let at = looked.highest(limit_ms, near, |rate_per_s| {
                    let found = self.within(point, &poisson(rate_per_s), seed, draws)?;
                    Ok::<_, PredictError>(slow(&found))
                });
                Some(at?)
            }
        };
        let at_rate = |(rate_per_s, answer)| AtRate {
            rate_per_s,
            answer,
            meets: objective.map(|at| rate_per_s <= at.rate_per_s),
        };
        let rates = answers.into_iter().map(at_rate).collect();
        let enough = objective.map_or(f64::INFINITY, |o| o.rate_per_s);
        Ok(Surveyed {
            point,
            most_per_s,
            knee_per_s,
            objective,
            add_at_per_s: HEADROOM * knee_per_s.min(enough),
            rates,
        })
    }
}

/// The highest rate up to which a time that grows with it stays within a limit, by straight lines between the rates that
/// were looked at; 0 where it never does.
fn highest_rate(curve: impl Iterator<Item = (f64, f64)>, limit: f64) -> f64 {
    let mut last: Option<(f64, f64)> = None;
    for (rate, time) in curve {
        // Times grow with the rate; where one does not it is chance.
        let time = last.map_or(time, |(_, before)| time.max(before));
        if time > limit {
            return last.map_or(0.0, |(rate_before, before)| {
                rate_before + (rate - rate_before) * (limit - before) / (time - before)
            });
        }
        last = Some((rate, time));
    }
    last.map_or(0.0, |(rate, _)| rate)
}

/// The configuration to begin with: the smallest that is enough at the first rate. Enough is, with an objective, to meet it:
/// throughout the interval where any does so, and of these with room to grow where any has; else to come within 3 % of the most
/// that any can do. `fits` says which are allowed.
#[must_use]
pub fn smallest_enough(
    surveyed: &[Surveyed],
    objective: bool,
    fits: impl Fn(Point) -> bool,
) -> Option<&Surveyed> {
    const NEAR: f64 = 0.97;
    let first = |s: &Surveyed| s.rates.first().cloned();
    let able: Vec<&Surveyed> = surveyed
        .iter()
        .filter(|s| fits(s.point))
        .filter(|s| {
            first(s).is_none_or(|at| match objective {
                true => at.meets == Some(true),
                false => at.answer.is_some(),
            })
        })
        .collect();
    let most = able.iter().map(|s| s.most_per_s).fold(0.0, f64::max);
    let surely = |s: &Surveyed| {
        let low_per_s = s.objective.map_or(f64::INFINITY, |at| at.low_per_s);
        first(s).is_none_or(|at| at.rate_per_s <= low_per_s)
    };
    let roomy = |s: &Surveyed| first(s).is_none_or(|at| at.rate_per_s <= s.add_at_per_s);
    let enough = match objective {
        true => those_if_any(those_if_any(able, surely), roomy),
        false => able
            .into_iter()
            .filter(|s| s.most_per_s >= NEAR * most)
            .collect(),
    };
    enough.into_iter().min_by_key(|s| s.point)
}

/// Those of which it is true; all, where it is true of none.
fn those_if_any(all: Vec<&Surveyed>, is: impl Fn(&Surveyed) -> bool) -> Vec<&Surveyed> {
    match all.iter().any(|s| is(s)) {
        true => all.into_iter().filter(|s| is(s)).collect(),
        false => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rate_lies_on_the_line_between_two_that_were_looked_at() {
        let curve = [(10.0, 20.0), (20.0, 19.0), (30.0, 40.0), (40.0, 100.0)];
        let highest = |limit: f64| highest_rate(curve.into_iter(), limit);
        assert_eq!(highest(19.9), 0.0);
        assert_eq!(highest(30.0), 25.0);
        assert_eq!(highest(70.0), 35.0);
        assert_eq!(highest(1_000.0), 40.0);
    }

    fn surveyed(processes: u16, threads: u16, most_per_s: f64, meets: bool) -> Surveyed {
        Surveyed {
            point: Point { processes, threads },
            most_per_s,
            knee_per_s: 0.7 * most_per_s,
            objective: None,
            add_at_per_s: 0.7 * most_per_s,
            rates: vec![AtRate {
                rate_per_s: 60.0,
                answer: None,
                meets: Some(meets),
            }],
        }
    }

    #[test]
    fn the_smallest_that_has_room_is_where_to_begin() {
        let all = [
            surveyed(1, 1, 50.0, false),
            surveyed(1, 2, 80.0, true),
            surveyed(1, 5, 90.0, true),
            surveyed(2, 1, 95.0, true),
        ];
        let found = |fits: fn(Point) -> bool| smallest_enough(&all, true, fits).map(|s| s.point);
        let point = |processes, threads| Some(Point { processes, threads });
        assert_eq!(found(|_| true), point(1, 5));
        assert_eq!(found(|p| p.threads < 5), point(2, 1));
        assert_eq!(found(|p| p.threads == 2), point(1, 2));
        assert_eq!(found(|p| p.processes > 2), None);
    }

    /// The rate, 60, is in the interval of two of them.
    #[test]
    fn what_meets_throughout_its_interval_comes_before_what_may_meet() {
        let at = |low_per_s: f64, mut s: Surveyed| {
            s.objective = Some(AtObjective {
                rate_per_s: 80.0,
                low_per_s,
                high_per_s: 100.0,
            });
            s
        };
        let all = [
            at(55.0, surveyed(1, 2, 90.0, true)),
            at(65.0, surveyed(1, 3, 80.0, true)),
            at(58.0, surveyed(2, 1, 95.0, true)),
        ];
        let found = |of: &[Surveyed]| smallest_enough(of, true, |_| true).map(|s| s.point.threads);
        assert_eq!(found(&all), Some(3));
        assert_eq!(found(&all[..1]), Some(2));
    }
}
