//! Reads what the agent records: flight files, as `contract/flight-v1.md` describes them.
//!
//! Bytes go in, typed requests and counters come out. [`parse`] is pure and takes any bytes whatever:
//! a foreign, damaged or hostile file gives a [`FlightError`], never a panic, and what could not be
//! read of a sound file is counted in [`Skipped`]. [`FlightFile`] and [`read_dir`] fetch the bytes of
//! files whose processes may still be writing to them, or may be long dead; nothing here needs their
//! cooperation. What the numbers mean for a server is left to others.

mod bytes;
mod directory;
mod endpoint;
mod error;
mod file;
mod header;
mod histogram;
mod record;
mod snapshot;
mod totals;
mod window;

pub use directory::{FileResult, read_dir, read_dir_counters};
pub use endpoint::Endpoint;
pub use error::FlightError;
pub use file::{FlightFile, MAX_READ_BYTES};
pub use header::{Field, Header, ProcessId, Server, State, Unit};
pub use histogram::{BUCKETS, Histogram};
pub use record::{Method, Record};
pub use snapshot::{Skipped, Snapshot, parse, parse_counters};
pub use totals::Totals;
pub use window::{EndpointWindow, Window};
