//! Two arms' units as observations for `stats::randomised`.

use crate::experiment::Experiment;
use crate::join::{Fleet, Slice, Unit};
use run::production::Ratio;
use stats::{Observation, Randomised, Redraws, randomised};

/// Assignments for each compared arm: the level of an interim look, divided by the number of arms, is then ten of them.
const DRAWS: u32 = 9_999;

/// The units of the first arm and of another one, without those that drew it while it was halted.
///
/// Once an arm is halted, no draw can give it any more, and permuting such draws would be wrong. So units of both arms that are first seen
/// at or after the first halted draw are left out.
pub(super) struct Pair<'a> {
    pub(super) units: Vec<&'a Unit>,
    treated: Vec<bool>,
    draws: u32,
    seed: u64,
}

impl<'a> Pair<'a> {
    pub(super) fn of(experiment: &Experiment, fleet: &'a Fleet, arm: usize) -> Pair<'a> {
        let halted = fleet.units.iter();
        let halted = halted.filter(|unit| unit.arm == arm && unit.label.halted.is_some());
        let halt = halted.map(|unit| unit.from).min();
        let ours = fleet.units.iter().filter(|unit| {
            unit.label.halted.is_none()
                && (unit.arm == 0 || unit.arm == arm)
                && halt.is_none_or(|halt| unit.from < halt)
        });
        let units: Vec<&Unit> = ours.collect();
        let digits = experiment.digest();
        // The same answer whenever the same series are read.
        let seed = u64::from_str_radix(&digits[..16], 16).unwrap_or_default();
        Pair {
            treated: units.iter().map(|unit| unit.arm == arm).collect(),
            units,
            draws: (experiment.arms.len() as u32 - 1) * (DRAWS + 1) - 1,
            seed: seed.wrapping_add(arm as u64),
        }
    }

    /// A figure of slices, as a logarithm with its weight, in the first slices of the experiment.
    pub(super) fn of_slices(
        &self,
        slices: usize,
        level: f64,
        figure: impl Fn(&Slice) -> Option<(f64, f64)>,
    ) -> Option<Randomised> {
        let observed = self.units.iter().enumerate().flat_map(|(unit, of)| {
            let within = of.slices.iter().filter(|slice| slice.index < slices);
            let figure = &figure;
            within.filter_map(move |slice| {
                let (outcome, weight) = figure(slice)?;
                let slice = slice.index;
                Some(Observation {
                    unit,
                    slice,
                    outcome,
                    weight,
                })
            })
        });
        self.judged(observed.collect(), level)
    }

    pub(super) fn judged(&self, observed: Vec<Observation>, level: f64) -> Option<Randomised> {
        let how = Redraws {
            draws: self.draws,
            seed: self.seed,
            level,
        };
        randomised(&observed, &self.treated, &how)
    }
}

/// Mean response time.
pub(super) fn response(slice: &Slice) -> Option<(f64, f64)> {
    let mean = slice.response_s / slice.requests;
    (mean > 0.0).then(|| (mean.ln(), slice.requests))
}

/// Requests; each slice counts the same.
pub(super) fn rate(slice: &Slice) -> Option<(f64, f64)> {
    (slice.requests > 0.0).then(|| (slice.requests.ln(), 1.0))
}

/// Memory at the end; each slice counts the same.
pub(super) fn memory(slice: &Slice) -> Option<(f64, f64)> {
    slice.memory_bytes.map(|bytes| (bytes.ln(), 1.0))
}

pub(super) fn ratio(of: &Randomised, level: f64) -> Ratio {
    Ratio {
        estimate: of.effect.exp(),
        low: of.interval.map(|(low, _)| low.exp()),
        high: of.interval.map(|(_, high)| high.exp()),
        p: of.p,
        confidence: 1.0 - level,
        draws_of_first: of.units.0 as u64,
        draws: of.units.1 as u64,
    }
}
