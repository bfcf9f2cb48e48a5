//! What Prometheus answered, by instance and step.

use crate::experiment::Experiment;
use crate::query::{Family, Query, slices_of_tail};
use crate::series::Series;
use std::collections::{BTreeMap, BTreeSet};

/// A number for each step; NaN where there is none.
type Steps = Vec<f64>;

/// The answers to all queries.
#[derive(Debug, Clone, Default)]
pub struct Gathered {
    starts_s: i64,
    slice_s: i64,
    tail_s: i64,
    /// By instance and the text of the label.
    pub(super) arms: BTreeMap<String, BTreeMap<String, BTreeSet<usize>>>,
    numbers: BTreeMap<Family, BTreeMap<String, Steps>>,
    /// By instance, then by the bound as Prometheus writes it.
    buckets: BTreeMap<String, BTreeMap<String, Steps>>,
}

impl Gathered {
    /// Nothing yet.
    pub fn of(experiment: &Experiment) -> Gathered {
        Gathered {
            starts_s: experiment.starts_s,
            slice_s: experiment.slice_s,
            tail_s: experiment.slice_s * slices_of_tail(experiment) as i64,
            ..Gathered::default()
        }
    }

    /// Whether no instance has an arm of the experiment.
    pub fn is_without_arms(&self) -> bool {
        self.arms.is_empty()
    }

    /// Whether there is nothing of a family.
    pub fn is_without(&self, family: Family) -> bool {
        match family {
            Family::Arms => self.arms.is_empty(),
            Family::Buckets => self.buckets.is_empty(),
            family => self.numbers.get(&family).is_none_or(BTreeMap::is_empty),
        }
    }

    /// Adds the answer to a query.
    pub fn add(&mut self, query: &Query, answer: Vec<Series>) {
        let step_s = match query.family {
            Family::Buckets => self.tail_s,
            _ => self.slice_s,
        };
        let first = ((query.span.from_s - self.starts_s) / step_s.max(1)).max(0) as usize;
        for series in answer {
            let label = |name: &str| series.labels.get(name).cloned().unwrap_or_default();
            let instance = label("instance");
            let points = series
                .points
                .iter()
                .map(|(step, value)| (first + step, *value));
            match query.family {
                Family::Arms => {
                    let seen = self.arms.entry(instance).or_default();
                    let seen = seen.entry(label("arm")).or_default();
                    seen.extend(points.map(|(step, _)| step));
                }
                Family::Buckets => {
                    let bounds = self.buckets.entry(instance).or_default();
                    put(bounds.entry(label("le")).or_default(), points);
                }
                family => {
                    let of = self.numbers.entry(family).or_default();
                    put(of.entry(instance).or_default(), points);
                }
            }
        }
    }

    pub(super) fn number(&self, family: Family, instance: &str, step: usize) -> Option<f64> {
        let value = *self.numbers.get(&family)?.get(instance)?.get(step)?;
        (!value.is_nan()).then_some(value)
    }

    /// All bounds, sorted; without histograms, none.
    pub(super) fn bounds(&self) -> Vec<f64> {
        let texts: BTreeSet<&String> = self.buckets.values().flat_map(BTreeMap::keys).collect();
        let mut bounds: Vec<f64> = texts.into_iter().filter_map(|text| bound(text)).collect();
        bounds.sort_by(f64::total_cmp);
        bounds
    }

    /// Requests between neighbouring bounds in a longer slice; `None` with a hole or a reset.
    pub(super) fn counts(&self, instance: &str, index: usize) -> Option<Vec<f64>> {
        let mut cumulative: Vec<(f64, f64)> = Vec::new();
        for (text, steps) in self.buckets.get(instance)? {
            let (before, after) = (*steps.get(index)?, *steps.get(index + 1)?);
            let grown = after - before;
            if grown.is_nan() || grown < 0.0 {
                return None;
            }
            cumulative.push((bound(text)?, grown));
        }
        cumulative.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut below = 0.0;
        let counts = cumulative.into_iter().map(|(_, up_to)| {
            let own = f64::max(up_to - below, 0.0);
            below = up_to;
            own
        });
        Some(counts.collect())
    }
}

fn bound(text: &str) -> Option<f64> {
    match text {
        "+Inf" => Some(f64::INFINITY),
        text => text.parse().ok(),
    }
}

fn put(steps: &mut Steps, points: impl Iterator<Item = (usize, f64)>) {
    for (step, value) in points {
        if steps.len() <= step {
            steps.resize(step + 1, f64::NAN);
        }
        steps[step] = value;
    }
}
