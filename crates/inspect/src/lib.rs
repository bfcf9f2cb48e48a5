//! Where request time goes: flight files in, an inspect document out.
//!
//! [`files`] finds what was asked for, [`read`] takes it file by file, so that a folder of any size needs the
//! memory of one file and of the times that percentiles are taken from, and [`document`] makes the document of
//! it: sums from the counters, which hold every request, percentiles from the rings where these hold every
//! request, else from the histograms. A value that was not measured is left out, never taken for zero.
//!
//! Clock and version are the caller's. Words are `report`'s, save the sentences of the advice and the warnings.

mod arms;
mod asked;
mod band;
mod baseline;
mod calculated_queue;
mod collection_log;
mod collections;
mod counters;
mod group;
mod instant;
mod interval;
mod locks;
mod memory;
mod not_read;
mod of_process;
mod pools;
mod process;
mod quantile;
mod reading;
mod sources;
mod sums;
mod threads;
mod traffic;
mod unrecorded;
mod written;

pub use asked::Asked;
pub use baseline::Baseline;
pub use collection_log::{collection_log, logged_process};
pub use counters::{SavedError, read_saved, saved};
pub use instant::{printable, rfc3339};
pub use memory::master;
pub use not_read::{refused, without_log};
pub use process::state as process_state;
pub use reading::{Reading, Selection, counters, read};
pub use sources::{InspectError, files, folder_of_user, unrecorded};
pub use sums::{Measured, Sum, Sums};
pub use written::document;
