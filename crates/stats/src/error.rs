//! What a caller can hand over that no statistic can be computed from.

use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Error)]
pub enum StatsError {
    #[error("no samples: at least one is needed")]
    NoSamples,
    #[error("sample {index} is {value}: every sample must be a finite number")]
    NotFinite { index: usize, value: f64 },
    #[error(
        "block {index} pairs {baseline} with {candidate}: a ratio needs finite values above 0; \
         leave a failed trial's block out instead of passing 0"
    )]
    NotPositive {
        index: usize,
        baseline: f64,
        candidate: f64,
    },
    #[error("{name} is {value}: it must lie in {limits}")]
    OutOfRange {
        name: &'static str,
        value: f64,
        limits: &'static str,
    },
    #[error(
        "block {index} has {violations} violations among {total} requests: more than there were"
    )]
    TooManyViolations {
        index: usize,
        violations: u64,
        total: u64,
    },
}

/// `value`, when it lies strictly between `low` and `high`.
pub(crate) fn within(
    name: &'static str,
    value: f64,
    (low, high): (f64, f64),
    limits: &'static str,
) -> Result<f64, StatsError> {
    if value > low && value < high {
        Ok(value)
    } else {
        Err(StatsError::OutOfRange {
            name,
            value,
            limits,
        })
    }
}
