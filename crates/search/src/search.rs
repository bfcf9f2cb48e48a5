//! The search as its caller sees it: what to measure, what was observed, and what is kept.

mod beliefs;
mod refine;
mod stages;

use crate::ablation::Ablation;
use crate::confirm::Confirm;
use crate::known::Known;
use crate::plan::{Shape, Wanted, fit, least_with_screen};
use crate::race::Race;
use crate::round::Round;
use crate::screen::Screen;
use crate::surrogate::{Spread, Trial};
use crate::{
    Ask, Block, Claim, Effect, Fate, Foreseen, How, LeftOut, Observation, Outcome, Point,
    Proposals, Rules, SearchError, Space, Stage, Standing, Step, design,
};
use stats::Scatter;
use std::collections::BTreeMap;

/// The stage under way.
#[derive(Debug, Clone)]
enum Now {
    Race(Race),
    Screen(Screen),
    Ablation(Ablation),
    /// The race of what a look round has suggested.
    Together(Race),
    /// What all trials together promise most of.
    Refine(Round),
    Confirm(Confirm),
    Done(Box<Outcome>),
}

/// A search under way.
#[derive(Debug, Clone)]
pub struct Search {
    space: Space,
    rules: Rules,
    seed: u64,
    shape: Shape,
    now: Now,
    trials: BTreeMap<Stage, u32>,
    /// The race of what the model proposed, once it is over.
    first: Option<Race>,
    foreseen: Vec<Foreseen>,
    known: Vec<Known>,
    effects: Vec<Effect>,
    /// By score, throughput, memory and latency, in this search alone.
    scatter: [Scatter; 4],
    /// How far the configuration that goes on may be behind the best already.
    behind: f64,
    steps: Vec<Step>,
    ablation: Option<Ablation>,
    fates: Vec<Fate>,
    standings: BTreeMap<Point, Standing>,
    climbs: u32,
    left_out: Vec<LeftOut>,
    /// Every trial so far, and the blocks that they were in.
    evidence: Vec<Trial>,
    blocks: u32,
    /// What the trials suggest, of score and memory; fitted at the first round of a stage, and kept in the others.
    spreads: [Option<Spread>; 2],
}

impl Search {
    /// # Errors
    /// A space, candidates or rules that make no sense, or trials that cannot hold a race and a confirmation.
    pub fn new(
        space: Space,
        proposals: Proposals,
        rules: Rules,
        seed: u64,
    ) -> Result<Search, SearchError> {
        space.check()?;
        rules.check()?;
        let baseline = space.baseline();
        let mut first = vec![baseline.clone()];
        let modelled = |factor: usize| space.factors[factor].how == How::Modelled;
        let foreseen = proposals.foreseen.iter().map(|foreseen| &foreseen.point);
        for point in proposals.candidates.iter().chain(foreseen) {
            if !space.allows(point) || !point.differing(&baseline).all(modelled) {
                return Err(SearchError::Candidate(point.clone()));
            }
        }
        for point in &proposals.candidates {
            if !first.contains(point) {
                first.push(point.clone());
            }
        }
        let screened = space.searched(How::Screened).count();
        if screened > design::MOST_FACTORS {
            return Err(SearchError::TooManyFactors {
                screened,
                most: design::MOST_FACTORS,
            });
        }
        let pairs = match screened {
            0 | 1 => 0,
            _ => design::pairs(screened, seed).map_or(0, |pairs| pairs.len()),
        };
        let levels = space.searched(How::Raced);
        let raced: usize = levels.map(|f| space.factors[f].levels.len() - 1).sum();
        let wanted = Wanted {
            candidates: first.len() - 1,
            pairs,
            // A single factor of two levels is an arm, too.
            raced: raced + usize::from(screened > 0),
        };
        let shape = fit(&rules, wanted)?;
        first.truncate(shape.candidates.max(1));
        let race = Race::new(Stage::Candidates, first, shape.race_blocks, rules.objective);
        let mut search = Search {
            left_out: if pairs > 0 && shape.pairs == 0 {
                vec![LeftOut {
                    stage: Stage::Screen,
                    needed: least_with_screen(&rules, wanted),
                    given: rules.trials.unwrap_or(u32::MAX),
                }]
            } else {
                Vec::new()
            },
            scatter: [Scatter::default(); 4],
            space,
            rules,
            seed,
            shape,
            now: Now::Race(race.clone()),
            trials: BTreeMap::new(),
            first: None,
            foreseen: proposals.foreseen,
            known: Vec::new(),
            effects: Vec::new(),
            behind: 0.0,
            steps: Vec::new(),
            ablation: None,
            fates: Vec::new(),
            standings: BTreeMap::new(),
            climbs: 0,
            evidence: Vec::new(),
            blocks: 0,
            spreads: [None; 2],
        };
        if wanted.candidates == 0 {
            search.known = vec![Known {
                point: baseline.clone(),
                ahead: 0.0,
                log_memory: None,
            }];
            search.screen(&baseline)?;
        }
        Ok(search)
    }

    /// What is to be done next. Asking again gives the same.
    pub fn ask(&self) -> Ask {
        let block = match &self.now {
            Now::Race(race) | Now::Together(race) => race.block(),
            Now::Ablation(ablation) => ablation.race.block(),
            Now::Confirm(confirm) => confirm.race.block(),
            Now::Screen(screen) => screen.block(),
            Now::Refine(round) => round.block(),
            Now::Done(outcome) => return Ask::Done(outcome.clone()),
        };
        match block {
            Some(block) => Ask::Block(block),
            // `tell` and `new` go on until there is a block or an outcome.
            None => Ask::Done(Box::new(
                self.outcome(self.space.baseline(), Claim::Undecided),
            )),
        }
    }

    /// The search after what came of the block that [`Search::ask`] names: a trial for each of its points, in the same
    /// order, `None` for one that failed.
    ///
    /// # Errors
    /// Another number of observations than points, one that is not finite, or a search that is done.
    pub fn tell(&mut self, told: &[Option<Observation>]) -> Result<(), SearchError> {
        let Ask::Block(block) = self.ask() else {
            return Err(SearchError::Done);
        };
        if told.len() != block.points.len() {
            return Err(SearchError::Count {
                told: told.len(),
                asked: block.points.len(),
            });
        }
        for seen in told.iter().flatten() {
            let figures = [Some(seen.log_throughput), seen.log_latency, seen.log_memory];
            if let Some(wrong) = figures.into_iter().flatten().find(|x| !x.is_finite()) {
                return Err(SearchError::NotFinite(wrong));
            }
        }
        self.count(&block, told);
        let spare = self.spare(&block);
        // What lies round the centre is compared with the centre.
        let stays = matches!(block.stage, Stage::Ablation | Stage::Together).then_some(0);
        match &mut self.now {
            Now::Race(race) | Now::Together(race) => race.tell(told, &self.rules, stays),
            Now::Ablation(ablation) => ablation.race.tell(told, &self.rules, stays),
            Now::Confirm(confirm) => confirm.tell(told, &self.rules, block.number),
            Now::Screen(screen) => screen.tell(told, spare, &self.space),
            Now::Refine(round) => round.tell(),
            Now::Done(_) => return Err(SearchError::Done),
        }
        self.go_on(block.number)
    }

    fn count(&mut self, block: &Block, told: &[Option<Observation>]) {
        *self.trials.entry(block.stage).or_default() += told.len() as u32;
        self.blocks += 1;
        for (point, seen) in block.points.iter().zip(told) {
            self.evidence.push(Trial {
                block: self.blocks,
                point: point.clone(),
                seen: *seen,
            });
            if let Some(seen) = seen {
                self.standings.insert(point.clone(), seen.standing);
            }
        }
    }

    /// Trials that a screen may spend on repeating runs.
    fn spare(&self, block: &Block) -> u32 {
        let Some(trials) = self.rules.trials else {
            return u32::MAX;
        };
        let spent: u32 = self.trials.values().sum();
        let to_come = 2 * block.of.saturating_sub(block.number) + self.shape.after(Stage::Screen);
        trials.saturating_sub(spent + to_come)
    }

    fn outcome(&self, winner: Point, claim: Claim) -> Outcome {
        Outcome {
            winner,
            claim,
            comparison: None,
            winner_standing: None,
            baseline_standing: None,
            effects: self.effects.clone(),
            steps: self.steps.clone(),
            fates: self.fates.clone(),
            trials: self.trials.values().sum(),
            trials_of: self.trials.iter().map(|(stage, n)| (*stage, *n)).collect(),
            left_out: self.left_out.clone(),
        }
    }
}
