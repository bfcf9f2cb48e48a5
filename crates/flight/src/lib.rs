//! Reads what the agent records: flight files, as `contract/flight-v1.md` describes them.
//!
//! Bytes go in, typed requests and counters come out. [`parse`] is pure and takes any bytes whatever:
//! a foreign, damaged or hostile file gives a [`FlightError`], never a panic, and what could not be
//! read of a sound file is counted in [`Skipped`]. [`FlightFile`] and [`read_dir`] fetch the bytes of
//! files whose processes may still be writing to them, or may be long dead; nothing here needs their
//! cooperation. The meaning of the numbers for a server is left to others. [`events`] are the other kind of
//! file: what happened to each thread, on demand. [`setups`] are what processes report of what was set up in them for an
//! experiment.

mod application;
mod bytes;
mod call;
mod collection;
mod directory;
mod endpoint;
mod error;
pub mod events;
mod field;
mod file;
mod header;
mod heap;
mod histogram;
mod life;
mod lock;
mod magic;
mod origin;
mod pool;
mod record;
mod ring;
mod saved;
mod setup;
mod snapshot;
pub mod survivors;
mod tally;
mod totals;
mod unrecorded;
mod window;

pub use application::{application_of, is_of_application};
pub use call::{Call, CallKind, CallTotals, PerCall};
pub use collection::{Cause, Collection, CollectionKind, CollectionLog, MajorBy};
pub use directory::{FileResult, find, read_dir, read_dir_counters};
pub use endpoint::{Endpoint, EndpointTally};
pub use error::FlightError;
pub use field::{Field, Unit};
pub use file::{FlightFile, MAX_READ_BYTES};
pub use header::{About, Collector, Header, ProcessId, Server, State};
pub use heap::{Heap, SizePool};
pub use histogram::{BUCKETS, Histogram};
pub use life::{Life, is_numbered_here, life, runs_here};
pub use lock::{Lock, LockKind};
pub use origin::Origin;
pub use pool::PoolSample;
pub use record::{Method, Record};
pub use setup::{Failure, Role, Setup, SetupResult, read_setups, setups};
pub use snapshot::{Skipped, Snapshot, parse, parse_counters};
pub use tally::Tally;
pub use totals::{COUNTERS, EDGES_NS, Totals};
pub use unrecorded::{Unrecorded, unrecorded};
pub use window::{EndpointWindow, LockWindow, Window};
