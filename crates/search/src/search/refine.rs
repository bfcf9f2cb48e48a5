//! Rounds of one block each: the best so far, and what all trials together promise most of.
//!
//! They come twice: before the look round they improve the best (stage `Refine`), after it they reduce it to the changes
//! that it needs (stage `Together`). What trials say of the limits alone, as a latency, is not modelled: a point that
//! breaks one is not chosen, but may cost its trial.

use super::beliefs::Ranked;
use super::{Now, Search};
use crate::ablation::Change;
use crate::prospects::Prospects;
use crate::round::{REDUCTIONS, ROUNDS, Round};
use crate::{End, Fate, How, Point, SearchError, Stage, Standing};

/// Arms of a round of the reduction, next to the best and to the reduced one.
const REDUCED: usize = 4;

/// Share of the margin from which an expected gain is worth a trial.
const WORTHWHILE: f64 = 0.125;

/// Trials from which a point is known well enough for the reduction.
const KNOWN: usize = 2;

/// Points from which better ones are looked for.
const STARTS: usize = 4;

impl Search {
    /// Whether all trials together say what is next. Where the smallest memory or the fewest processes are wanted, only a
    /// limit keeps the search from the least of all, and the model of the trials does not know that limit.
    pub(super) fn refines(&self) -> bool {
        !self.rules.objective.wants_proof() && !self.all_raced()
    }

    pub(super) fn refined(&mut self, round: &Round) -> Result<(), SearchError> {
        self.note_round(round);
        match round.stage {
            Stage::Refine => self.refine(round.number + 1),
            _ => self.reduce(round.number + 1),
        }
    }

    /// A round of the refinement, or what follows it where nothing is worth one.
    pub(super) fn refine(&mut self, number: u32) -> Result<(), SearchError> {
        if number == 1 {
            self.fit();
        }
        let Some((prospects, ranked)) = self.believed() else {
            return self.confirm(self.space.baseline());
        };
        let best = ranked[0].point.clone();
        let mut arms = vec![best.clone()];
        if number <= ROUNDS {
            let most = self.rules.most_arms - 1;
            arms.extend(self.worthwhile(&prospects, &ranked, most));
            arms.truncate(self.left_for_refinement(&best));
        }
        if arms.len() > 1 {
            return self.round(Stage::Refine, arms, number);
        }
        let memory = prospects.memory.as_ref().map(|memory| memory.mean(&best));
        self.look_around(best, memory)
    }

    /// After the look round: the best without the changes that bring nothing.
    pub(super) fn reduce(&mut self, number: u32) -> Result<(), SearchError> {
        if number == 1 {
            self.fit();
        }
        let Some((prospects, ranked)) = self.believed() else {
            return self.confirm(self.space.baseline());
        };
        let best = &ranked[0].point;
        if number <= REDUCTIONS {
            let mut arms = vec![best.clone()];
            let reduced = self.reduced(&prospects, best);
            if reduced != *best && self.trials_of(&reduced) < KNOWN {
                arms.push(reduced);
            }
            for point in self.worthwhile(&prospects, &ranked, REDUCED) {
                if !arms.contains(&point) {
                    arms.push(point);
                }
            }
            arms.truncate(self.left(Stage::Together) as usize);
            if arms.len() > 1 {
                return self.round(Stage::Together, arms, number);
            }
        }
        let winner = self.fewest(&ranked);
        self.confirm(winner)
    }

    fn round(&mut self, stage: Stage, arms: Vec<Point>, number: u32) -> Result<(), SearchError> {
        self.now = Now::Refine(Round::new(stage, arms, number));
        Ok(())
    }

    /// What the trials promise and the points that may be had, of which there is at least one.
    fn believed(&self) -> Option<(Prospects<'_>, Vec<Ranked>)> {
        let prospects = self.prospects()?;
        let ranked = self.ranked(&prospects);
        (!ranked.is_empty()).then_some((prospects, ranked))
    }

    fn worthwhile(&self, prospects: &Prospects<'_>, ranked: &[Ranked], most: usize) -> Vec<Point> {
        let starts = ranked.iter().take(STARTS).map(|r| r.point.clone());
        let starts: Vec<Point> = starts.collect();
        let next = prospects.next(&ranked[0].point, &starts, most).into_iter();
        let least = WORTHWHILE * self.rules.margin;
        let worth = next.filter(|(_, gain)| *gain > least);
        worth.map(|(point, _)| point).collect()
    }

    /// Trials of a round, so that enough are left to measure the best without each of its changes.
    fn left_for_refinement(&self, best: &Point) -> usize {
        let changes = best.differing(&self.space.baseline()).count() as u32;
        let kept = (1 + changes) * self.shape.race_blocks;
        self.left(Stage::Ablation).saturating_sub(kept) as usize
    }

    /// Without the changes that cost least, as long as all of it costs no more than the margin, with its standard error.
    fn reduced(&self, prospects: &Prospects<'_>, best: &Point) -> Point {
        let baseline = self.space.baseline();
        let mut reduced = best.clone();
        loop {
            let back = reduced.differing(&baseline).filter(|&factor| {
                self.space.factors[factor].how != How::Modelled && !self.saves(best, factor)
            });
            let without = |factor| Change::to(&self.space, &reduced, factor, baseline.0[factor]);
            let without = back.filter_map(without).map(|change| change.of(&reduced));
            let mut points = vec![best.clone()];
            points.extend(without.filter(|point| prospects.may_run(point)));
            let believed = prospects.believed(&points);
            let costs = |nth: usize| believed.values[0] - believed.values[nth];
            let within =
                |&nth: &usize| costs(nth) + believed.standard_error(nth, 0) <= self.margin();
            let least = (1..points.len()).filter(within);
            match least.min_by(|&a, &b| costs(a).total_cmp(&costs(b))) {
                Some(least) => reduced = points.swap_remove(least),
                None => return reduced,
            }
        }
    }

    fn margin(&self) -> f64 {
        self.rules.margin.ln_1p()
    }

    /// Whether the look round has shown that this change of the best saves memory or processes.
    fn saves(&self, best: &Point, factor: usize) -> bool {
        let around = self.ablation.as_ref();
        around.is_some_and(|ablation| {
            ablation.centre.0[factor] == best.0[factor] && ablation.saves(factor)
        })
    }

    /// Of those that are behind the best by no more than the margin, with its standard error: the fewest changes of those with
    /// the fewest processes. To stay with the baseline, the margin alone is enough: nothing is changed for what is not seen.
    fn fewest(&self, ranked: &[Ranked]) -> Point {
        let baseline = self.space.baseline();
        let best = &ranked[0].point;
        let saving: Vec<usize> = best
            .differing(&baseline)
            .filter(|&factor| self.saves(best, factor))
            .collect();
        let near = |ranked: &&Ranked| {
            let saves_as_much = saving.iter().all(|&f| ranked.point.0[f] == best.0[f]);
            let doubt = match ranked.point == baseline {
                true => 0.0,
                false => ranked.standard_error,
            };
            ranked.point == *best || (saves_as_much && ranked.behind + doubt <= self.margin())
        };
        let near = ranked.iter().filter(near);
        if near.clone().any(|ranked| ranked.point == baseline) {
            return baseline;
        }
        let cost = |point: &Point| (self.processes(point), point.differing(&baseline).count());
        let fewest = near.min_by(|a, b| {
            let fewer = cost(&a.point).cmp(&cost(&b.point));
            fewer.then(a.behind.total_cmp(&b.behind))
        });
        fewest.map_or_else(|| best.clone(), |fewest| fewest.point.clone())
    }

    fn processes(&self, point: &Point) -> u32 {
        let mut trials = self.evidence.iter().filter(|t| t.point == *point);
        trials
            .find_map(|trial| trial.seen)
            .map_or(0, |seen| seen.processes)
    }

    fn trials_of(&self, point: &Point) -> usize {
        let trials = self.evidence.iter();
        trials.filter(|trial| trial.point == *point).count()
    }

    fn note_round(&mut self, round: &Round) {
        for point in &round.arms {
            let end = match self.standings.get(point) {
                Some(Standing::Breaks) => End::BreaksALimit,
                Some(_) => End::RacedToTheEnd,
                None if self.trials_of(point) > 1 => End::Failed,
                None => End::FailedOnce,
            };
            self.fates.retain(|fate| fate.point != *point);
            self.fates.push(Fate {
                point: point.clone(),
                stage: round.stage,
                end,
            });
        }
    }
}
