//! The best so far and what lies one change away from it: without each of its changes, and with each that it has not.
//!
//! Without them it is an ablation: changes without an effect are taken out again, and the others are the explanation.
//! With them it corrects what sums of effects got wrong, because what was left out for its noise, or for what it does in
//! other company, is measured once more in the company that it will have. All this comes before the confirmation, so that
//! what is confirmed, and claimed, is what will be run.

mod change;

pub use change::Change;

use crate::known::Known;
use crate::race::Race;
use crate::{Effect, Foreseen, Found, How, Objective, Point, Space, Stage, Standing, Step, choose};
use small_sort::SmallSort;
use stats::{Better, Rule};

/// What a change does to the score, in logarithms.
#[derive(Debug, Clone)]
struct Worth<'a> {
    change: &'a Change,
    estimate: f64,
    standard_error: f64,
    /// On the memory that is needed, in logarithms; 0 where it was not seen.
    memory: f64,
    /// Whether it may be had by itself.
    likely: bool,
}

impl Worth<'_> {
    /// What is believed of it: a gain within one standard error is none, a loss is one.
    fn believed(&self) -> f64 {
        if self.estimate > 0.0 {
            let noise = (self.standard_error / self.estimate).powi(2);
            self.estimate * (1.0 - noise).max(0.0)
        } else {
            self.estimate
        }
    }
}

#[derive(Debug, Clone)]
pub struct Ablation {
    pub race: Race,
    pub centre: Point,
    baseline: Point,
    changes: Vec<Change>,
}

/// What decides which changes are worth an arm.
#[derive(Debug, Clone, Copy)]
pub struct AblationInput<'a> {
    pub space: &'a Space,
    pub effects: &'a [Effect],
    /// What has lost a race already.
    pub lost: &'a [&'a Point],
    /// What was foreseen, and what the races of modelled points have shown, all else as it is today.
    pub foreseen: &'a [Foreseen],
    pub known: &'a [Known],
    pub margin: f64,
    /// Memory of the centre, and its limit, as logarithms.
    pub log_memory: Option<f64>,
    pub log_memory_limit: Option<f64>,
    pub objective: Objective,
    /// Whether the centre is only measured without each of its changes: where other stages look for what it lacks.
    pub only_without: bool,
}

/// What one factor does by two sorts of evidence may differ: the screen averages over the others, here they are as they
/// will be. As a standard deviation.
const CONTEXT: f64 = 0.03;

/// The error allowed for a prediction of memory, as a logarithm: one trial settles it.
const DOUBT: f64 = 0.05;

/// What a sum of measured memories may be wrong by.
const ROOM: f64 = 0.02;

/// Changes of which all sums are looked at; the best ones.
const MOST_SUMMED: usize = 14;

/// Moves of the model that are tried round the best.
const MOVES: usize = 2;

impl Ablation {
    /// `None` where nothing is to be tried. At most so many arms, the centre included.
    pub fn new(
        input: AblationInput<'_>,
        centre: &Point,
        most: usize,
        blocks: u32,
    ) -> Option<Ablation> {
        let space = input.space;
        let baseline = space.baseline();
        // With a single change the confirmation is the same comparison.
        let several = centre.differing(&baseline).count() > 1;
        let back = centre.differing(&baseline).filter(|_| several);
        let back = back.filter_map(|factor| Change::to(space, centre, factor, baseline.0[factor]));
        let mut forth: Vec<(Change, f64)> = (0..space.factors.len())
            .flat_map(|factor| input.untried(factor, centre))
            .collect();
        forth.small_sort_by(|a, b| b.1.total_cmp(&a.1));
        let possible = |change: &Change| {
            let point = change.of(centre);
            space.allows(&point) && !input.lost.contains(&&point)
        };
        let put_in = input.moves(centre).into_iter();
        let put_in = put_in.chain(forth.into_iter().map(|(change, _)| change));
        let mut changes: Vec<Change> = Vec::new();
        let put_in = put_in.filter(|change| !input.only_without && possible(change));
        for change in back.chain(put_in) {
            if changes.len() + 1 < most && !changes.iter().any(|other| other.is(&change)) {
                changes.push(change);
            }
        }
        let others = changes.iter().map(|change| change.of(centre));
        let arms: Vec<Point> = std::iter::once(centre.clone()).chain(others).collect();
        (arms.len() > 1).then(|| Ablation {
            race: Race::new(Stage::Ablation, arms, blocks, input.objective),
            centre: centre.clone(),
            baseline,
            changes,
        })
    }

    /// What every change does, as far as it is known, the best first. `variance`: of one trial's score.
    fn worths(&self, effects: &[Effect], variance: f64) -> Vec<Worth<'_>> {
        let changes = self.changes.iter().enumerate();
        let mut worths: Vec<Worth<'_>> = changes
            .filter_map(|(nth, change)| self.worth(nth, change, effects, variance))
            .collect();
        worths.small_sort_by(|a, b| b.estimate.total_cmp(&a.estimate));
        worths
    }

    fn worth<'c>(
        &self,
        nth: usize,
        change: &'c Change,
        effects: &[Effect],
        variance: f64,
    ) -> Option<Worth<'c>> {
        let here = self.race.ahead(nth + 1, 0)?;
        let certainty = self.race.gaps(nth + 1, 0).len() as f64 / (2.0 * variance);
        let screened = change.single().and_then(|(factor, level)| {
            let effect = effects.iter().find(|effect| effect.factor == factor)?;
            Some((effect.score?, level != self.baseline.0[factor]))
        });
        let average = screened.map(|(score, forth)| {
            let estimate = if forth {
                score.estimate
            } else {
                -score.estimate
            };
            (
                estimate,
                1.0 / (score.standard_error.powi(2) + CONTEXT.powi(2)),
            )
        });
        let (average, weight) = average.unwrap_or((0.0, 0.0));
        Some(Worth {
            change,
            estimate: (here * certainty + average * weight) / (certainty + weight),
            standard_error: (certainty + weight).sqrt().recip(),
            memory: match (self.race.log_memory(nth + 1), self.race.log_memory(0)) {
                (Some(there), Some(here)) => there - here,
                _ => 0.0,
            },
            likely: self.race.standing(nth + 1).is_some_and(Standing::likely),
        })
    }

    /// The configurations that this suggests, the centre first: with what seems to help, and without what seems to bring
    /// nothing; `tolerance` bounds what the latter may cost together.
    pub fn suggested(
        &self,
        effects: &[Effect],
        variance: f64,
        tolerance: f64,
        limit: Option<f64>,
        space: &Space,
    ) -> Vec<Point> {
        let worths = self.worths(effects, variance);
        let mut suggested = vec![self.centre.clone()];
        let mut suggest = |point: &Point| {
            if !suggested.contains(point) {
                suggested.push(point.clone());
            }
        };
        let single = worths
            .iter()
            .find(|worth| worth.likely && worth.believed() > 0.0);
        if let Some(single) = single {
            suggest(&single.change.of(&self.centre));
        }
        let rooms = limit.map_or(vec![f64::INFINITY], |limit| {
            let free = limit - self.race.log_memory(0).unwrap_or(limit);
            vec![free, free - ROOM]
        });
        let mut done = Vec::new();
        for room in rooms {
            done = self.best_sum(&worths, room, space);
            suggest(&self.together(&done));
        }
        let better = self.together(&done);
        let mut lost = 0.0;
        let mut leaner = better.clone();
        for worth in worths.iter().filter(|worth| worth.likely) {
            let Some(factor) = worth.change.takes_out(&self.baseline) else {
                continue;
            };
            let stays = done
                .iter()
                .any(|done| done.change.contradicts(worth.change));
            // An allocator without the options that are out already.
            let nested = done.iter().filter(|done| done.change.within(worth.change));
            let nested: f64 = nested.map(|done| done.estimate).sum();
            let costs = (nested - worth.estimate).max(0.0);
            let next = worth.change.of(&leaner);
            if stays || next == leaner || self.saves(factor) || !space.allows(&next) {
                continue;
            }
            if lost + costs <= tolerance {
                lost += costs;
                done.push(worth);
                // The one that costs least by itself, should all together cost more than their sum.
                if leaner == better {
                    suggest(&next);
                }
                leaner = next;
            }
        }
        suggest(&leaner);
        suggested
    }

    /// The changes of which most is believed together, among those that need no more memory than there is room for.
    fn best_sum<'w>(
        &self,
        worths: &'w [Worth<'w>],
        room: f64,
        space: &Space,
    ) -> Vec<&'w Worth<'w>> {
        let useful: Vec<&Worth<'_>> = worths
            .iter()
            .filter(|worth| worth.believed() > 0.0 || (room.is_finite() && worth.memory < 0.0))
            .take(MOST_SUMMED)
            .collect();
        let mut best = (0.0, Vec::new());
        for subset in 1_u32..1 << useful.len() {
            let chosen = || {
                let nth = 0..useful.len();
                nth.filter(move |nth| subset >> nth & 1 == 1)
                    .map(|nth| useful[nth])
            };
            let believed: f64 = chosen().map(Worth::believed).sum();
            let memory: f64 = chosen().map(|worth| worth.memory).sum();
            let needs_room = room.is_finite() && memory > room.max(0.0);
            if believed <= best.0 || needs_room {
                continue;
            }
            let mut factors: Vec<usize> =
                chosen().flat_map(|worth| worth.change.factors()).collect();
            let touched = factors.len();
            factors.sort_unstable();
            factors.dedup();
            // Two that bring the same are not summed: what that brings would count twice.
            let all: Vec<&Worth<'_>> = chosen().collect();
            if touched == factors.len() && space.allows(&self.together(&all)) {
                best = (believed, all);
            }
        }
        best.1
    }

    /// The centre with all of these changes.
    fn together(&self, all: &[&Worth<'_>]) -> Point {
        let one = |point: Point, worth: &&Worth<'_>| worth.change.of(&point);
        all.iter().fold(self.centre.clone(), one)
    }

    /// Whether the centre without this change needs more memory in every block than with it in any, or more processes.
    pub fn saves(&self, factor: usize) -> bool {
        let Some(nth) = self
            .changes
            .iter()
            .position(|change| change.takes_out(&self.baseline) == Some(factor))
        else {
            return false;
        };
        let with = choose::size(&self.race.seen(0));
        let without = choose::size(&self.race.seen(nth + 1));
        let clear = with.pss.high < without.pss.low && without.pss.low < f64::MAX;
        clear || with.processes < without.processes
    }

    /// The explanation: each change of the centre with what it brings. `winner`: what is confirmed.
    pub fn steps(&self, winner: &Point, margin: f64, alpha: f64) -> Vec<Step> {
        let changes = self.changes.iter().enumerate();
        changes
            .filter_map(|(nth, change)| {
                let factor = change.takes_out(&self.baseline)?;
                // One change at a time: an allocator in addition to the centre without its option, where that ran.
                let with = match change.single() {
                    Some(_) => 0,
                    None => {
                        let rest = change.rest();
                        1 + self.changes.iter().position(|other| other.is(&rest))?
                    }
                };
                Some((factor, with, nth + 1))
            })
            .map(|(factor, with, without)| {
                let gaps = self.race.gaps(with, without);
                let pairs: Vec<(f64, f64)> = gaps.iter().map(|gap| (1.0, gap.exp())).collect();
                let rule = Rule {
                    margin,
                    alpha,
                    overall: alpha,
                    allowance: 0.0,
                    better: Better::Higher,
                };
                let judged = stats::compare(&pairs, &rule).ok();
                let interval = judged.as_ref().and_then(|judged| judged.interval);
                Step {
                    factor,
                    from: self.baseline.0[factor],
                    to: self.centre.0[factor],
                    ratio: judged.as_ref().map(|judged| judged.ratio),
                    low: interval.map(|i| i.low),
                    high: interval.map(|i| i.high),
                    blocks: gaps.len() as u32,
                    kept: winner.0[factor] == self.centre.0[factor],
                }
            })
            .collect()
    }
}

impl AblationInput<'_> {
    /// The levels that the centre has not, each with what the screen promises of it.
    fn untried(&self, factor: usize, centre: &Point) -> Vec<(Change, f64)> {
        let at = centre.0[factor];
        let effect = self.effects.iter().find(|effect| effect.factor == factor);
        let levels: Vec<usize> = match self.space.factors[factor].how {
            How::Modelled => {
                let steps = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
                steps
                    .filter(|&level| !self.far_behind(centre, factor, level))
                    .collect()
            }
            How::Raced => (0..self.space.factors[factor].levels.len()).collect(),
            How::Screened => match effect.map(|effect| effect.found) {
                Some(Found::Fails | Found::NotPossible | Found::BreaksALimit) => Vec::new(),
                // Here it may be otherwise, but not by so much.
                Some(Found::Harms) if self.hopeless(effect) => Vec::new(),
                _ => vec![self.space.alternative(factor)],
            },
        };
        let promises = effect
            .and_then(|e| e.score)
            .map_or(0.0, |score| score.estimate);
        let others = levels.into_iter().filter(|level| *level != at);
        let change = |level| Some((Change::to(self.space, centre, factor, level)?, promises));
        others.filter_map(change).collect()
    }

    /// Whether a step was tried with all else as it is today, and lost by more than what else there is could make good.
    fn far_behind(&self, centre: &Point, factor: usize, level: usize) -> bool {
        let here = self.bare(centre);
        let known = |point: &Point| self.known.iter().find(|known| known.point == *point);
        match (known(&here), known(&here.with(factor, level))) {
            (Some(here), Some(there)) => {
                there.ahead - here.ahead < -(self.margin.ln_1p() + CONTEXT)
            }
            _ => false,
        }
    }

    /// The point with all that is not modelled as it is today.
    fn bare(&self, point: &Point) -> Point {
        let baseline = self.space.baseline();
        let modelled = self.space.searched(How::Modelled);
        modelled.fold(baseline, |bare, factor| bare.with(factor, point.0[factor]))
    }

    /// Moves of more than a single step, the most promising first: where the model, or what was measured with all else as it
    /// is today, would go from here, now that it is known what memory is needed; and, where memory is limited, one step
    /// more of one thing for one less of another.
    fn moves(&self, centre: &Point) -> Vec<Change> {
        let here = self.bare(centre);
        let mut better: Vec<(f64, &Point)> = self
            .foreseen
            .iter()
            .map(|foreseen| &foreseen.point)
            .filter(|point| point.differing(&here).count() > 1)
            .filter_map(|point| Some((self.expected(&here, point)?, point)))
            .filter(|(ahead, _)| *ahead > 0.0)
            .collect();
        better.small_sort_by(|a, b| b.0.total_cmp(&a.0));
        let best = better.iter().take(MOVES);
        let mut moves: Vec<Change> = best
            .map(|(_, there)| Change::several(&here, there))
            .collect();
        if self.log_memory_limit.is_some() {
            moves.extend(self.traded(centre));
        }
        moves
    }

    /// How far a modelled point should be ahead of another, by what was measured of both or else by what was foreseen;
    /// `None` where nothing is known, or where the memory that it should need is out of the question.
    fn expected(&self, here: &Point, there: &Point) -> Option<f64> {
        let known = |point: &Point| self.known.iter().find(|known| known.point == *point);
        let foreseen = |point: &Point| self.foreseen.iter().find(|f| f.point == *point);
        let (ahead, memory) = match (known(here), known(there)) {
            (Some(here), Some(there)) => (
                there.ahead - here.ahead,
                there.log_memory.zip(here.log_memory),
            ),
            _ => {
                let (here, there) = (foreseen(here)?, foreseen(there)?);
                let ahead = there.log_score - here.log_score;
                (ahead, there.log_memory.zip(here.log_memory))
            }
        };
        let needed = memory.zip(self.log_memory);
        let needed = needed.map(|((there, here), now)| now + there - here);
        let fits = |(needed, limit)| needed <= limit + DOUBT;
        let fits = needed.zip(self.log_memory_limit).is_none_or(fits);
        fits.then_some(ahead)
    }

    fn traded(&self, centre: &Point) -> Vec<Change> {
        let modelled: Vec<usize> = self.space.searched(How::Modelled).collect();
        let mut traded = Vec::new();
        for &more in &modelled {
            for &less in modelled.iter().filter(|less| **less != more) {
                if let Some(lower) = centre.0[less].checked_sub(1) {
                    let there = centre.with(more, centre.0[more] + 1).with(less, lower);
                    traded.push(Change::several(centre, &there));
                }
            }
        }
        traded
    }

    fn hopeless(&self, effect: Option<&Effect>) -> bool {
        let score = effect.and_then(|effect| effect.score);
        score.is_some_and(|found| found.estimate + 2.0 * (found.standard_error + CONTEXT) < 0.0)
    }
}

#[cfg(test)]
mod tests;
