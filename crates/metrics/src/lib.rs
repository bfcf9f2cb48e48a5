//! What flight files hold, as Prometheus reads it: `contract/metrics-v1.md`.
//!
//! [`read`] adds up the files of a folder and what removed ones had counted, [`text`] writes the sums. The gem's
//! `Powerband::Metrics` writes the same bytes; why no counter ever goes down stands in the contract. Which processes
//! live is the caller's to say.

mod carried;
mod families;
mod folder;
mod open_telemetry;
mod row;
mod sums;
mod text;

pub use carried::{Carried, Damaged};
pub use folder::{MetricsError, Reading, read};
pub use sums::{Gauges, Kind, Pool, ServerInfo, Sizes, Sums};
pub use text::{Shown, text};

/// The most endpoints that have series, unless asked for otherwise.
pub const ENDPOINTS: usize = 20;
