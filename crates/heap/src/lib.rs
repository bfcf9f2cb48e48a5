//! Dumps of Ruby's heap -> what grows by requests: who made it, which request, and what keeps it.
//!
//! A dump (`ObjectSpace.dump_all`) has objects, their references and the collection in whose time each was made. The log of the
//! agent (`contract/setup-v1.md`) has the collections between which each request ran. Nothing here opens a file.

mod alive;
mod dump;
mod error;
mod groups;
mod holders;
mod lines;
mod log;
mod names;
mod paths;
mod rounds;
mod search;
mod strings;

pub use alive::alive;
pub use dump::Dump;
pub use error::HeapError;
pub use log::Log;
pub use names::{Name, name, unnamed};
pub use rounds::ROUNDS;
pub use search::{Found, search};
