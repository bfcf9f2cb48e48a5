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
    #[error(
        "{rate_per_s} a second arrive, and {most_per_s} are the most that the servers can do: they would be busy {:.0} % of the time, and the queue would grow without end",
        100.0 * rate_per_s / most_per_s
    )]
    Saturated { rate_per_s: f64, most_per_s: f64 },
    #[error(
        "{different} different N are too few: the law has three parameters, so that {needed} are the least that can show whether it holds"
    )]
    TooFewPoints { different: usize, needed: usize },
    #[error(
        "what one alone would do is not known: throughput hardly grows over the whole range; measure at N = 1 too"
    )]
    NothingAtOne,
    #[error("no memory was observed: at least one measurement is needed to fit a model")]
    NoObservations,
    #[error("there is no request to simulate: at least one is needed")]
    NoRequests,
    #[error("{steps} steps are more than a simulation can hold: simulate fewer requests at once")]
    TooManySteps { steps: usize },
    #[error("a request arrived before the one ahead of it: put requests in the order of arrival")]
    ArrivalsRunBackwards,
    #[error("a request takes station {station} of {stations}: say how many may hold each station")]
    UnknownStation { station: u8, stations: usize },
    #[error("the simulation would last {years} years: give shorter steps or more cores")]
    TooLong { years: f64 },
    #[error(
        "{waiting} requests wait for each other's stations for ever: let all take the stations in one order"
    )]
    Deadlock { waiting: u64 },
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
