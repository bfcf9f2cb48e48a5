//! Plan, interleaved trials, run folder: joins the crates that measure with those that judge.
//!
//! The flow: [`config`] reads what was asked, [`Experiment`] is what will be done, [`begin`] and [`resume`] make
//! a run folder, [`conduct`] fills it. Nothing here prints; events go to a [`Watcher`].

mod application;
mod arm_bundle;
mod arm_environment;
mod arm_ruby;
mod arm_time;
mod arms;
mod asserted;
mod bench;
mod budget;
mod calibrate;
mod changes;
mod command_runs;
mod compared;
pub mod config;
mod deciding;
mod described;
mod discard;
mod earlier;
mod error;
mod events;
mod flights;
mod generator;
mod git;
mod host_trials;
mod idle_threads;
mod judge;
mod layout;
pub mod leak;
mod noise;
mod peers;
mod place;
mod pod;
mod procedure;
mod progress;
mod proof;
mod prove;
mod puma_statements;
pub mod rates;
mod remote;
mod request;
mod revisions;
mod room;
mod run_key;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod sample_repository;
#[cfg(test)]
mod scripted;
pub mod sending;
mod server_kind;
mod session;
mod set_up;
mod spoiled;
mod store;
mod trial;
mod trials;
mod tune;
pub mod validate;
mod windows;
mod worktrees;

pub use application::check as check_application;
pub use asserted::asserted;
pub use bench::Installation;
pub use changes::crc32 as file_crc32;
pub use described::host_of_run;
pub use error::Stopped;
pub use progress::{Event, Watcher};
pub use request::{Arm, Experiment, Goal, RatioLimit, Service, WorkloadCommand};
pub use revisions::HEAD;
pub use server_kind::ServerKind;
pub use session::{begin, conduct, resolve_new, resume};
pub use store::Store;
