//! What flight files hold, as Prometheus reads it: `contract/metrics-v1.md`.
//!
//! [`read`] adds up the files of a folder and what removed ones had counted, [`families`] names the sums, [`text`] and [`Push`] write them.
//! The gem's `Powerband::Metrics` writes the same bytes; why no counter ever goes down stands in the contract. Which processes
//! live is the caller's to say.

mod carried;
mod families;
mod family;
mod folder;
mod listed;
mod open_telemetry;
mod otlp;
mod row;
mod sums;
mod text;

pub use carried::{Carried, Damaged};
pub use family::{Durations, Family, Labels, Sample, Type, Value};
pub use folder::{MetricsError, Reading, read};
pub use listed::{Shown, families};
pub use otlp::{Push, rejected};
pub use row::{measured, measures};
pub use sums::{Gauges, Kind, Pool, ServerInfo, Sizes, Sums};
pub use text::text;

/// The most endpoints that have series, unless asked for otherwise.
pub const ENDPOINTS: usize = 20;
