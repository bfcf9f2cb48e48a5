//! The metric of a comparison.

use serde::{Deserialize, Serialize};

/// What was compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Good answers per second in the saturation window.
    Capacity,
    /// Seconds that a command took.
    WallTime,
    /// Median of the samples of a command's memory.
    MedianMemory,
    /// The largest of these samples.
    PeakMemory,
    /// p95 of the response time at the common rate.
    ResponseTime,
    /// Proportional set size of the process tree, the largest that was sampled.
    Memory,
    /// Processes that run the application.
    Processes,
}

impl Metric {
    /// Whether less of it is better: of all but throughput.
    pub fn less_is_better(self) -> bool {
        self != Metric::Capacity
    }

    /// The words that tables show.
    pub fn words(self) -> &'static str {
        match self {
            Metric::Capacity => "throughput",
            Metric::WallTime => "wall time",
            Metric::MedianMemory => "median memory",
            Metric::PeakMemory => "peak memory",
            Metric::ResponseTime => "p95 response time",
            Metric::Memory => "memory",
            Metric::Processes => "processes",
        }
    }
}
