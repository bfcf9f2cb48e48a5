//! Formulas that predict what a server configuration can do.
//!
//! Pure: no clock, no file, no network, no chance. Measuring the demand, trying
//! the candidates and wording the advice are left to others.
//!
//! Every formula here holds a request's I/O time constant. That is wrong once
//! the database or an upstream slows down under the added threads: predictions
//! choose what is worth trying, and a trial decides. `docs/method.md` gives
//! each formula with its source, units and assumptions.

mod candidates;
mod demand;
mod error;
mod laws;
mod memory;
mod mva;
mod predict;

pub use candidates::{Candidate, Grid, MemoryLimit, Why, candidates};
pub use demand::{Config, Demand};
pub use error::CapacityError;
pub use laws::{
    Binding, Bounds, amdahl, amdahl_limit, little_concurrency, little_response_s,
    throughput_bounds, useful_threads,
};
pub use memory::{Basis, MemoryModel, Observation, fit};
pub use mva::{Network, Station, solve};
pub use predict::{Prediction, predict};
