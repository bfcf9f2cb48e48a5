//! Which stages the trials allow, and how large.

use crate::{Rules, SearchError, Stage};

/// What there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Points that the model proposes.
    pub candidates: usize,
    /// Pairs of runs that the screen takes; 0 without one.
    pub pairs: usize,
    /// Levels of raced factors in addition to the baseline's.
    pub raced: usize,
}

/// How much of it is done for certain. The remaining trials look at the neighbours of a centre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Arms of the first race, the baseline included; 0 without one.
    pub candidates: usize,
    pub pairs: usize,
    /// Arms of the second race at most; 0 without one.
    pub arms: usize,
    pub race_blocks: u32,
    /// Blocks of the confirmation.
    pub blocks: u32,
}

impl Shape {
    /// Most trials that are kept for a stage; runs of the screen that are repeated are not among them.
    pub fn kept_for(&self, stage: Stage) -> u32 {
        match stage {
            Stage::Candidates => self.candidates as u32 * self.race_blocks,
            Stage::Screen => 2 * self.pairs as u32,
            Stage::Race => self.arms as u32 * self.race_blocks,
            Stage::Neighbours | Stage::Refine | Stage::Ablation | Stage::Together => 0,
            Stage::Confirm => 2 * self.blocks,
        }
    }

    /// Most trials that are kept for all stages after this one.
    pub fn after(&self, stage: Stage) -> u32 {
        let later = STAGES.into_iter().filter(|other| *other > stage);
        later.map(|other| self.kept_for(other)).sum()
    }

    fn all(&self) -> u32 {
        STAGES.into_iter().map(|stage| self.kept_for(stage)).sum()
    }
}

const STAGES: [Stage; 4] = [
    Stage::Candidates,
    Stage::Screen,
    Stage::Race,
    Stage::Confirm,
];

fn shape(rules: &Rules, wanted: Wanted, (arms, race_blocks, screen): (usize, u32, bool)) -> Shape {
    let others = (screen && wanted.pairs > 0) || wanted.raced > 0;
    Shape {
        candidates: match wanted.candidates {
            0 => 0,
            some => (some + 1).min(arms),
        },
        pairs: if screen { wanted.pairs } else { 0 },
        arms: if others { arms } else { 0 },
        race_blocks,
        blocks: rules.blocks,
    }
}

/// The fewest trials of a search with a screen.
pub fn least_with_screen(rules: &Rules, wanted: Wanted) -> u32 {
    shape(rules, wanted, (2, rules.race_blocks.min(2), true)).all()
}

/// The richest shape that fits. Arms go first, then blocks of the races, then the screen; two arms, two blocks and the
/// confirmation stay.
pub fn fit(rules: &Rules, wanted: Wanted) -> Result<Shape, SearchError> {
    let most = rules.most_arms;
    let shape = |arms, race_blocks, screen| shape(rules, wanted, (arms, race_blocks, screen));
    let Some(trials) = rules.trials else {
        return Ok(shape(most, rules.race_blocks, true));
    };
    let fewer = rules.race_blocks.min(2);
    let mut least = u32::MAX;
    for screen in [true, false] {
        let whole = (3..=most).rev().map(|arms| (arms, rules.race_blocks));
        let short = [4, 3, 2].map(|arms| (arms.min(most), fewer));
        for (arms, race_blocks) in whole.chain(short) {
            let shape = shape(arms, race_blocks, screen);
            if shape.all() <= trials {
                return Ok(shape);
            }
            least = least.min(shape.all());
        }
    }
    Err(SearchError::TooFewTrials { trials, least })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(trials: Option<u32>) -> Result<Shape, SearchError> {
        let rules = Rules {
            trials,
            ..Rules::default()
        };
        let wanted = Wanted {
            candidates: 5,
            pairs: 8,
            raced: 3,
        };
        fit(&rules, wanted)
    }

    #[test]
    fn whatever_is_planned_fits() {
        let least = match fitted(Some(10)) {
            Err(SearchError::TooFewTrials { least, .. }) => least,
            other => panic!("{other:?}"),
        };
        for trials in least..200 {
            let shape = fitted(Some(trials)).unwrap();
            assert!(shape.all() <= trials, "{trials}: {shape:?}");
            assert!(shape.candidates >= 2 && shape.arms >= 2, "{shape:?}");
        }
    }

    #[test]
    fn a_screen_fits_from_its_least_on() {
        let rules = Rules::default();
        let wanted = Wanted {
            candidates: 5,
            pairs: 8,
            raced: 3,
        };
        let least = least_with_screen(&rules, wanted);
        assert_eq!(fitted(Some(least)).unwrap().pairs, 8);
        assert_eq!(fitted(Some(least - 1)).unwrap().pairs, 0);
    }

    #[test]
    fn more_trials_never_buy_less() {
        let rank = |s: &Shape| (s.pairs, s.race_blocks, s.arms);
        let shapes: Vec<Shape> = (40..200).filter_map(|n| fitted(Some(n)).ok()).collect();
        assert!(shapes.windows(2).all(|w| rank(&w[0]) <= rank(&w[1])));
        assert_eq!(shapes.last().copied(), fitted(None).ok());
    }
}
