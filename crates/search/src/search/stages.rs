//! What follows from a stage: which one comes next, and what it starts with.

use super::{Now, Search};
use crate::ablation::{Ablation, AblationInput};
use crate::candidates::{Material, candidates};
use crate::choose::{best, fewest_changes_near_best, smallest_near_best};
use crate::confirm::Confirm;
use crate::known::joined;
use crate::race::Race;
use crate::screen::{Screen, Setting};
use crate::{Claim, Effect, End, Fate, Found, How, Point, SearchError, Stage, Standing};
use stats::Scatter;

/// How often a race of neighbours follows the one before, its best arm being another.
const CLIMBS: u32 = 2;

/// One up and one down in two factors, and one for the other.
const MOST_NEIGHBOURS: usize = 6;

/// Arms of the race of what a look round suggests, at most.
const TOGETHER: usize = 6;

impl Search {
    /// Where a stage is over, the next one that has something to do.
    pub(super) fn go_on(&mut self, done: u32) -> Result<(), SearchError> {
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
            Now::Ablation(ablation) if ablation.race.block().is_none() => self.ablated(ablation),
            Now::Together(race) if race.block().is_none() => {
                self.note(&race);
                self.settle(&race)
            }
            Now::Refine(round) if round.block().is_none() => self.refined(&round),
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
        let mut arms = vec![centre.clone()];
        if moved && arm.is_some() && self.climbs < CLIMBS {
            arms.extend(self.neighbours(&centre));
            arms.truncate(self.arms_left(Stage::Neighbours, MOST_NEIGHBOURS + 1));
        }
        if arms.len() > 1 {
            let blocks = self.race_blocks(Stage::Neighbours, arms.len());
            self.climbs += 1;
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
    pub(super) fn screen(&mut self, centre: &Point) -> Result<(), SearchError> {
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

    /// Once more where the effects are too uncertain to see one of the size of the margin, if the trials allow it and no
    /// refinement follows, in which trials say more.
    fn screen_again(&mut self, mut screen: Screen) -> Result<(), SearchError> {
        let errors = self.effects.iter().filter_map(|effect| effect.score);
        let least = errors
            .map(|score| score.standard_error)
            .fold(f64::INFINITY, f64::min);
        let uncertain = least.is_finite() && least > self.rules.margin.ln_1p() / 2.0;
        let left = self.left(Stage::Screen);
        let may = uncertain && !self.refines();
        if may && screen.repeat(left, &self.space, self.seed) {
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
        let arms = candidates(material, self.shape.arms);
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

    /// Keeps what a race has shown in addition to its result.
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
        if self.refines() {
            return self.refine(1);
        }
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

    /// Whether a single factor is searched, of which every level was in the race.
    pub(super) fn all_raced(&self) -> bool {
        let levels = self.space.factors.iter().map(|factor| factor.levels.len());
        let varied: Vec<usize> = levels.filter(|levels| *levels > 1).collect();
        matches!(varied.as_slice(), [levels] if *levels <= self.rules.most_arms)
    }

    pub(super) fn look_around(
        &mut self,
        centre: Point,
        log_memory: Option<f64>,
    ) -> Result<(), SearchError> {
        if self.all_raced() {
            return self.confirm(centre);
        }
        let behind = |fate: &&Fate| matches!(fate.end, End::Behind { .. });
        let lost = self.fates.iter().filter(behind).map(|fate| &fate.point);
        let lost: Vec<&Point> = lost.collect();
        let input = AblationInput {
            space: &self.space,
            effects: &self.effects,
            lost: &lost,
            foreseen: &self.foreseen,
            known: &self.known,
            margin: self.rules.margin,
            log_memory,
            log_memory_limit: self.rules.log_memory_limit,
            objective: self.rules.objective,
            only_without: self.refines(),
        };
        let most = self.arms_left(Stage::Ablation, 2 * self.rules.most_arms);
        // The suggestions that come of it want some, too.
        let all = self.arms_left(Stage::Ablation, usize::MAX);
        let most = most.min(match all.saturating_sub(TOGETHER) {
            // What each change brings comes first.
            0 | 1 => all,
            rest => rest,
        });
        let blocks = self.race_blocks(Stage::Ablation, most);
        match Ablation::new(input, &centre, most, blocks) {
            Some(ablation) => {
                self.now = Now::Ablation(ablation);
                Ok(())
            }
            None if self.refines() => self.reduce(1),
            None => self.confirm(centre),
        }
    }

    /// Trials that this stage may spend.
    pub(super) fn left(&self, stage: Stage) -> u32 {
        let spent: u32 = self.trials.values().sum();
        self.rules.trials.map_or(u32::MAX, |trials| {
            trials.saturating_sub(spent + self.shape.after(stage))
        })
    }

    /// Arms of a race that it may spend them on, up to so many.
    fn arms_left(&self, stage: Stage, most: usize) -> usize {
        most.min((self.left(stage) / self.shape.race_blocks) as usize)
    }

    /// How a trial's score scatters, by earlier runs too: for plans, never for an estimate.
    pub(super) fn scatter_of_scores(&self) -> Scatter {
        self.scatter[0].and(Scatter::of(self.rules.noise))
    }

    /// Blocks of a race of so many arms: on a noisy machine up to twice as many as planned, so that the standard error of a
    /// difference is about the margin, if the trials allow it.
    fn race_blocks(&self, stage: Stage, arms: usize) -> u32 {
        let planned = self.shape.race_blocks;
        let (variance, _) = self.scatter_of_scores().variance();
        let wanted = (2.0 * variance / self.rules.margin.powi(2)).ceil() as u32;
        let wanted = wanted.clamp(planned, 2 * planned);
        let left = self.left(stage);
        wanted.min((left / arms.max(1) as u32).max(planned))
    }

    fn tolerance(&self) -> f64 {
        (self.rules.margin.ln_1p() - self.behind).max(0.0)
    }

    fn ablated(&mut self, ablation: Ablation) -> Result<(), SearchError> {
        self.note(&ablation.race);
        if self.refines() {
            self.ablation = Some(ablation);
            return self.reduce(1);
        }
        let (variance, _) = self.scatter[0].variance();
        let mut suggested = ablation.suggested(
            &self.effects,
            variance,
            self.tolerance(),
            self.rules.log_memory_limit,
            &self.space,
        );
        self.ablation = Some(ablation);
        // The centre and what is suggested last, the whole of it, come before what lies between.
        let most = self.arms_left(Stage::Together, TOGETHER);
        while suggested.len() > most.max(1) {
            suggested.remove(1.min(suggested.len() - 1));
        }
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

    pub(super) fn confirm(&mut self, winner: Point) -> Result<(), SearchError> {
        if let Some(ablation) = &self.ablation {
            self.steps = ablation.steps(&winner, self.rules.margin, self.rules.alpha);
        }
        let baseline = self.space.baseline();
        if winner == baseline {
            let broken = self.standings.get(&baseline) == Some(&Standing::Breaks);
            let claim = match (self.all_break(), broken) {
                (true, _) => Claim::NoneMeets,
                // It breaks a limit, and nothing is known that keeps them.
                (false, true) => Claim::Undecided,
                (false, false) => Claim::BaselineBest,
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
