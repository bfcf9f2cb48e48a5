//! Before and after a change of the whole fleet, without an experiment: an interrupted series.
//!
//! Each hour after the change is compared with the same hour of the day before it. Nothing was drawn by chance, so the comparison promises
//! less than an experiment: whatever else changed between the periods is in the difference.

mod compared;
mod hours;
mod periods;

pub use compared::{BeforeAfterAsked, compared};
pub use hours::{Hours, hour_queries};
pub use periods::{Period, Periods, Side};
