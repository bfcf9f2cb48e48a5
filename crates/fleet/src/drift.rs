//! What a run assumed about requests, load and servers, held against the series of a fleet: `powerband drift`.
//!
//! One table of assumptions gives the queries of the command and the alerting rules.

mod assumptions;
mod judge;
mod promql;
mod rules;

pub use assumptions::{Assumption, Assumptions, NoAnswer};
pub use judge::{DriftAsked, drift};
pub use promql::drift_query;
pub use rules::drift_rules;
