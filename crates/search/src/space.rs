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
        let together = |Forbidden(levels): &Forbidden| {
            levels
                .iter()
                .all(|&(factor, level)| point.0[factor] == level)
        };
        known && !self.forbidden.iter().any(together)
    }

    /// The factors that are searched in this way.
    pub fn searched(&self, how: How) -> impl Iterator<Item = usize> + '_ {
        let factors = self.factors.iter().enumerate();
        factors
            .filter(move |(_, factor)| factor.how == how && factor.levels.len() > 1)
            .map(|(index, _)| index)
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
