//! The memory of a fleet: what flight files and run documents hold, as Parquet files by table, service and day, which DuckDB and others
//! read. [`Intake`] reads new rows from flight files, [`Batch`] holds them until [`Store`] writes their files, [`prune`] keeps the folder
//! small. `contract/parquet-v1.md` has the tables. When to do it, and which process lives, is the caller's to say.

mod batch;
mod collections;
mod column;
mod contract;
mod counters;
mod encode;
mod error;
mod intake;
mod lock;
mod memory;
mod part;
mod places;
mod position;
mod process;
mod requests;
mod retention;
mod runs;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod sql;
mod store;
mod whole;

pub use batch::{Batch, Lost};
pub use collections::GC;
pub use contract::page;
pub use counters::COUNTED;
pub use error::StoreError;
pub use intake::{Intake, Living, Wanted};
pub use memory::MEMORY;
pub use part::Part;
pub use position::{Position, Positions};
pub use process::Writer;
pub use requests::REQUESTS;
pub use retention::{Limits, prune};
pub use runs::{COMPARISONS, TRIALS, VERDICTS, parts_of};
pub use store::{NAMES, Store, is_name, write_named};
