//! The run folder: what one experiment planned, measured and concluded, so that it can be rendered again,
//! resumed, or doubted.
//!
//! This crate owns the document's types and how they reach the disk. It measures nothing and judges nothing:
//! `experiment` fills the types, `report` renders them.

pub mod advise;
mod aged;
pub mod before_after;
pub mod calc;
pub mod calibration;
pub mod capacity;
pub mod capture;
mod change;
pub mod collections;
pub mod command;
pub mod counters;
mod counts;
pub mod doctor;
pub mod document;
pub mod drift;
pub mod duplex;
mod environment;
mod feasibility;
mod figures;
mod fleet;
mod folder;
mod histogram;
pub mod inspect;
mod known;
pub mod leak;
pub mod load;
pub mod memory;
mod metric;
pub mod model;
mod page_time;
pub mod plan;
mod pod;
pub mod predict;
pub mod production;
mod proof;
mod rates;
mod root;
pub mod runs;
#[cfg(feature = "schema")]
mod schema;
mod search;
mod sending;
mod settings;
mod since;
pub mod survivors;
pub mod trace;
pub mod trial;
mod typed;
pub mod validation;
pub mod verdict;

pub use aged::*;
pub use calibration::*;
pub use change::{change_with_interval, rounded_change};
pub use command::*;
pub use counts::{counted, first_of, grouped, keep_busy, sentence_case, whole_threads};
pub use document::*;
pub use environment::{SetVariable, called};
pub use feasibility::Feasibility;
pub use fleet::*;
/// In a warning about the CPU time of other programs.
pub const OTHER_PROGRAMS: &str = "other programs took";

pub use folder::{AS_ITS_USER, Folder, FolderError, LOCK, Lock, Worker};
pub use histogram::{Hdr, HdrError};
pub use known::{Known, KnownArm, KnownNoise};
pub use metric::Metric;
pub use model::*;
pub use page_time::PageTime;
pub use plan::*;
pub use pod::{Pod, Throttled};
pub use proof::*;
pub use rates::*;
#[cfg(feature = "schema")]
pub use schema::{Contract, contracts, json_schema};
pub use search::*;
pub use sending::{FORWARDED, PageRedirects, Redirect, Redirects, Sending};
pub use settings::Settings;
pub use since::{EarlierRequest, Since, Standing};
pub use trial::*;
pub use typed::{Typed, Withheld};
pub use verdict::*;
