//! The best configuration without each of its changes: what brings nothing is taken out again.
//!
//! It comes before the confirmation, so that what is confirmed, and claimed, is what will be run. Afterwards the reduced
//! configuration would need fresh blocks of its own.

use crate::race::Race;
use crate::{Effect, Objective, Point, Space, Stage, Step, choose};
use stats::{Better, Rule};

/// The winner of the race, and what was left of it.
#[derive(Debug, Clone)]
pub struct Ablation {
    pub race: Race,
    pub winner: Point,
    baseline: Point,
    /// The factor that each arm beside the first has back at today's level.
    without: Vec<usize>,
}

/// What one factor brings by two sorts of evidence may differ: the screen averages over the others, here they are as they
/// will be. As a standard deviation.
const CONTEXT: f64 = 0.02;

impl Ablation {
    /// `None` where there is nothing to take out: with a single change the confirmation is the same comparison.
    pub fn new(
        space: &Space,
        winner: &Point,
        effects: &[Effect],
        most: usize,
        blocks: u32,
        objective: Objective,
    ) -> Option<Ablation> {
        let baseline = space.baseline();
        let changed: Vec<usize> = winner.differing(&baseline).collect();
        if changed.len() < 2 {
            return None;
        }
        let mut without: Vec<usize> = changed
            .into_iter()
            .filter(|&factor| space.allows(&winner.with(factor, baseline.0[factor])))
            .collect();
        // The least certain first, should there be more than arms.
        let evidence = |factor: &usize| {
            let effect = effects.iter().find(|effect| effect.factor == *factor);
            let score = effect.and_then(|effect| effect.score);
            score.map_or(0.0, |found| found.estimate / found.standard_error)
        };
        without.sort_by(|a, b| evidence(a).total_cmp(&evidence(b)));
        without.truncate(most.saturating_sub(1));
        let reduced = without
            .iter()
            .map(|&factor| winner.with(factor, baseline.0[factor]));
        let arms: Vec<Point> = std::iter::once(winner.clone()).chain(reduced).collect();
        (arms.len() > 1).then(|| Ablation {
            race: Race::new(Stage::Ablation, arms, blocks, objective),
            winner: winner.clone(),
            baseline,
            without,
        })
    }

    /// What each change brings, the least first, as far as it is known.
    fn brings(&self, effects: &[Effect], variance: f64) -> Vec<(usize, f64)> {
        let mut brings: Vec<(usize, f64)> = self
            .without
            .iter()
            .enumerate()
            .filter(|(nth, _)| self.race.standing(nth + 1).is_some_and(|s| s.likely()))
            .filter_map(|(nth, &factor)| {
                let gaps = self.race.gaps(0, nth + 1).len();
                let here = self.race.ahead(0, nth + 1)?;
                let certainty = gaps as f64 / (2.0 * variance);
                let screened = effects.iter().find(|e| e.factor == factor);
                let average = screened.and_then(|effect| effect.score).map(|score| {
                    let spread = score.standard_error.powi(2) + CONTEXT.powi(2);
                    (score.estimate, 1.0 / spread)
                });
                let (sum, weight) = average.map_or((here * certainty, certainty), |(e, w)| {
                    (here * certainty + e * w, certainty + w)
                });
                Some((factor, sum / weight))
            })
            .collect();
        brings.sort_by(|a, b| a.1.total_cmp(&b.1));
        brings
    }

    /// Configurations with ever more taken out, the one with least first; without the winner itself. What they lose together
    /// stays within `tolerance`. A change that saves memory stays, whatever it does to the score.
    pub fn reduced(
        &self,
        effects: &[Effect],
        variance: f64,
        tolerance: f64,
        space: &Space,
    ) -> Vec<Point> {
        let (mut at, mut lost, mut found) = (self.winner.clone(), 0.0, Vec::new());
        for (factor, brings) in self.brings(effects, variance) {
            lost += f64::max(brings, 0.0);
            if lost > tolerance {
                break;
            }
            let next = at.with(factor, self.baseline.0[factor]);
            if self.saves_memory(factor) || !space.allows(&next) {
                lost -= f64::max(brings, 0.0);
                continue;
            }
            at = next;
            found.push(at.clone());
        }
        found
    }

    /// Whether the winner without this change needs more memory in every block than with it in any, or more processes.
    fn saves_memory(&self, factor: usize) -> bool {
        let Some(nth) = self.without.iter().position(|f| *f == factor) else {
            return false;
        };
        let with = choose::size(&self.race.seen(0));
        let without = choose::size(&self.race.seen(nth + 1));
        let clear = with.pss.high < without.pss.low && with.pss.high.is_finite();
        clear || with.processes < without.processes
    }

    /// The explanation: each change with what it brings. `winner`: what is confirmed.
    pub fn steps(&self, winner: &Point, margin: f64, alpha: f64) -> Vec<Step> {
        self.without
            .iter()
            .enumerate()
            .map(|(nth, &factor)| {
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
                    to: self.winner.0[factor],
                    ratio: judged.as_ref().map(|judged| judged.ratio),
                    low: interval.map(|i| i.low),
                    high: interval.map(|i| i.high),
                    blocks: gaps.len() as u32,
                    kept: winner.0[factor] == self.winner.0[factor],
                }
            })
            .collect()
    }
}
