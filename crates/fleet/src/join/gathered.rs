//! The answers of Prometheus, by instance and step.

use crate::experiment::Experiment;
use crate::query::{Family, Query, slices_of_tail};
use crate::series::Answered;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// A number for each step; NaN where there is none.
type Steps = Vec<f64>;

/// An upper bound of a histogram in seconds. Prometheus writes the same one as `1` or `1.0`, depending on its version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound(f64);

impl Bound {
    /// `None` if the text is not a positive number.
    pub(crate) fn parse(text: &str) -> Option<Bound> {
        let value: f64 = text.parse().ok()?;
        (value > 0.0).then_some(Bound(value))
    }

    pub(crate) fn seconds(self) -> f64 {
        self.0
    }
}

impl Ord for Bound {
    fn cmp(&self, other: &Bound) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Bound {
    fn partial_cmp(&self, other: &Bound) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bound {
    fn eq(&self, other: &Bound) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Bound {}

/// The ends of slices at which an arm was seen, by instance and the text of the label.
pub(super) type Seen = BTreeMap<String, BTreeMap<String, BTreeSet<usize>>>;

/// The answers to all queries.
#[derive(Debug, Clone, Default)]
pub struct Gathered {
    starts_s: i64,
    slice_s: i64,
    tail_s: i64,
    pub(super) arms: Seen,
    numbers: BTreeMap<Family, BTreeMap<String, Steps>>,
    /// By instance, then by the bound.
    buckets: BTreeMap<String, BTreeMap<Bound, Steps>>,
    /// Warnings of Prometheus.
    pub(super) warnings: BTreeSet<String>,
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

    /// Whether no instance has a series of a family; for [`Family::Arms`], an arm of the experiment.
    pub fn is_without(&self, family: Family) -> bool {
        match family {
            Family::Arms => self.arms.is_empty(),
            Family::Buckets => self.buckets.is_empty(),
            family => self.numbers.get(&family).is_none_or(BTreeMap::is_empty),
        }
    }

    /// Adds the answer to a query.
    pub fn add(&mut self, query: &Query, answer: Answered) {
        self.warnings.extend(answer.warnings);
        let step_s = match query.family {
            Family::Buckets => self.tail_s,
            _ => self.slice_s,
        };
        let first = ((query.span.from_s - self.starts_s) / step_s.max(1)).max(0) as usize;
        for series in answer.series {
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
                    let Some(bound) = Bound::parse(&label("le")) else {
                        continue;
                    };
                    let bounds = self.buckets.entry(instance).or_default();
                    put(bounds.entry(bound).or_default(), points);
                }
                family => {
                    let of = self.numbers.entry(family).or_default();
                    put(of.entry(instance).or_default(), points);
                }
            }
        }
    }

    /// What is known of an instance, which is then gone from here.
    pub(super) fn take(&mut self, instance: &str) -> Figures {
        Figures {
            numbers: Family::NUMBERS.map(|family| self.numbers.get_mut(&family)?.remove(instance)),
            buckets: self.buckets.remove(instance),
        }
    }

    /// All bounds, sorted; without histograms, none.
    pub(super) fn bounds(&self) -> Vec<f64> {
        let all: BTreeSet<&Bound> = self.buckets.values().flat_map(BTreeMap::keys).collect();
        all.into_iter().map(|bound| bound.seconds()).collect()
    }
}

/// The numbers and the histogram of one instance.
#[derive(Debug)]
pub(super) struct Figures {
    /// In the order of [`Family::NUMBERS`].
    numbers: [Option<Steps>; Family::NUMBERS.len()],
    buckets: Option<BTreeMap<Bound, Steps>>,
}

impl Figures {
    fn steps(&self, family: Family) -> Option<&Steps> {
        let place = Family::NUMBERS.iter().position(|other| *other == family)?;
        self.numbers[place].as_ref()
    }

    /// Whether there is a series of a family.
    pub(super) fn has(&self, family: Family) -> bool {
        self.steps(family).is_some()
    }

    pub(super) fn number(&self, family: Family, step: usize) -> Option<f64> {
        let value = *self.steps(family)?.get(step)?;
        (!value.is_nan()).then_some(value)
    }

    /// Requests between neighbouring bounds in a longer slice. `None` with a hole or a reset, and if the instance has other bounds,
    /// because its buckets cannot be assigned to these.
    pub(super) fn counts(&self, index: usize, bounds: &[f64]) -> Option<Vec<f64>> {
        let buckets = self.buckets.as_ref()?;
        if !buckets
            .keys()
            .map(|bound| bound.seconds())
            .eq(bounds.iter().copied())
        {
            return None;
        }
        let mut below = 0.0;
        let counts = buckets.values().map(|steps| {
            let up_to = *steps.get(index + 1)? - *steps.get(index)?;
            if up_to.is_nan() || up_to < 0.0 {
                return None;
            }
            let own = f64::max(up_to - below, 0.0);
            below = up_to;
            Some(own)
        });
        counts.collect()
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
