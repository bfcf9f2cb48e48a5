//! What on a host, or in an application's configuration, spoils a measurement or a production server.
//!
//! Facts are collected here and in `host`; every check is a pure function of them. The host's checks are `host`'s, so
//! that runs warn of the same; the application's are here. Nothing is changed, no database is asked, and of the
//! environment nothing is shown but the variables that a check is about.

mod application;
mod asked;
mod checks;
mod collect;
mod config_files;
mod document;
mod named;
mod program;
mod server_command;

pub use application::{ApplicationFacts, Counted, Environment};
pub use asked::{Asked, Configured, PumaConfig};
pub use checks::of_application;
pub use collect::{Unexamined, examine};
pub use config_files::ConfigFile;
pub use named::Named;
pub use program::NotAServer;
