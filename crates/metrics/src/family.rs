//! Families of series with their samples, before they are written in one text or another.

use exposition::{EXPONENTS, bound_ns};

use crate::row::Buckets;

/// Labels in the order in which they are written.
pub type Labels = Vec<(&'static str, String)>;

/// What the samples of a family are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Counter,
    Gauge,
    Histogram,
}

impl Type {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
            Type::Histogram => "histogram",
        }
    }
}

/// Samples of one name. The name is Prometheus', with its prefix, unit and suffix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    pub name: String,
    pub help: String,
    pub kind: Type,
    pub samples: Vec<Sample>,
}

/// One series' present value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    pub labels: Labels,
    pub value: Value,
}

/// What a sample says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Number(u64),
    /// Shown in seconds.
    Nanoseconds(u64),
    Durations(Durations),
}

/// A histogram of durations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durations {
    /// Each bound in nanoseconds, and how many there are up to it.
    pub up_to: Vec<(u64, u64)>,
    pub count: u64,
    pub sum_ns: u64,
}

impl Durations {
    /// At the bounds of all histograms, each of which is an edge of the file's buckets.
    pub(crate) fn of(buckets: &Buckets, sum_ns: u64) -> Self {
        Self {
            up_to: EXPONENTS
                .map(|exponent| (bound_ns(exponent), up_to(buckets, exponent)))
                .collect(),
            count: in_first(buckets, buckets.len()),
            sum_ns,
        }
    }
}

/// How many there are up to 2 to this power of a microsecond.
pub(crate) fn up_to(buckets: &Buckets, exponent: u32) -> u64 {
    in_first(buckets, 4 * (exponent as usize - 1))
}

/// How many there are in the first buckets of the file.
pub(crate) fn in_first(buckets: &Buckets, first: usize) -> u64 {
    buckets[..first]
        .iter()
        .fold(0, |sum: u64, n| sum.saturating_add(*n))
}

impl Family {
    /// One of ours, without samples; `name` is without the prefix.
    pub(crate) fn new(name: &str, kind: Type, help: &str) -> Self {
        Self::of_others(&format!("powerband_{name}"), kind, help)
    }

    /// One whose whole name others have given.
    pub(crate) fn of_others(name: &str, kind: Type, help: &str) -> Self {
        Self {
            name: name.to_owned(),
            help: help.to_owned(),
            kind,
            samples: Vec::new(),
        }
    }

    /// The version of the program that gives the other families.
    #[must_use]
    pub fn build_info(version: &str) -> Self {
        let help = "1, with the version of powerband.";
        let mut family = Self::new("build_info", Type::Gauge, help);
        family.number(vec![("version", version.to_owned())], 1);
        family
    }

    pub(crate) fn number(&mut self, labels: Labels, value: u64) {
        self.push(labels, Value::Number(value));
    }

    /// One that is not measured has no sample.
    pub(crate) fn counted(&mut self, labels: Labels, counter: &str, value: Option<u64>) {
        match value {
            Some(value) if counter.ends_with("_ns") => self.push(labels, Value::Nanoseconds(value)),
            Some(value) => self.number(labels, value),
            None => {}
        }
    }

    pub(crate) fn durations(&mut self, labels: Labels, durations: Durations) {
        self.push(labels, Value::Durations(durations));
    }

    fn push(&mut self, labels: Labels, value: Value) {
        self.samples.push(Sample { labels, value });
    }
}

/// No label, or one.
pub(crate) fn one(name: &'static str, value: &str) -> Labels {
    match name {
        "" => Vec::new(),
        name => vec![(name, value.to_owned())],
    }
}

/// Labels and one more.
pub(crate) fn with(labels: &Labels, name: &'static str, value: &str) -> Labels {
    let mut all = labels.clone();
    all.push((name, value.to_owned()));
    all
}
