//! The screen: factors of two levels, all at once, in pairs of opposite runs.
//!
//! A block is a run and its opposite. Their difference holds each main effect once and nothing that two factors do
//! together, and what drifts from block to block is not in it.

use crate::failures::{Culprit, Run, culprit};
use crate::least_squares::{Fit, fit};
use crate::{
    Block, Effect, Estimate, Found, Objective, Observation, Point, Space, Stage, Standing, design,
};
use stats::Scatter;
use std::collections::VecDeque;

/// One-sided level at which a factor is said to help.
const CREDIBLE: f64 = 0.05;

/// Share of runs with a factor that break a limit from which it is to blame, and of those without it up to which.
const MOSTLY: f64 = 0.75;

/// A pair that is still to be run.
#[derive(Debug, Clone)]
struct Pair {
    /// Which factors one of its runs changes; the other changes the others.
    changes: Vec<bool>,
    again: bool,
}

/// A run that succeeded, and its opposite that did.
#[derive(Debug, Clone)]
struct Measured {
    /// 1 where the first run changes the factor, -1 where the second does, 0 where it was no longer in the screen.
    signs: Vec<f64>,
    runs: [Observation; 2],
}

#[derive(Debug, Clone)]
pub struct Screen {
    centre: Point,
    /// Factors of the space, in the order of the design's columns.
    factors: Vec<usize>,
    /// By column: why it is no longer in the screen.
    out: Vec<Option<Found>>,
    queue: VecDeque<Pair>,
    runs: Vec<Run>,
    measured: Vec<Measured>,
    done: u32,
    objective: Objective,
    asked: [Point; 2],
    repeated: bool,
}

/// What a screen starts with.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    pub space: &'a Space,
    pub objective: Objective,
    pub seed: u64,
}

impl Screen {
    /// A screen round this point, or `None` where fewer than two factors can be screened: one is an arm of the race.
    pub fn new(setting: Setting<'_>, centre: &Point) -> Option<Screen> {
        let space = setting.space;
        let changed = |factors: &[usize]| {
            factors.iter().fold(centre.clone(), |point, &factor| {
                point.with(factor, space.alternative(factor))
            })
        };
        let factors: Vec<usize> = space.searched(crate::How::Screened).collect();
        let mut out: Vec<Option<Found>> = factors
            .iter()
            .map(|&f| (!space.allows(&changed(&[f]))).then_some(Found::NotPossible))
            .collect();
        for later in 0..factors.len() {
            let with = (0..later).find(|&earlier| {
                out[earlier].is_none()
                    && !space.allows(&changed(&[factors[earlier], factors[later]]))
            });
            if let (Some(earlier), None) = (with, out[later]) {
                out[later] = Some(Found::ConflictsWith(factors[earlier]));
            }
        }
        let mut screen = Screen {
            centre: centre.clone(),
            out,
            queue: VecDeque::new(),
            runs: Vec::new(),
            measured: Vec::new(),
            done: 0,
            objective: setting.objective,
            asked: [centre.clone(), centre.clone()],
            repeated: false,
            factors,
        };
        // Of three or more that do not go together, the last one stays away until no run has them all.
        loop {
            let columns = screen.columns();
            let pairs = design::pairs(columns.len(), setting.seed)?;
            screen.queue = screen.planned(&columns, pairs).into();
            let all_allowed = screen.queue.iter().all(|pair| {
                let [one, other] = screen.points(space, &pair.changes);
                space.allows(&one) && space.allows(&other)
            });
            match columns.last() {
                Some(_) if all_allowed && columns.len() >= 2 => break,
                Some(last) if !all_allowed => screen.out[*last] = Some(Found::NotPossible),
                _ => {
                    screen.queue.clear();
                    return None;
                }
            }
        }
        screen.prepare(space);
        Some(screen)
    }

    /// Columns still in the screen.
    fn columns(&self) -> Vec<usize> {
        let columns = 0..self.factors.len();
        columns.filter(|&c| self.out[c].is_none()).collect()
    }

    /// A run and its opposite; factors that are out stay as they are today in both.
    fn points(&self, space: &Space, changes: &[bool]) -> [Point; 2] {
        let of = |turned: bool| {
            let changed = self.columns().into_iter().filter(|&c| changes[c] != turned);
            changed.fold(self.centre.clone(), |point, c| {
                point.with(self.factors[c], space.alternative(self.factors[c]))
            })
        };
        [of(false), of(true)]
    }

    fn prepare(&mut self, space: &Space) {
        if let Some(pair) = self.queue.front() {
            self.asked = self.points(space, &pair.changes);
        }
    }

    pub fn block(&self) -> Option<Block> {
        let left = self.queue.len() as u32;
        (left > 0).then(|| Block {
            stage: Stage::Screen,
            number: self.done + 1,
            of: self.done + left,
            points: self.asked.to_vec(),
        })
    }

    /// Plans the screen a second time, of the factors that are still in it, with other columns. Not a third time, and not
    /// where there are fewer trials left.
    pub fn repeat(&mut self, left: u32, space: &Space, seed: u64) -> bool {
        let columns = self.columns();
        let pairs = design::pairs(columns.len(), !seed).unwrap_or_default();
        if self.repeated || columns.is_empty() || left < 2 * pairs.len() as u32 {
            return false;
        }
        self.repeated = true;
        // What goes together in some combinations need not in others.
        let mut planned = self.planned(&columns, pairs);
        planned.retain(|pair| {
            let [one, other] = self.points(space, &pair.changes);
            space.allows(&one) && space.allows(&other)
        });
        self.queue = planned.into();
        self.prepare(space);
        !self.queue.is_empty()
    }

    fn planned(&self, columns: &[usize], pairs: Vec<Vec<bool>>) -> Vec<Pair> {
        let planned = pairs.into_iter().map(|signs| {
            let mut changes = vec![false; self.factors.len()];
            for (column, sign) in columns.iter().zip(signs) {
                changes[*column] = sign;
            }
            Pair {
                changes,
                again: false,
            }
        });
        planned.collect()
    }

    /// Takes a pair. `spare`: trials beyond those planned that may still be spent on repeating lost ones.
    pub fn tell(&mut self, told: &[Option<Observation>], spare: u32, space: &Space) {
        let Some(pair) = self.queue.pop_front() else {
            return;
        };
        self.done += 1;
        let columns = self.columns();
        let scored =
            |seen: &Option<Observation>| seen.filter(|seen| self.objective.score(seen).is_some());
        for (turned, seen) in [false, true].into_iter().zip(told) {
            let changed = |c: usize| columns.contains(&c) && pair.changes[c] != turned;
            self.runs.push(Run {
                changed: (0..self.factors.len()).map(changed).collect(),
                failed: seen.is_none(),
            });
        }
        match (told.first().and_then(scored), told.get(1).and_then(scored)) {
            (Some(one), Some(other)) => {
                let sign = |c: usize| match (columns.contains(&c), pair.changes[c]) {
                    (false, _) => 0.0,
                    (true, true) => 1.0,
                    (true, false) => -1.0,
                };
                self.measured.push(Measured {
                    signs: (0..self.factors.len()).map(sign).collect(),
                    runs: [one, other],
                });
            }
            // Lost whichever of the two failed. Once more at the end, when it may be known why.
            _ if !pair.again && 2 <= spare => self.queue.push_back(Pair {
                again: true,
                ..pair
            }),
            _ => {}
        }
        self.blame();
        if self.columns().is_empty() {
            self.queue.clear();
        }
        self.prepare(space);
    }

    /// Takes out whatever the failures are put down to.
    fn blame(&mut self) {
        loop {
            let all = self.queue.iter().all(|pair| pair.again);
            match culprit(&self.runs, &self.columns(), all) {
                Some(Culprit::Factor(column)) => self.out[column] = Some(Found::Fails),
                Some(Culprit::Likely(column)) => self.out[column] = Some(Found::SeemsToFail),
                Some(Culprit::Pair(one, other)) => {
                    self.out[other] = Some(Found::ConflictsWith(self.factors[one]));
                }
                None => return,
            }
        }
    }

    /// The effects of all factors that were to be screened. `known`: how a trial's score, throughput, memory and latency
    /// scatter by other evidence.
    pub fn effects(&self, known: [Scatter; 4]) -> Vec<Effect> {
        let objective = self.objective;
        let [score, throughput, memory, latency] = [
            self.estimates(known[0], |seen| objective.score(seen)),
            self.estimates(known[1], |seen| Some(seen.log_throughput)),
            self.estimates(known[2], |seen| seen.log_memory),
            self.estimates(known[3], |seen| seen.log_latency),
        ];
        (0..self.factors.len())
            .map(|column| Effect {
                factor: self.factors[column],
                score: score[column],
                log_throughput: throughput[column],
                log_memory: memory[column],
                log_latency: latency[column],
                found: self.found(column, score[column]),
            })
            .collect()
    }

    fn estimates(
        &self,
        known: Scatter,
        of: impl Fn(&Observation) -> Option<f64>,
    ) -> Vec<Option<Estimate>> {
        let differences = self.measured.iter().filter_map(|pair| {
            let [one, other] = &pair.runs;
            Some((pair.signs.clone(), of(one)? - of(other)?))
        });
        let (rows, values): (Vec<Vec<f64>>, Vec<f64>) = differences.unzip();
        let Fit {
            mut coefficients,
            squares,
            freedom,
        } = fit(&rows, &values);
        coefficients.resize(self.factors.len(), None);
        // A difference has the variance of two trials.
        let own = Scatter {
            squares: squares / 2.0,
            freedom,
        };
        let (variance, freedom) = own.and(known).variance();
        coefficients
            .into_iter()
            .map(|told| {
                told.map(|told| Estimate {
                    estimate: told.estimate,
                    standard_error: (2.0 * variance / told.information).sqrt(),
                    freedom,
                })
            })
            .collect()
    }

    fn found(&self, column: usize, score: Option<Estimate>) -> Found {
        if let Some(out) = self.out[column] {
            return out;
        }
        if self.breaks_a_limit(column) {
            return Found::BreaksALimit;
        }
        let Some(Estimate {
            estimate,
            standard_error,
            freedom,
        }) = score
        else {
            return Found::Unknown;
        };
        let clear = stats::student_two_sided(2.0 * CREDIBLE, freedom.max(1)) * standard_error;
        if estimate > clear {
            Found::Helps
        } else if estimate > standard_error {
            Found::MayHelp
        } else if estimate < -standard_error {
            Found::Harms
        } else {
            Found::Nothing
        }
    }

    /// Where the limits are broken with the factor and kept without it.
    fn breaks_a_limit(&self, column: usize) -> bool {
        let broken = |changed: bool| {
            let runs = self.measured.iter().flat_map(|pair| {
                let first = pair.signs[column] > 0.0;
                let absent = pair.signs[column] == 0.0;
                [(first, pair.runs[0]), (!first && !absent, pair.runs[1])]
            });
            let of_these: Vec<bool> = runs
                .filter(|(with, _)| *with == changed)
                .map(|(_, run)| run.standing == Standing::Breaks)
                .collect();
            let broken = of_these.iter().filter(|broken| **broken).count();
            broken as f64 / of_these.len().max(1) as f64
        };
        broken(true) >= MOSTLY && broken(false) <= 1.0 - MOSTLY
    }

    /// The configuration that its runs change.
    pub fn centre(&self) -> &Point {
        &self.centre
    }
}

#[cfg(test)]
mod tests;
