//! What no formula can be computed from.

use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Error)]
pub enum CapacityError {
    #[error("{name} is {value}: it must be {limits}")]
    OutOfRange {
        name: &'static str,
        value: f64,
        limits: &'static str,
    },
    #[error("the demand is empty: a request must hold the GVL, wait or compute for some time")]
    EmptyDemand,
    #[error(
        "the lock takes {lock_s} s of {io_s} s of waiting: it is a part of the I/O time and cannot exceed it"
    )]
    LockExceedsIo { lock_s: f64, io_s: f64 },
    #[error("no memory was observed: at least one measurement is needed to fit a model")]
    NoObservations,
}

/// `value`, when it is finite and at least 0.
pub(crate) fn at_least_0(name: &'static str, value: f64) -> Result<f64, CapacityError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    Err(CapacityError::OutOfRange {
        name,
        value,
        limits: "a finite number, 0 or more",
    })
}

/// `value`, when it is finite and above 0.
pub(crate) fn above_0(name: &'static str, value: f64) -> Result<f64, CapacityError> {
    if value.is_finite() && value > 0.0 {
        return Ok(value);
    }
    Err(CapacityError::OutOfRange {
        name,
        value,
        limits: "a finite number above 0",
    })
}
