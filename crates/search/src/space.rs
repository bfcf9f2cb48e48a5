//! What can be set: factors, their levels, and which combinations make no sense.

use crate::SearchError;
use serde::{Deserialize, Serialize};

/// How a factor is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// A model says which of its levels are worth a trial: processes, threads.
    Modelled,
    /// Two levels, what runs today and one alternative, in the screen with others.
    Screened,
    /// Several levels, each an arm of the race.
    Raced,
}

/// One thing that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    pub name: String,
    /// As people read them.
    pub levels: Vec<String>,
    /// The level that runs today.
    pub baseline: usize,
    pub how: How,
}

/// A configuration: the index of its level for each factor of the space.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Point(pub Vec<usize>);

impl Point {
    /// The same with one factor at another level.
    #[must_use]
    pub fn with(&self, factor: usize, level: usize) -> Point {
        let mut levels = self.0.clone();
        levels[factor] = level;
        Point(levels)
    }

    /// The factors in which two points differ.
    pub fn differing<'p>(&'p self, other: &'p Point) -> impl Iterator<Item = usize> + 'p {
        (0..self.0.len()).filter(|&factor| self.0[factor] != other.0[factor])
    }
}

/// Levels, as `(factor, level)`, that do not go together: a point that has all of them is never asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Forbidden(pub Vec<(usize, usize)>);

impl Forbidden {
    /// Whether the point has all of it.
    fn holds(&self, point: &Point) -> bool {
        let Forbidden(levels) = self;
        levels
            .iter()
            .all(|&(factor, level)| point.0[factor] == level)
    }
}

/// Everything that is searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    pub factors: Vec<Factor>,
    pub forbidden: Vec<Forbidden>,
}

impl Space {
    /// What runs today.
    pub fn baseline(&self) -> Point {
        Point(self.factors.iter().map(|factor| factor.baseline).collect())
    }

    /// Whether the point has a level of every factor and no forbidden combination.
    pub fn allows(&self, point: &Point) -> bool {
        let known = point.0.len() == self.factors.len()
            && point
                .0
                .iter()
                .zip(&self.factors)
                .all(|(level, factor)| *level < factor.levels.len());
        known
            && !self
                .forbidden
                .iter()
                .any(|forbidden| forbidden.holds(point))
    }

    /// The point with this level. What of it does not go with that is as it is today, or, where it is today's that does not go, as
    /// the first level that does: an option's own allocator. `None` where nothing goes with it, or processes or threads would
    /// have to give way.
    pub(crate) fn making_room(&self, point: &Point, factor: usize, level: usize) -> Option<Point> {
        self.mended(point.with(factor, level), &[factor])
    }

    /// The point without its forbidden combinations, all of these factors as they are.
    fn mended(&self, point: Point, fixed: &[usize]) -> Option<Point> {
        let Some(Forbidden(broken)) = self.forbidden.iter().find(|f| f.holds(&point)) else {
            return Some(point);
        };
        let may_give_way =
            |other: &usize| !fixed.contains(other) && self.factors[*other].how != How::Modelled;
        let mut others = broken.iter().map(|(other, _)| *other).filter(may_give_way);
        others.find_map(|other| {
            let fixed: Vec<usize> = fixed.iter().copied().chain([other]).collect();
            let today = self.factors[other].baseline;
            let beside = (0..self.factors[other].levels.len()).filter(|new| *new != today);
            let new = std::iter::once(today).chain(beside);
            let mut new = new.filter(|new| *new != point.0[other]);
            new.find_map(|new| self.mended(point.with(other, new), &fixed))
        })
    }

    /// The factors that are searched in this way.
    pub fn searched(&self, how: How) -> impl Iterator<Item = usize> + '_ {
        let factors = self.factors.iter().enumerate();
        factors
            .filter(move |(_, factor)| factor.how == how && factor.levels.len() > 1)
            .map(|(index, _)| index)
    }

    /// Where the levels of each factor begin when the levels of all factors are numbered in a row.
    pub(crate) fn offsets(&self) -> Vec<usize> {
        let mut next = 0;
        let levels = self.factors.iter().map(|factor| factor.levels.len());
        levels
            .map(|levels| {
                next += levels;
                next - levels
            })
            .collect()
    }

    /// The level of a screened factor that does not run today.
    pub(crate) fn alternative(&self, factor: usize) -> usize {
        1 - self.factors[factor].baseline
    }

    pub(crate) fn check(&self) -> Result<(), SearchError> {
        let wrong = |factor: &Factor, what| SearchError::Factor {
            factor: factor.name.clone(),
            what,
        };
        for factor in &self.factors {
            if factor.baseline >= factor.levels.len() {
                return Err(wrong(factor, "its baseline is none of its levels"));
            }
            if factor.how == How::Screened && factor.levels.len() > 2 {
                return Err(wrong(
                    factor,
                    "a screen takes two levels; race a factor that has more",
                ));
            }
        }
        let names_a_level = |&(factor, level): &(usize, usize)| {
            self.factors
                .get(factor)
                .is_some_and(|factor: &Factor| level < factor.levels.len())
        };
        let unknown = self
            .forbidden
            .iter()
            .any(|f| f.0.is_empty() || !f.0.iter().all(names_a_level));
        if unknown {
            return Err(SearchError::Forbidden);
        }
        if !self.allows(&self.baseline()) {
            return Err(SearchError::BaselineForbidden);
        }
        Ok(())
    }
}

#[cfg(test)]
impl Factor {
    /// Of so many levels, of which the first runs today.
    pub(crate) fn of_levels(name: &str, levels: usize, how: How) -> Factor {
        Factor {
            name: name.to_owned(),
            levels: (0..levels).map(|level| level.to_string()).collect(),
            baseline: 0,
            how,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processes or four, today's allocator and two others, an option of today's, one of the last.
    fn space() -> Space {
        let factor = Factor::of_levels;
        let apart = |one, other| Forbidden(vec![one, other]);
        Space {
            factors: vec![
                factor("workers", 2, How::Modelled),
                factor("allocator", 3, How::Raced),
                factor("arenas", 2, How::Screened),
                factor("conf", 2, How::Raced),
            ],
            forbidden: vec![
                apart((1, 1), (2, 1)),
                apart((1, 2), (2, 1)),
                apart((3, 1), (1, 0)),
                apart((3, 1), (1, 1)),
            ],
        }
    }

    #[test]
    fn what_means_nothing_beside_it_gives_way() {
        let with = |levels: [usize; 4], factor, level| {
            let point = space().making_room(&Point(levels.to_vec()), factor, level)?;
            Some(point.0)
        };
        assert_eq!(with([1, 0, 0, 0], 1, 1), Some(vec![1, 1, 0, 0]));
        assert_eq!(with([1, 0, 1, 0], 1, 1), Some(vec![1, 1, 0, 0]));
        // An option brings its allocator, which takes the other's away.
        assert_eq!(with([1, 0, 0, 0], 3, 1), Some(vec![1, 2, 0, 1]));
        assert_eq!(with([1, 0, 1, 0], 3, 1), Some(vec![1, 2, 0, 1]));
        assert_eq!(with([1, 2, 0, 1], 2, 1), Some(vec![1, 0, 1, 0]));
    }

    #[test]
    fn processes_give_no_way() {
        let mut space = space();
        space.forbidden = vec![Forbidden(vec![(0, 1), (1, 1)]), Forbidden(vec![(3, 1)])];
        let today = space.baseline();
        let more = today.with(0, 1);
        assert_eq!(space.making_room(&more, 1, 1), None);
        assert_eq!(space.making_room(&today, 1, 1), Some(today.with(1, 1)));
        // What is never possible.
        assert_eq!(space.making_room(&today, 3, 1), None);
    }
}
