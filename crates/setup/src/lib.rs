//! The first minutes: which application a folder holds, which pages its users ask for, and a `powerband.toml` to begin with.
//!
//! Text in, text out: the command line reads the files, and asks Rails for its routes and each page once.

mod answered;
mod application;
mod configuration;
mod pages;
mod rails_log;
mod routes;

pub use answered::SCRIPT;
pub use application::{Application, Gem, Server};
pub use configuration::{Beginning, written};
pub use pages::{LeftOut, MOST_PAGES, Page, Pages, Source};
pub use rails_log::is_rails_log;
