//! What is predicted of a configuration.

use super::{Figures, Size};
use serde::{Deserialize, Serialize};

/// A configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Which.
    pub size: Size,
    /// Answers per second when it always has something to do.
    pub most_per_s: f64,
    /// The knee: the rate at which the mean response time is twice that of a request that comes alone.
    pub knee_per_s: f64,
    /// The highest rate that meets the objective; absent without one.
    pub objective: Option<AtObjective>,
    /// The rate at which to add capacity: 80 % of the knee, or of the rate that meets the objective where that is less.
    pub add_at_per_s: f64,
    /// Memory of all its processes, bytes; absent when not known.
    pub memory_bytes: Option<u64>,
    /// Whether it fits into the memory that was given; absent without a limit, or when not known.
    pub fits: Option<bool>,
    /// At each of the rates that were asked.
    pub rates: Vec<Rate>,
}

/// The highest rate that meets the objective, with a 90 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AtObjective {
    /// Per second; 0 when no rate meets it.
    pub rate_per_s: f64,
    /// The lower end of its interval.
    pub low_per_s: f64,
    /// The upper end.
    pub high_per_s: f64,
}

impl AtObjective {
    /// Whether a rate meets the objective; `None` within the interval.
    #[must_use]
    pub fn decides(&self, rate_per_s: f64) -> Option<bool> {
        match rate_per_s {
            rate if rate <= self.low_per_s => Some(true),
            rate if rate > self.high_per_s => Some(false),
            _ => None,
        }
    }
}

/// A configuration at one rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Arrivals per second, Poisson.
    pub rate_per_s: f64,
    /// What it answers; absent when more arrive than it can do.
    pub answer: Option<Answer>,
    /// Whether it is at most the highest rate that meets the objective; undecided where it lies within that rate's interval.
    /// Absent without an objective.
    pub meets: Option<bool>,
}

/// What a configuration answers. Means are of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Throughput and response times.
    pub figures: Figures,
    /// The lower end of the 90 % interval of each.
    pub low: Figures,
    /// The upper end.
    pub high: Figures,
    /// Before a thread began, ms.
    pub queue_ms: f64,
    /// Waiting for the GVL since, ms.
    pub gvl_wait_ms: f64,
    /// Waiting for a core since, ms.
    pub core_wait_ms: f64,
    /// CPU time of all threads, the server's own included, ms.
    pub cpu_ms: f64,
    /// Share of the time that a process's GVL is held.
    pub utilisation_gvl: f64,
    /// Share of the cores, or of the quota where that is less, that computes.
    pub utilisation_cores: f64,
    /// Share of the time that a serving thread has a request.
    pub utilisation_threads: f64,
}
