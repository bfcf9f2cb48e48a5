//! Which settings of Ruby's memory and garbage collection are worth a test, from the logs of collections in flight files.
//!
//! Each check is a function of [`Seen`] and suggests settings, leaves them alone, or cannot know; nothing here reads a file or a
//! process. A suggestion is a hypothesis: `powerband compare` tests it. The thresholds are those of Shopify's autotuner 1.1 where it
//! has the same check; docs/advise.md names them.

mod looked;
mod rules;
mod seen;

pub use looked::{Advice, Looked, advise};
pub use seen::{Process, Seen};
