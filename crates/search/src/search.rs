//! The search: which stage comes next, and what each hands on.

use crate::around::{Around, Vicinity};
use crate::choose::{best, fewest_changes_near_best, smallest_near_best};
use crate::confirm::Confirm;
use crate::entrants::{Known, Material, entrants};
use crate::noise::Scatter;
use crate::plan::{Shape, Wanted, fit};
use crate::race::Race;
use crate::screen::{Screen, Setting};
use crate::{
    Ask, Block, Claim, Effect, End, Fate, Found, How, Observation, Outcome, Point, Rules,
    SearchError, Space, Stage, Standing, Step, design,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a model has to say. Its predictions choose what is tried, and are believed in nothing else.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Proposals {
    /// What is worth a trial, the most promising first. What is not modelled is as it is today.
    pub candidates: Vec<Point>,
    /// Whatever was predicted, the baseline and points beyond the memory limit among it: a change that saves memory may
    /// make room for them.
    pub foreseen: Vec<Foreseen>,
}

/// A prediction; what is not modelled is as it is today.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Foreseen {
    pub point: Point,
    /// As logarithms, in whatever unit: differences count.
    pub log_score: f64,
    pub log_memory: Option<f64>,
}

#[derive(Debug, Clone)]
enum Now {
    Race(Race),
    Screen(Screen),
    Around(Around),
    /// The race of what an ablation left, least taken out first .
    Together(Race),
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
    /// By score, throughput, memory and latency.
    scatter: [Scatter; 4],
    /// How far the configuration that goes on may be behind the best already.
    behind: f64,
    steps: Vec<Step>,
    around: Option<Around>,
    fates: Vec<Fate>,
    standings: BTreeMap<Point, Standing>,
    left_out: Vec<Stage>,
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
                vec![Stage::Screen]
            } else {
                Vec::new()
            },
            scatter: [
                Scatter::of(rules.noise),
                Scatter::of(rules.noise),
                Scatter::default(),
                Scatter::default(),
            ],
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
            around: None,
            fates: Vec::new(),
            standings: BTreeMap::new(),
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
            Now::Around(around) => around.race.block(),
            Now::Confirm(confirm) => confirm.race.block(),
            Now::Screen(screen) => screen.block(),
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
        let stays = matches!(block.stage, Stage::Around | Stage::Together).then_some(0);
        match &mut self.now {
            Now::Race(race) | Now::Together(race) => race.tell(told, &self.rules, stays),
            Now::Around(around) => around.race.tell(told, &self.rules, stays),
            Now::Confirm(confirm) => confirm.tell(told, &self.rules, block.number),
            Now::Screen(screen) => screen.tell(told, spare, &self.space),
            Now::Done(_) => return Err(SearchError::Done),
        }
        self.go_on(block.number)
    }

    fn count(&mut self, block: &Block, told: &[Option<Observation>]) {
        *self.trials.entry(block.stage).or_default() += told.len() as u32;
        for (point, seen) in block.points.iter().zip(told) {
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

    /// Where a stage is over, the next one that has something to do.
    fn go_on(&mut self, done: u32) -> Result<(), SearchError> {
        match self.now.clone() {
            Now::Race(race) if race.block().is_none() => {
                self.note(&race);
                match race.stage {
                    Stage::Candidates | Stage::Neighbours => self.climb(race),
                    _ => self.choose(&race),
                }
            }
            Now::Screen(screen) if screen.block().is_none() => {
                self.effects = screen.effects(self.scatter);
                self.screen_again(screen)
            }
            Now::Around(around) if around.race.block().is_none() => self.looked_around(around),
            Now::Together(race) if race.block().is_none() => {
                self.note(&race);
                self.settle(&race)
            }
            Now::Confirm(confirm) if confirm.over(done) => {
                self.finish(&confirm);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// From a race of modelled points to its best one's neighbours, and on when there are none that have not run.
    fn climb(&mut self, race: Race) -> Result<(), SearchError> {
        let limit = self.rules.log_memory_limit;
        let arm = best(&race, limit);
        let centre = arm.map_or(self.space.baseline(), |arm| race.arms[arm].clone());
        self.known = joined(&self.known, &race, &centre);
        let moved = race.stage == Stage::Candidates || race.arms.first() != Some(&centre);
        let spent = self.trials.get(&Stage::Neighbours).copied().unwrap_or(0);
        let left = self.shape.most_of(Stage::Neighbours).saturating_sub(spent);
        let most = (left / self.shape.race_blocks) as usize;
        let mut arms = vec![centre.clone()];
        if moved && arm.is_some() {
            arms.extend(self.neighbours(&centre));
            arms.truncate(most);
        }
        if arms.len() > 1 {
            let blocks = self.race_blocks(Stage::Neighbours, arms.len());
            let next = Race::new(Stage::Neighbours, arms, blocks, self.rules.objective);
            self.now = Now::Race(next);
            return Ok(());
        }
        if self.has_more_than_modelled() {
            self.first = Some(race);
            self.screen(&centre)
        } else {
            self.choose(&race)
        }
    }

    /// Points one step away in what is modelled that have not run. Where memory is limited, more of one thing may be had
    /// for less of another.
    fn neighbours(&self, centre: &Point) -> Vec<Point> {
        let stepped = |from: &Point, factor: usize, up: bool| {
            let at = from.0[factor];
            let level = if up { Some(at + 1) } else { at.checked_sub(1) };
            level.map(|level| from.with(factor, level))
        };
        let modelled: Vec<usize> = self.space.searched(How::Modelled).collect();
        let mut found = Vec::new();
        for &factor in &modelled {
            for up in [false, true] {
                found.extend(stepped(centre, factor, up));
            }
        }
        if self.rules.log_memory_limit.is_some() {
            for &more in &modelled {
                let less = modelled.iter().filter(|less| **less != more);
                found.extend(
                    less.filter_map(|&less| stepped(&stepped(centre, more, true)?, less, false)),
                );
            }
        }
        let ran = |point: &Point| self.known.iter().any(|known| known.point == *point);
        found.retain(|point| self.space.allows(point) && !ran(point));
        found
    }

    fn has_more_than_modelled(&self) -> bool {
        let more = [How::Screened, How::Raced].map(|how| self.space.searched(how).count());
        self.shape.arms > 0 && more.iter().sum::<usize>() > 0
    }

    /// Screens round this point, or goes straight to the race where there is nothing to screen or no trials for it.
    fn screen(&mut self, centre: &Point) -> Result<(), SearchError> {
        let setting = Setting {
            space: &self.space,
            objective: self.rules.objective,
            seed: self.seed,
        };
        let screen = Screen::new(setting, centre).filter(|_| self.shape.pairs > 0);
        match screen {
            Some(screen) => {
                self.now = Now::Screen(screen);
                Ok(())
            }
            None => {
                let factors = self.space.searched(How::Screened);
                self.effects = factors.map(not_tried).collect();
                self.race(centre)
            }
        }
    }

    /// Once more where the effects are too uncertain to see one of the size of the margin, if the trials allow it.
    fn screen_again(&mut self, mut screen: Screen) -> Result<(), SearchError> {
        let errors = self.effects.iter().filter_map(|effect| effect.score);
        let least = errors
            .map(|score| score.standard_error)
            .fold(f64::INFINITY, f64::min);
        let uncertain = least.is_finite() && least > self.rules.margin.ln_1p() / 2.0;
        let spent: u32 = self.trials.values().sum();
        let left = self.rules.trials.map_or(u32::MAX, |trials| {
            trials.saturating_sub(spent + self.shape.after(Stage::Screen))
        });
        if uncertain && screen.repeat(left, &self.space, self.seed) {
            self.now = Now::Screen(screen);
            return Ok(());
        }
        let centre = screen.centre().clone();
        self.race(&centre)
    }

    fn race(&mut self, centre: &Point) -> Result<(), SearchError> {
        let material = Material {
            space: &self.space,
            centre,
            known: &self.known,
            foreseen: &self.foreseen,
            effects: &self.effects,
            log_memory_limit: self.rules.log_memory_limit,
        };
        let arms = entrants(material, self.shape.arms);
        if arms.len() < 2 {
            // Nothing to add to what the first race has shown.
            return match self.first.take() {
                Some(first) => self.choose(&first),
                None => self.confirm(centre.clone()),
            };
        }
        let blocks = self.race_blocks(Stage::Race, arms.len());
        self.now = Now::Race(Race::new(Stage::Race, arms, blocks, self.rules.objective));
        Ok(())
    }

    /// Keeps what a race has shown beside its result.
    fn note(&mut self, race: &Race) {
        let objective = self.rules.objective;
        let seen = [
            race.scatter(|seen| objective.score(seen)),
            race.scatter(|seen| Some(seen.log_throughput)),
            race.scatter(|seen| seen.log_memory),
            race.scatter(|seen| seen.log_latency),
        ];
        for (known, seen) in self.scatter.iter_mut().zip(seen) {
            *known = known.and(seen);
        }
        for (point, left) in race.arms.iter().zip(&race.left) {
            self.fates.retain(|fate| fate.point != *point);
            self.fates.push(Fate {
                point: point.clone(),
                stage: race.stage,
                end: left.clone().unwrap_or(End::RacedToTheEnd),
            });
        }
    }

    fn choose(&mut self, race: &Race) -> Result<(), SearchError> {
        let baseline = self.space.baseline();
        let Some(chosen) = smallest_near_best(
            race,
            &baseline,
            self.rules.margin,
            self.rules.log_memory_limit,
        ) else {
            return self.confirm(baseline);
        };
        self.behind = chosen.behind;
        let winner = race.arms[chosen.arm].clone();
        if self.shape.around == 0 {
            if winner.differing(&baseline).count() > 1 {
                self.left_out.push(Stage::Around);
            }
            return self.confirm(winner);
        }
        let log_memory = race.log_memory(chosen.arm);
        self.look_around(winner, log_memory)
    }

    fn settle(&mut self, race: &Race) -> Result<(), SearchError> {
        let baseline = self.space.baseline();
        let Some(arm) = fewest_changes_near_best(
            race,
            &baseline,
            self.tolerance(),
            self.rules.log_memory_limit,
        ) else {
            return self.confirm(baseline);
        };
        let winner = race.arms[arm].clone();
        self.confirm(winner)
    }

    fn look_around(&mut self, centre: Point, log_memory: Option<f64>) -> Result<(), SearchError> {
        let behind = |fate: &&Fate| matches!(fate.end, End::Behind { .. });
        let lost = self.fates.iter().filter(behind).map(|fate| &fate.point);
        let lost: Vec<&Point> = lost.collect();
        let vicinity = Vicinity {
            space: &self.space,
            effects: &self.effects,
            lost: &lost,
            foreseen: &self.foreseen,
            known: &self.known,
            margin: self.rules.margin,
            log_memory,
            log_memory_limit: self.rules.log_memory_limit,
            objective: self.rules.objective,
        };
        let blocks = self.race_blocks(Stage::Around, self.shape.around);
        match Around::new(vicinity, &centre, self.shape.around, blocks) {
            Some(around) => {
                self.now = Now::Around(around);
                Ok(())
            }
            None => self.confirm(centre),
        }
    }

    /// Blocks of a race of so many arms: on a noisy machine up to twice as many as planned, so that the standard error of a
    /// difference is about the margin, if the trials allow it.
    fn race_blocks(&self, stage: Stage, arms: usize) -> u32 {
        let planned = self.shape.race_blocks;
        let (variance, _) = self.scatter[0].variance();
        let wanted = (2.0 * variance / self.rules.margin.powi(2)).ceil() as u32;
        let wanted = wanted.clamp(planned, 2 * planned);
        let spent: u32 = self.trials.values().sum();
        let left = self.rules.trials.map_or(u32::MAX, |trials| {
            trials.saturating_sub(spent + self.shape.after(stage))
        });
        wanted.min((left / arms.max(1) as u32).max(planned))
    }

    fn tolerance(&self) -> f64 {
        (self.rules.margin.ln_1p() - self.behind).max(0.0)
    }

    fn looked_around(&mut self, around: Around) -> Result<(), SearchError> {
        self.note(&around.race);
        let (variance, _) = self.scatter[0].variance();
        let suggested = around.suggested(
            &self.effects,
            variance,
            self.tolerance(),
            self.rules.log_memory_limit,
            &self.space,
        );
        self.around = Some(around);
        match suggested.as_slice() {
            [] => self.confirm(self.space.baseline()),
            [only] => self.confirm(only.clone()),
            _ => {
                let blocks = self.race_blocks(Stage::Together, suggested.len());
                let objective = self.rules.objective;
                let race = Race::new(Stage::Together, suggested, blocks, objective);
                self.now = Now::Together(race);
                Ok(())
            }
        }
    }

    fn confirm(&mut self, winner: Point) -> Result<(), SearchError> {
        if let Some(around) = &self.around {
            self.steps = around.steps(&winner, self.rules.margin, self.rules.alpha);
        }
        let baseline = self.space.baseline();
        if winner == baseline {
            let claim = if self.all_break() {
                Claim::NoneMeets
            } else {
                Claim::BaselineBest
            };
            self.now = Now::Done(Box::new(self.outcome(winner, claim)));
            return Ok(());
        }
        let confirm = Confirm::new(baseline, winner, &self.rules, self.seed)?;
        self.now = Now::Confirm(confirm);
        Ok(())
    }

    fn all_break(&self) -> bool {
        self.standings.values().all(|s| *s == Standing::Breaks)
    }

    fn finish(&mut self, confirm: &Confirm) {
        let winner = confirm.race.arms[1].clone();
        self.fates.retain(|fate| fate.point != winner);
        self.fates.push(Fate {
            point: winner.clone(),
            stage: Stage::Confirm,
            end: End::Winner,
        });
        let mut outcome = self.outcome(winner, confirm.claim(self.all_break()));
        outcome.comparison.clone_from(&confirm.comparison);
        (outcome.winner_standing, outcome.baseline_standing) = confirm.standings();
        self.now = Now::Done(Box::new(outcome));
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

fn not_tried(factor: usize) -> Effect {
    Effect {
        factor,
        score: None,
        log_throughput: None,
        log_memory: None,
        log_latency: None,
        found: Found::NotTried,
    }
}

/// What the races of modelled points have shown of each, by the centre: those that broke a limit included, since a change
/// may make room. What an earlier race has shown is moved by how far the new centre was ahead in this one.
fn joined(earlier: &[Known], race: &Race, centre: &Point) -> Vec<Known> {
    let Some(reference) = race.place(centre) else {
        return earlier.to_vec();
    };
    let moved = earlier
        .iter()
        .find(|known| known.point == race.arms[0])
        .and_then(|old| Some(old.ahead + race.ahead(reference, 0)?))
        .unwrap_or(0.0);
    let mut joined: Vec<Known> = (0..race.arms.len())
        .filter_map(|arm| {
            Some(Known {
                point: race.arms[arm].clone(),
                ahead: race.ahead(arm, reference)?,
                log_memory: race.log_memory(arm),
            })
        })
        .collect();
    for known in earlier {
        if joined.iter().all(|new| new.point != known.point) {
            joined.push(Known {
                ahead: known.ahead - moved,
                ..known.clone()
            });
        }
    }
    joined
}
