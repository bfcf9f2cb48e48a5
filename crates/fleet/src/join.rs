//! Series of Prometheus -> the figures of each unit in each slice, and what is left out.

mod arms;
mod gathered;
mod restarts;

pub(crate) use gathered::Bound;
use gathered::Figures;
pub use gathered::Gathered;

use crate::experiment::{Experiment, UnitKind};
use crate::label::Label;
use crate::query::{Family, slices_of_tail};
use arms::{Owner, by_instance};
use std::collections::{BTreeMap, BTreeSet};

/// The figures of a unit in a slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    /// Its number, from the start of the experiment.
    pub index: usize,
    pub requests: f64,
    pub errors: f64,
    /// Seconds of all requests together, in the application and in the queue before it.
    pub response_s: f64,
    /// The part in the queue; `None` if the instance has no such series.
    pub queue_s: Option<f64>,
    pub gvl_wait_s: Option<f64>,
    /// At its end.
    pub memory_bytes: Option<f64>,
}

/// A unit's response times in a longer slice.
#[derive(Debug, Clone, PartialEq)]
pub struct Tail {
    /// The slice at which it ends.
    pub until: usize,
    /// Requests up to each bound of [`Fleet::bounds`] and above the one before.
    pub counts: Vec<f64>,
}

/// An instance in the period of one draw.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// Prometheus' label `instance`.
    pub instance: String,
    pub label: Label,
    /// Place of the arm that was drawn.
    pub arm: usize,
    /// The slice in which it was seen first.
    pub from: usize,
    pub slices: Vec<Slice>,
    /// Its slices that are no evidence: not scraped, a counter went down, or no request ended.
    pub left_out: Vec<usize>,
    pub tails: Vec<Tail>,
    /// Ends of slices with a process that began again, and how many did.
    pub restarts: Vec<(usize, f64)>,
}

/// Slices that are not evidence, by the reason, and slices with something unusual.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Not scraped at one end or both, or vanished in between.
    pub holes: u64,
    /// A counter went down.
    pub resets: u64,
    /// The arm changed.
    pub restarts: u64,
    /// Two arms at once, kept as the arm that was there first.
    pub stragglers: u64,
    /// Two arms at once, left out.
    pub mixed: u64,
    /// Without a request.
    pub idle: u64,
    /// Instances with two arms at once.
    pub instances_with_two: BTreeSet<String>,
    /// Labels of arms that the experiment does not have.
    pub strangers: BTreeSet<String>,
}

/// The whole fleet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fleet {
    pub units: Vec<Unit>,
    /// Upper bounds of response times in seconds, the last one infinite.
    pub bounds: Vec<f64>,
    pub left_out: LeftOut,
    /// Warnings of Prometheus: figures may lack units or slices.
    pub warnings: BTreeSet<String>,
}

/// Joins the first slices of an experiment. What was gathered of an instance is freed as soon as it is joined, because both together take
/// gigabytes in a large fleet.
pub fn join(experiment: &Experiment, mut gathered: Gathered, slices: usize) -> Fleet {
    let mut fleet = Fleet {
        bounds: gathered.bounds(),
        warnings: std::mem::take(&mut gathered.warnings),
        ..Fleet::default()
    };
    let seen = std::mem::take(&mut gathered.arms);
    let arms = by_instance(&seen, experiment, &mut fleet.left_out.strangers);
    let tail = slices_of_tail(experiment);
    for (instance, running) in &arms {
        let figures = gathered.take(instance);
        let mut units: BTreeMap<usize, Unit> = BTreeMap::new();
        let ours = running.labels.iter().enumerate();
        for (place, (label, arm)) in ours {
            let Some(from) = running.first_seen(place).filter(|first| *first <= slices) else {
                continue;
            };
            let unit = Unit {
                instance: (*instance).to_owned(),
                label: label.clone(),
                arm: *arm,
                from,
                slices: Vec::new(),
                left_out: Vec::new(),
                tails: Vec::new(),
                restarts: restarts::of(&figures, running, place, slices),
            };
            units.insert(place, unit);
        }
        let whole_unit = experiment.unit != UnitKind::Process;
        let owners = (0..slices).map(|index| running.owner(index, whole_unit));
        let owners: Vec<Owner> = owners.collect();
        for (index, owner) in owners.iter().enumerate() {
            let place = match *owner {
                Owner::Nobody => continue,
                Owner::Vanished(place) => {
                    fleet.left_out.holes += 1;
                    if let Some(unit) = units.get_mut(&place) {
                        unit.left_out.push(index);
                    }
                    continue;
                }
                Owner::Changing => {
                    fleet.left_out.restarts += 1;
                    continue;
                }
                Owner::Several => {
                    fleet.left_out.mixed += 1;
                    fleet
                        .left_out
                        .instances_with_two
                        .insert((*instance).to_owned());
                    continue;
                }
                Owner::Straggler(place) => {
                    fleet.left_out.stragglers += 1;
                    fleet
                        .left_out
                        .instances_with_two
                        .insert((*instance).to_owned());
                    place
                }
                Owner::Alone(place) => place,
            };
            let Some(unit) = units.get_mut(&place) else {
                continue;
            };
            match slice(&figures, index) {
                Ok(slice) if slice.requests > 0.0 => {
                    unit.slices.push(slice);
                    continue;
                }
                Ok(_) => fleet.left_out.idle += 1,
                Err(Gap::Hole) => fleet.left_out.holes += 1,
                Err(Gap::Reset) => fleet.left_out.resets += 1,
            }
            unit.left_out.push(index);
        }
        for index in 0..slices / tail {
            let until = (index + 1) * tail;
            let mut whole = owners[index * tail..until]
                .iter()
                .map(|owner| owner.place());
            let Some(place) = whole
                .next()
                .flatten()
                .filter(|first| whole.all(|other| other == Some(*first)))
            else {
                continue;
            };
            if let (Some(unit), Some(counts)) =
                (units.get_mut(&place), figures.counts(index, &fleet.bounds))
            {
                unit.tails.push(Tail { until, counts });
            }
        }
        fleet.units.extend(units.into_values());
    }
    fleet
}

enum Gap {
    Hole,
    Reset,
}

fn slice(figures: &Figures, index: usize) -> Result<Slice, Gap> {
    let at = |family: Family, index: usize| figures.number(family, index);
    let grown = |family: Family| {
        let (before, after) = (at(family, index), at(family, index + 1));
        match before.zip(after) {
            None => Err(Gap::Hole),
            Some((before, after)) if after < before => Err(Gap::Reset),
            Some((before, after)) => Ok(after - before),
        }
    };
    // The response time contains the queue in all slices of an instance or in none.
    let queue_s = match figures.has(Family::Queue) {
        true => Some(grown(Family::Queue)?),
        false => None,
    };
    let gvl_wait_s = match grown(Family::GvlWait) {
        Err(Gap::Hole) => None,
        other => Some(other?),
    };
    Ok(Slice {
        index,
        requests: grown(Family::Requests)?,
        errors: grown(Family::Errors)?,
        response_s: grown(Family::Duration)? + queue_s.unwrap_or(0.0),
        queue_s,
        gvl_wait_s,
        memory_bytes: at(Family::Memory, index + 1).filter(|bytes| *bytes > 0.0),
    })
}

#[cfg(test)]
mod tests;
