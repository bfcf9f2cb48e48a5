//! A round of the refinement: one block of the best so far and of what is tried next to it.

use crate::{Block, Point, Stage};

/// Rounds of the refinement, and of the reduction, at most.
pub const ROUNDS: u32 = 4;
pub const REDUCTIONS: u32 = 2;

#[derive(Debug, Clone)]
pub struct Round {
    pub stage: Stage,
    pub arms: Vec<Point>,
    pub number: u32,
    measured: bool,
}

impl Round {
    pub fn new(stage: Stage, arms: Vec<Point>, number: u32) -> Round {
        Round {
            stage,
            arms,
            number,
            measured: false,
        }
    }

    pub fn block(&self) -> Option<Block> {
        (!self.measured).then(|| Block {
            stage: self.stage,
            number: self.number,
            of: match self.stage {
                Stage::Refine => ROUNDS,
                _ => REDUCTIONS,
            },
            points: self.arms.clone(),
        })
    }

    /// Its trials are in the search's evidence.
    pub fn tell(&mut self) {
        self.measured = true;
    }
}
