//! Pairs of answers -> which shadow is better, by how much, and in what its
//! answers differ. Pure; the same code reads a log afterwards and follows a
//! mirror that runs. Sending, writing and showing are left to others.
//!
//! A [`Comparison`] takes one [`capture::Pair`] after another and stays as large
//! as it is, however long the mirror runs; its [`Comparison::document`] may be
//! asked for at any time. `docs/method.md` gives the method with its sources.

mod answers;
mod comparison;
mod contest;
mod document;
mod estimate;
mod excess;
mod exposition;
mod histogram;
mod judge;
mod seen;
mod series;
mod tally;
mod warnings;
mod windows;
mod words;

pub use comparison::{Comparison, DuplexError, MOST_SHADOWS};
pub use contest::Shadow;
pub use exposition::exposition;
pub use words::Asked;

/// A factor of 1 + this in mean response time does not matter by default.
pub const MARGIN: f64 = 0.03;
