//! Configuration in, running server out: its start, its status, what it really runs with, its end.
//!
//! A [`ServerSpec`] names an application, a command and the settings to try; [`start`] makes a
//! [`Running`] server of it. Every process is started by a guard ([`guard`]), a process of
//! powerband's own that ends the whole tree on every path out, including `kill -9` of powerband.
//!
//! Left to others: load on the server (`load`), its memory and CPU over time (`host`), what the
//! agent recorded (`flight`), and which settings to try (`experiment`, `advice`). Linux only.

pub mod agent;
mod bundler;
mod cause;
pub mod commands;
mod configured;
mod control;
mod custom;
mod database_yml;
mod environment;
mod error;
mod falcon;
mod files;
mod front;
pub mod guard;
mod handle;
pub mod hooks;
mod http;
pub mod inherited;
mod installed;
pub mod installed_rubies;
pub mod interpreter;
mod kinds;
mod library;
mod log;
mod nginx;
mod passenger;
mod passenger_status;
pub mod pools;
mod port;
mod prefork;
mod prepared;
mod proc;
mod process_facts;
mod processes;
mod puma;
mod puma_files;
mod puma_handle;
mod read_back;
mod reforks;
mod remedy;
pub mod ruby;
mod running;
pub mod safety;
mod service;
mod settle;
mod spec;
mod start;
mod waiting;
mod words;

pub use bundler::bundles;
pub use configured::{configuration, configured};
pub use control::{Counters, PumaStatus, StatusError, WorkerStatus};
pub use environment::EXPERIMENT;
pub use error::{Died, StartError};
pub use falcon::default_falcon_command;
pub use files::{nonce, private_file};
pub use guard::Exit;
pub use library::{allocator_library, library};
pub use log::Excerpt;
pub use nginx::Nginx;
pub use passenger_status::{PassengerProcess, PassengerStatus};
pub use port::free_port;
pub use prefork::default_prefork_command;
pub use process_facts::{environment_of, mapped_files};
pub use processes::ServerProcesses;
pub use puma::default_puma_command;
pub use read_back::{FrontReadBack, Mismatch, ReadBack};
pub use remedy::remedy;
pub use running::{Running, StopReport};
pub use settle::{Quiet, Settled};
pub use spec::{
    Agent, PassengerSpec, PreforkServer, PreforkSpec, PumaStatement, PumaValue, Ready, ReforkAfter,
    ServerCommand, ServerSpec, ServiceSpec, Settings,
};
pub use start::start;
pub use words::{WordsError, by_shell, join_words, split_words};
