//! The best so far and what lies one change away from it: without each of its changes, and with each that it has not.
//!
//! Without them it is an ablation: what brings nothing is taken out again, and what brings something is the explanation.
//! With them it mends what sums of effects got wrong, because what was left out for its noise, or for what it does in other
//! company, is measured once more in the company that it will have. All this comes before the confirmation, so that what
//! is confirmed, and claimed, is what will be run.

use crate::race::Race;
use crate::{Effect, Found, How, Objective, Point, Space, Stage, Standing, Step, choose};
use stats::{Better, Rule};

/// One arm beside the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    factor: usize,
    level: usize,
}

/// What a change does to the score, in logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Worth {
    change: Change,
    estimate: f64,
    standard_error: f64,
}

#[derive(Debug, Clone)]
pub struct Around {
    pub race: Race,
    pub centre: Point,
    baseline: Point,
    changes: Vec<Change>,
}

/// What decides which changes are worth an arm.
#[derive(Debug, Clone, Copy)]
pub struct Vicinity<'a> {
    pub space: &'a Space,
    pub effects: &'a [Effect],
    /// What has lost a race already.
    pub lost: &'a [&'a Point],
    /// Memory of the centre, and its limit, as logarithms.
    pub log_memory: Option<f64>,
    pub log_memory_limit: Option<f64>,
    pub objective: Objective,
}

/// What one factor does by two sorts of evidence may differ: the screen averages over the others, here they are as they
/// will be. As a standard deviation.
const CONTEXT: f64 = 0.03;

impl Around {
    /// `None` where nothing is to be tried. At most so many arms, the centre included.
    pub fn new(vicinity: Vicinity<'_>, centre: &Point, most: usize, blocks: u32) -> Option<Around> {
        let space = vicinity.space;
        let baseline = space.baseline();
        let back: Vec<Change> = centre
            .differing(&baseline)
            .map(|factor| Change {
                factor,
                level: baseline.0[factor],
            })
            .collect();
        // With a single change the confirmation is the same comparison.
        let back = if back.len() > 1 { back } else { Vec::new() };
        let mut forth: Vec<(Change, f64)> = (0..space.factors.len())
            .flat_map(|factor| vicinity.untried(factor, centre))
            .filter(|(change, _)| !back.contains(change))
            .collect();
        forth.sort_by(|a, b| b.1.total_cmp(&a.1));
        let possible = |change: &Change| {
            let point = centre.with(change.factor, change.level);
            space.allows(&point) && !vicinity.lost.contains(&&point)
        };
        let taken_out = back
            .into_iter()
            .filter(|change| space.allows(&centre.with(change.factor, change.level)));
        let put_in = forth.into_iter().map(|(change, _)| change).filter(possible);
        let changes: Vec<Change> = taken_out
            .chain(put_in)
            .take(most.saturating_sub(1))
            .collect();
        let others = changes.iter().map(|c| centre.with(c.factor, c.level));
        let arms: Vec<Point> = std::iter::once(centre.clone()).chain(others).collect();
        (arms.len() > 1).then(|| Around {
            race: Race::new(Stage::Around, arms, blocks, vicinity.objective),
            centre: centre.clone(),
            baseline,
            changes,
        })
    }

    /// What every change does, as far as it is known. `variance`: of one trial's score.
    fn worths(&self, effects: &[Effect], variance: f64) -> Vec<Worth> {
        let worth = |(nth, &change): (usize, &Change)| {
            let arm = nth + 1;
            let here = self.race.ahead(arm, 0)?;
            let certainty = self.race.gaps(arm, 0).len() as f64 / (2.0 * variance);
            let screened = effects.iter().find(|effect| effect.factor == change.factor);
            let average = screened.and_then(|effect| effect.score).map(|score| {
                let forth = change.level != self.baseline.0[change.factor];
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
            })
        };
        let mut worths: Vec<Worth> = self
            .changes
            .iter()
            .enumerate()
            .filter(|(nth, _)| self.race.standing(nth + 1).is_some_and(Standing::likely))
            .filter_map(worth)
            .collect();
        worths.sort_by(|a, b| b.estimate.total_cmp(&a.estimate));
        worths
    }

    /// The configurations that this suggests, the centre first: with what seems to help, and without what seems to bring
    /// nothing; `tolerance` bounds what the latter may cost together.
    pub fn suggested(
        &self,
        effects: &[Effect],
        variance: f64,
        tolerance: f64,
        space: &Space,
    ) -> Vec<Point> {
        let worths = self.worths(effects, variance);
        let mut suggested = vec![self.centre.clone()];
        let mut suggest = |point: &Point| {
            if !suggested.contains(point) {
                suggested.push(point.clone());
            }
        };
        let mut better = self.centre.clone();
        let helps = worths.iter().filter(|w| w.estimate > w.standard_error);
        let mut changed = Vec::new();
        for Worth { change, .. } in helps {
            let next = better.with(change.factor, change.level);
            if !changed.contains(&change.factor) && space.allows(&next) {
                changed.push(change.factor);
                better = next;
                if changed.len() == 1 {
                    suggest(&better);
                }
            }
        }
        suggest(&better);
        let mut lost = 0.0;
        let mut leaner = better.clone();
        for worth in &worths {
            let Change { factor, level } = worth.change;
            let taken_out = level == self.baseline.0[factor] && !changed.contains(&factor);
            let costs = (-worth.estimate).max(0.0);
            let next = leaner.with(factor, level);
            if taken_out && lost + costs <= tolerance && !self.saves(factor) && space.allows(&next)
            {
                lost += costs;
                leaner = next;
                // The one that costs least, should all together cost more than their sum.
                if lost == costs {
                    suggest(&leaner);
                }
            }
        }
        suggest(&leaner);
        suggested
    }

    /// Whether the centre without this change needs more memory in every block than with it in any, or more processes.
    fn saves(&self, factor: usize) -> bool {
        let Some(nth) = self.changes.iter().position(|c| c.factor == factor) else {
            return false;
        };
        let with = choose::size(&self.race.seen(0));
        let without = choose::size(&self.race.seen(nth + 1));
        let clear = with.pss.high < without.pss.low && without.pss.low < f64::MAX;
        clear || with.processes < without.processes
    }

    /// The explanation: each change of the centre with what it brings. `winner`: what is confirmed.
    pub fn steps(&self, winner: &Point, margin: f64, alpha: f64) -> Vec<Step> {
        let back = |change: &Change| change.level == self.baseline.0[change.factor];
        let changes = self.changes.iter().enumerate();
        changes
            .filter(|(_, change)| back(change))
            .map(|(nth, &Change { factor, .. })| {
                let gaps = self.race.gaps(0, nth + 1);
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

impl Vicinity<'_> {
    /// The levels that the centre has not, each with what the screen promises of it.
    fn untried(&self, factor: usize, centre: &Point) -> Vec<(Change, f64)> {
        let at = centre.0[factor];
        let effect = self.effects.iter().find(|effect| effect.factor == factor);
        let levels: Vec<usize> = match self.space.factors[factor].how {
            How::Modelled => [at.checked_sub(1), Some(at + 1)]
                .into_iter()
                .flatten()
                .collect(),
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
        let fits = |_: &usize| match (self.log_memory, self.log_memory_limit) {
            (Some(memory), Some(limit)) => {
                let more = effect
                    .and_then(|e| e.log_memory)
                    .map_or(0.0, |m| m.estimate);
                memory + more <= limit
            }
            _ => true,
        };
        levels
            .into_iter()
            .filter(|level| *level != at)
            .filter(fits)
            .map(|level| (Change { factor, level }, promises))
            .collect()
    }

    fn hopeless(&self, effect: Option<&Effect>) -> bool {
        let score = effect.and_then(|effect| effect.score);
        score.is_some_and(|found| found.estimate + 2.0 * (found.standard_error + CONTEXT) < 0.0)
    }
}
