//! The knobs other than threads, workers and preloading: their names as typed, where each is set, what it takes, which
//! Ruby has it, and what one configuration sets of them ([`Overlay`]).
//!
//! One catalogue ([`CATALOGUE`]) is the source of the parser, of its messages, and of `docs/knobs.md`. Nothing here
//! looks at a machine: the caller says which Ruby there is, what that printed, and where a library lies.

mod allocator;
mod arm_text;
mod catalogue;
mod command;
mod knob;
mod names;
mod nearest;
mod overlay;
mod page;
mod reserved;
mod ruby_warnings;
mod secret;
mod secret_name;
mod value;

pub use allocator::{Allocator, PRELOAD, preload};
pub use arm_text::{Part, masked, parts, quoted, values};
pub use catalogue::{CATALOGUE, SETUP, find, is_known, is_version};
pub use command::{shown_command, shown_words};
pub use knob::{Kind, Knob, Place, Program, Version, Versions};
pub use names::{ENV, GEM, POD_CPUS, POD_MEMORY, RUBY, VALUE};
pub use nearest::{SETTINGS, nearest_of, unknown};
pub use overlay::{Chosen, Overlay, POOL, of_allocator};
pub use page::page;
pub use reserved::names_a_variable;
pub use ruby_warnings::{refusals, sets_collector};
pub use secret::{is_secret, shown, shown_of};
pub use secret_name::{names_a_secret, with_reduced};
pub use value::{Value, size};

/// What is wrong with a knob or its value, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {remedy}")]
pub struct Wrong {
    /// What is wrong, without the value.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl Wrong {
    pub(crate) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Wrong {
        Wrong {
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}
