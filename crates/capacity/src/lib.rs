//! Formulas that predict what a server configuration can do, a simulator of it
//! request by request ([`sim`]), and the search for the highest rate that a
//! running one does.
//!
//! Pure: no clock, no file, no network, no chance but from a seed. Measuring the demand, trying
//! the candidates, offering the rates and wording the advice are left to others.
//!
//! Every formula here, [`sim`] apart, holds a request's I/O time constant. That is wrong once
//! the database or an upstream slows down under the added threads: predictions
//! choose what is worth trying, and a trial decides. `docs/method.md` gives
//! each formula with its source, units and assumptions.

mod candidates;
mod demand;
mod error;
mod laws;
mod memory;
mod mva;
mod neighbours;
mod pool;
mod predict;
pub mod queue;
mod rate_search;
pub mod sim;
mod smallest;
mod usl;

pub use candidates::{
    Candidate, Grid, MemoryLimit, Scored, Why, candidates, cores_before_more, score,
};
pub use demand::{Config, Demand};
pub use error::CapacityError;
pub use laws::{
    Binding, Bounds, WORTH_ONE_MORE, amdahl, amdahl_enough, amdahl_gain, amdahl_limit,
    little_concurrency, little_response_s, throughput_bounds, useful_threads,
};
pub use memory::{Basis, MemoryModel, Observation, fit};
pub use mva::{Network, Station, solve};
pub use neighbours::neighbours;
pub use pool::{Busy, Connecting, Connections, Fleet, busy_connections, connections, pool_size};
pub use predict::{Prediction, predict};
pub use rate_search::{
    Ending, Purpose, RateBounds, RateGoal, RateSearch, RateStep, RateTrial, requests_to_be_sure,
};
pub use smallest::{Small, smallest_for};
pub use usl::{Interval, LEAST_POINTS, Measured, Usl, UslFit, UslIntervals, fit_usl};
