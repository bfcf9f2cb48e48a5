//! What the search makes of all its trials so far.

use super::Search;
use crate::prospects::Prospects;
use crate::risk::Risk;
use crate::surrogate::{Spread, Surrogate};
use crate::{Observation, Point, Standing};
use small_sort::SmallSort;
use stats::Scatter;

/// What is expected of a score before any trial; the trials change it.
const SCORE: Spread = Spread {
    modelled: 0.1,
    cell: 0.03,
    alone: 0.04,
    pair: 0.03,
    walk: 0.03,
    noise: 0.03,
};

/// The same of memory, which does not drift.
const MEMORY: Spread = Spread {
    modelled: 0.1,
    cell: 0.03,
    alone: 0.05,
    pair: 0.01,
    walk: 0.0,
    noise: 0.01,
};

/// The scatter of a trial's memory is taken to be within these.
const MEMORY_NOISE: (f64, f64) = (0.003, 0.03);

/// A point that ran, by what all trials say of it.
#[derive(Debug, Clone)]
pub struct Ranked {
    pub point: Point,
    /// How far it is behind the best, and the standard error of that.
    pub behind: f64,
    pub standard_error: f64,
}

impl Search {
    /// Fits the spreads to the trials so far.
    pub(super) fn fit(&mut self) {
        self.spreads = [None; 2];
        let fitted = self.beliefs(true).map(|prospects| {
            let memory = prospects.memory.as_ref().map(Surrogate::spread);
            [Some(prospects.score.spread()), memory]
        });
        self.spreads = fitted.unwrap_or_default();
    }

    /// `None` before any trial that has a score.
    pub(super) fn prospects(&self) -> Option<Prospects<'_>> {
        self.beliefs(false)
    }

    fn beliefs(&self, fit: bool) -> Option<Prospects<'_>> {
        let objective = self.rules.objective;
        let noise = |scatter: Scatter| scatter.variance().0.sqrt();
        let scores = self.figures(|seen| objective.score(seen));
        let foreseen = self.foreseen.iter().map(|f| (&f.point, f.log_score));
        let foreseen: Vec<(&Point, f64)> = foreseen.collect();
        let usual = Spread {
            noise: noise(self.scatter_of_scores()),
            ..SCORE
        };
        let spread = self.spreads[0].unwrap_or(usual);
        let score = Surrogate::of(&self.space, &foreseen, &scores, spread, fit)?;
        let memories = self.figures(|seen| seen.log_memory);
        let limit = self.rules.log_memory_limit.filter(|_| !memories.is_empty());
        let memory = limit.and_then(|_| {
            let foreseen = self.foreseen.iter();
            let foreseen: Vec<(&Point, f64)> = foreseen
                .filter_map(|f| Some((&f.point, f.log_memory?)))
                .collect();
            let usual = Spread {
                noise: noise(self.scatter[2]).clamp(MEMORY_NOISE.0, MEMORY_NOISE.1),
                ..MEMORY
            };
            let spread = self.spreads[1].unwrap_or(usual);
            Surrogate::of(&self.space, &foreseen, &memories, spread, fit)
        });
        let failed = self.evidence.iter().map(|t| (&t.point, t.seen.is_none()));
        Some(Prospects {
            space: &self.space,
            score,
            memory,
            risk: Risk::of(&self.space, failed),
            log_memory_limit: limit,
        })
    }

    fn figures(&self, of: impl Fn(&Observation) -> Option<f64>) -> Vec<(u32, &Point, f64)> {
        let measured = self.evidence.iter().filter_map(|trial| {
            let figure = of(trial.seen.as_ref()?)?;
            Some((trial.block, &trial.point, figure))
        });
        measured.collect()
    }

    /// Points that ran and seem to keep the limits; where none does, those that are not shown to break one.
    fn tried(&self) -> Vec<Point> {
        let of = |may: &dyn Fn(Standing) -> bool| -> Vec<Point> {
            let may = self
                .standings
                .iter()
                .filter(|(_, standing)| may(**standing));
            may.map(|(point, _)| point.clone()).collect()
        };
        let likely = of(&Standing::likely);
        match likely.is_empty() {
            true => of(&|standing| standing != Standing::Breaks),
            false => likely,
        }
    }

    /// The points that may be had, the best first.
    pub(super) fn ranked(&self, prospects: &Prospects<'_>) -> Vec<Ranked> {
        let points = self.tried();
        let mut believed = prospects.believed(&points);
        // With a limit of memory, its doubt has been taken off already.
        if prospects.log_memory_limit.is_none() {
            for (value, point) in believed.values.iter_mut().zip(&points) {
                if self.standings.get(point) != Some(&Standing::Meets) {
                    *value -= crate::choose::HANDICAP;
                }
            }
        }
        let values = &believed.values;
        let best = (0..points.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]));
        let Some(best) = best else {
            return Vec::new();
        };
        let points = points.into_iter().enumerate();
        let mut ranked: Vec<Ranked> = points
            .map(|(nth, point)| Ranked {
                point,
                behind: values[best] - values[nth],
                standard_error: believed.standard_error(nth, best),
            })
            .collect();
        ranked.small_sort_by(|a, b| a.behind.total_cmp(&b.behind));
        ranked
    }
}
