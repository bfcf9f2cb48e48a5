//! How likely a point is to fail, by which trials failed: a level, or two together, may keep the server from starting, and
//! now and then a trial fails for no reason.
//!
//! Whatever has once run is innocent with all that it had. Of the levels and pairs left, each is weighed for every failure
//! against the others that could have caused it.

use crate::{Point, Space};
use std::collections::BTreeMap;

/// Shares of levels, of pairs of them, and of trials of sound configurations that fail.
const LEVEL: f64 = 0.05;
const PAIR: f64 = 0.005;
const MISHAP: f64 = 0.005;

/// Rounds of weighing suspects by each other; it settles after a few.
const ROUNDS: usize = 8;

/// Two levels by their numbers, the greater first; the same twice for a level by itself.
type Part = (usize, usize);

#[derive(Debug, Clone)]
pub struct Risk {
    baseline: Point,
    offsets: Vec<usize>,
    /// How surely each part fails, by its numbers.
    share: Vec<Vec<f64>>,
}

impl Risk {
    /// From points, and whether each failed.
    pub fn of<'t>(space: &Space, trials: impl Iterator<Item = (&'t Point, bool)> + Clone) -> Risk {
        let numbers: usize = space.factors.iter().map(|factor| factor.levels.len()).sum();
        let before = |one: usize, other: usize| if one == other { LEVEL } else { PAIR };
        let of = |one| (0..=one).map(|other| before(one, other)).collect();
        let mut risk = Risk {
            baseline: space.baseline(),
            offsets: space.offsets(),
            share: (0..numbers).map(of).collect(),
        };
        for (point, _) in trials.clone().filter(|(_, failed)| !failed) {
            for (one, other) in risk.parts(point) {
                risk.share[one][other] = 0.0;
            }
        }
        let failed: Vec<Vec<Part>> = trials
            .filter(|(_, failed)| *failed)
            .map(|(point, _)| {
                let parts = risk.parts(point).into_iter();
                parts
                    .filter(|&(one, other)| risk.share[one][other] > 0.0)
                    .collect()
            })
            .collect();
        for _ in 0..ROUNDS {
            let mut odds: BTreeMap<Part, f64> = BTreeMap::new();
            for run in &failed {
                let share = |&(one, other): &Part| risk.share[one][other];
                let sound: f64 = run.iter().map(|part| 1.0 - share(part)).product();
                for part in run {
                    // That it failed without this one's doing.
                    let others = 1.0 - (1.0 - MISHAP) * sound / (1.0 - share(part)).max(1e-9);
                    let before = before(part.0, part.1);
                    *odds.entry(*part).or_insert(before / (1.0 - before)) /= others.max(MISHAP);
                }
            }
            for ((one, other), odds) in odds {
                risk.share[one][other] = odds / (1.0 + odds);
            }
        }
        risk
    }

    /// The levels that are not today's, and their pairs.
    fn parts(&self, point: &Point) -> Vec<Part> {
        let ones = self.changed(point).enumerate();
        let of = |(nth, one)| {
            self.changed(point)
                .take(nth + 1)
                .map(move |other| (one, other))
        };
        ones.flat_map(of).collect()
    }

    fn changed<'p>(&'p self, point: &'p Point) -> impl Iterator<Item = usize> + 'p {
        let changed = point.differing(&self.baseline);
        changed.map(|factor| self.offsets[factor] + point.0[factor])
    }

    /// The probability that the point fails.
    pub fn at(&self, point: &Point) -> f64 {
        let mut sound = 1.0;
        for (nth, one) in self.changed(point).enumerate() {
            let share = &self.share[one];
            let parts = self.changed(point).take(nth + 1);
            sound *= parts.map(|other| 1.0 - share[other]).product::<f64>();
        }
        1.0 - sound
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Factor, How};

    /// Five settings; which points ran, and which failed.
    fn risk(ran: &[[usize; 5]], failed: &[[usize; 5]]) -> Risk {
        let factor = |nth: usize| Factor::of_levels(&format!("knob {nth}"), 2, How::Screened);
        let space = Space {
            factors: (0..5).map(factor).collect(),
            forbidden: Vec::new(),
        };
        let of = |points: &[[usize; 5]], failed: bool| -> Vec<(Point, bool)> {
            let points = points.iter().map(|point| Point(point.to_vec()));
            points.map(|point| (point, failed)).collect()
        };
        let trials = [of(ran, false), of(failed, true)].concat();
        Risk::of(
            &space,
            trials.iter().map(|(point, failed)| (point, *failed)),
        )
    }

    fn at(risk: &Risk, point: [usize; 5]) -> f64 {
        risk.at(&Point(point.to_vec()))
    }

    #[test]
    fn a_level_that_always_failed_is_to_blame() {
        let risk = risk(
            &[[1, 1, 0, 1, 0], [0, 1, 0, 0, 1]],
            &[[1, 0, 1, 0, 0], [0, 1, 1, 0, 1]],
        );
        assert!(at(&risk, [0, 0, 1, 0, 0]) > 0.9);
        assert!(at(&risk, [0, 0, 1, 1, 0]) > 0.9);
        assert!(at(&risk, [1, 1, 0, 0, 0]) < 1e-9);
    }

    /// Each ran without the other.
    #[test]
    fn two_that_fail_together_are_to_blame_together() {
        let risk = risk(
            &[[1, 0, 1, 1, 1], [0, 1, 1, 1, 1], [1, 0, 0, 0, 0]],
            &[[1, 1, 0, 0, 0], [1, 1, 1, 0, 1]],
        );
        assert!(at(&risk, [1, 1, 0, 0, 0]) > 0.9);
        assert!(at(&risk, [1, 0, 1, 0, 0]) < 0.01);
        assert!(at(&risk, [0, 1, 1, 0, 0]) < 0.01);
    }

    #[test]
    fn what_has_run_since_is_innocent() {
        let ran = [[1, 1, 1, 0, 0]];
        let risk = risk(&ran, &ran);
        assert_eq!(at(&risk, ran[0]), 0.0);
        // Of what never ran nothing is known but how often such a thing fails.
        let unknown = at(&risk, [0, 0, 0, 1, 0]);
        assert!((unknown - LEVEL).abs() < 1e-12, "{unknown}");
    }
}
