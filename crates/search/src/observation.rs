//! What a trial has shown of a point.

use serde::{Deserialize, Serialize};

/// How a point stands to the limits by all its trials so far, that of the observation included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Shown to break one: its interval excludes the limit.
    Breaks,
    /// Not shown either way, and the estimate is beyond the limit, or there is none.
    SeemsToBreak,
    /// Not shown either way, and the estimate is within.
    SeemsToMeet,
    /// Shown to keep all, or there are none.
    Meets,
}

impl Standing {
    /// Whether the estimate keeps the limits: where nothing is claimed, that counts.
    pub fn likely(self) -> bool {
        self >= Standing::SeemsToMeet
    }
}

/// One trial. A trial that failed is no observation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Natural logarithms, in whatever unit, the same in every trial.
    pub log_throughput: f64,
    pub log_latency: Option<f64>,
    pub log_memory: Option<f64>,
    /// What the configuration runs with.
    pub processes: u32,
    pub threads: u32,
    pub standing: Standing,
}
