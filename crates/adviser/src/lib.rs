//! Which settings of Ruby's memory and garbage collection are worth a test, from the logs of collections in flight files.
//!
//! Each check is a function of [`Seen`] and suggests settings, leaves them alone, or cannot know; nothing here reads a file or a
//! process. A suggestion is a hypothesis: `powerband compare` tests it. docs/advise.md names the thresholds and
//! where they are from.

mod advice;
mod looked;
mod rules;
mod seen;

pub use advice::{Advice, advise, checks};
pub use seen::{Process, Seen, Setup};
