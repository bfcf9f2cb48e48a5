//! The calc document, version 1: what `powerband calc WHAT --json` prints.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/calc-v1.schema.json` and `contract/calc-v1.md` are generated from them.

use serde::{Deserialize, Serialize};

mod amdahl;
mod pool;
mod queue;
mod threads;
mod usl;

pub use amdahl::*;
pub use pool::*;
pub use queue::*;
pub use threads::*;
pub use usl::*;

/// The value of `schema` in every calc document of this version.
pub const SCHEMA: &str = "powerband/calc/1";

/// What a formula says of the figures that were given. Exactly one of the parts is there: the one that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/calc/1`.
    pub schema: String,
    /// Version of powerband that calculated.
    pub powerband_version: String,
    /// What it means, in plain words.
    pub sentence: String,
    /// What the figures take for granted.
    pub assumptions: Vec<String>,
    /// What a reader must know before believing it, most important first.
    pub warnings: Vec<String>,
    /// The exit code: 0 done; 1 the answer is no.
    pub exit_code: u8,
    /// `calc amdahl`.
    pub amdahl: Option<Amdahl>,
    /// `calc threads`.
    pub threads: Option<Threads>,
    /// `calc queue`.
    pub queue: Option<Queue>,
    /// `calc usl`.
    pub usl: Option<Usl>,
    /// `calc pool`.
    pub pool: Option<Pool>,
}
