//! One arm next to the centre: levels that are others in it.

use crate::{How, Point, Space};

#[derive(Debug, Clone)]
pub struct Change {
    /// The factor that it is tried for; others that give way to it, or come with it, are changed as well. `None`: a move of
    /// several.
    tried: Option<usize>,
    levels: Vec<(usize, usize)>,
}

impl Change {
    /// One factor at another level. What does not go with that of a raced one, an allocator's options, gives way. `None` where it
    /// is not possible.
    pub fn to(space: &Space, point: &Point, factor: usize, level: usize) -> Option<Change> {
        let there = match space.factors[factor].how {
            How::Raced => space.making_room(point, factor, level)?,
            How::Modelled | How::Screened => point.with(factor, level),
        };
        let change = Change::between(point, &there, Some(factor));
        space.allows(&there).then_some(change)
    }

    /// From one point to another, several factors at once.
    pub fn several(here: &Point, there: &Point) -> Change {
        Change::between(here, there, None)
    }

    fn between(here: &Point, there: &Point, tried: Option<usize>) -> Change {
        let factors = there.differing(here);
        Change {
            tried,
            levels: factors.map(|factor| (factor, there.0[factor])).collect(),
        }
    }

    pub fn of(&self, point: &Point) -> Point {
        let one = |point: Point, &(factor, level): &(usize, usize)| point.with(factor, level);
        self.levels.iter().fold(point.clone(), one)
    }

    pub fn factors(&self) -> impl Iterator<Item = usize> + '_ {
        self.levels.iter().map(|(factor, _)| *factor)
    }

    /// Whether both come to the same.
    pub fn is(&self, other: &Change) -> bool {
        self.levels == other.levels
    }

    /// Whether all of it is done by the other.
    pub fn within(&self, other: &Change) -> bool {
        self.levels.iter().all(|level| other.levels.contains(level))
    }

    /// The other changes, without the factor that it is tried for.
    pub fn rest(&self) -> Change {
        let rest = |(factor, _): &&(usize, usize)| Some(*factor) != self.tried;
        Change {
            tried: None,
            levels: self.levels.iter().filter(rest).copied().collect(),
        }
    }

    /// Whether they want different levels of a factor.
    pub fn contradicts(&self, other: &Change) -> bool {
        let differs = |(factor, level)| {
            let mut same = other.levels.iter().filter(|(other, _)| *other == factor);
            same.any(|(_, other)| *other != level)
        };
        self.levels.iter().copied().any(differs)
    }

    /// The factor and the level of a single change.
    pub fn single(&self) -> Option<(usize, usize)> {
        match self.levels.as_slice() {
            [single] => Some(*single),
            _ => None,
        }
    }

    /// The factor that it has back as it is today, and with it what hangs on that factor.
    pub fn takes_out(&self, baseline: &Point) -> Option<usize> {
        let today = |&(factor, level): &(usize, usize)| level == baseline.0[factor];
        self.tried.filter(|_| self.levels.iter().all(today))
    }
}
