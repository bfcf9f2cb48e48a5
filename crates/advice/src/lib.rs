//! Recommendations in, configuration files out. Pure: the files come as text and go as text.
//!
//! What to recommend is decided from measurements by `experiment`; this crate says how to write it down.

mod apache;
mod change;
mod command_words;
mod database_yml;
mod dockerfile;
mod environment;
mod kamal;
mod kubernetes;
mod nginx;
mod prefork;
mod procfile;
mod puma;
mod quantity;
mod recommended;
mod ruby;
mod statement;
mod systemd;
mod text;
mod unified;
mod variable;
mod written;
mod yaml;

pub use change::{Change, Note};
pub use environment::environment_file;
pub use puma::puma_config;
pub use recommended::{
    AllocatorLibrary, File, Files, Nginx, NginxWorkers, Passenger, Pitchfork, Pod, ProxyBuffers,
    Puma, Recommended, Server, SpawnMethod, Variable,
};
pub use systemd::drop_in;
pub use written::{Written, variables_by_hand, write_down};

/// The knobs to write down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knobs {
    /// Worker processes; 0 is single mode.
    pub workers: u16,
    /// Threads in each.
    pub threads: u16,
    /// Whether to load the application before forking.
    pub preload: bool,
}
