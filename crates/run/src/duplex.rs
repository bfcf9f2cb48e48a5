//! The duplex document, version 1: what `powerband compare --shadow-log --json` prints, and what a mirror that runs
//! shows of its shadows.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/duplex-v1.schema.json` and `contract/duplex-v1.md` are generated from them.

use serde::{Deserialize, Serialize};

mod difference;
mod latency;
mod shadow;

pub use difference::*;
pub use latency::*;
pub use shadow::*;

/// The value of `schema` in every duplex document of this version.
pub const SCHEMA: &str = "powerband/duplex/1";

/// The name that stands for the primary where names of shadows stand.
pub const PRIMARY: &str = "primary";

/// Which shadow is better, by how much, and in what its answers differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/duplex/1`.
    pub schema: String,
    /// Version of powerband that compared.
    pub powerband_version: String,
    /// UTC time of the comparison, RFC 3339.
    pub made_at: String,
    /// The files that were read; empty when it is of a mirror that runs.
    pub sources: Vec<String>,
    /// The answer in a sentence or two.
    pub sentence: String,
    /// Exit code of the command: 0 everything that was to be decided is, 3 no honest answer.
    pub exit_code: u8,
    /// Requests that were to go to at least one shadow.
    pub requests: u64,
    /// Of these, requests that the primary failed or whose client left first: compared with nothing.
    pub without_primary: u64,
    /// From the first to the last of them, seconds.
    pub span_s: f64,
    /// A factor of 1 + this in response time does not matter.
    pub margin: f64,
    /// Each shadow, in the order of the mirror's settings.
    pub shadows: Vec<Shadow>,
    /// Who is compared with whom, those that answer the question first.
    pub comparisons: Vec<Comparison>,
    /// In what the answers of each shadow differ from the primary's.
    pub answers: Vec<Answers>,
    /// Parts of the files that could not be read and are missing above.
    pub not_read: Vec<NotRead>,
    /// What a reader must know before believing it, most important first.
    pub warnings: Vec<String>,
}

impl Document {
    /// Whether that shadow runs what the primary runs.
    #[must_use]
    pub fn is_twin(&self, name: &str) -> bool {
        self.shadows
            .iter()
            .any(|shadow| shadow.twin && shadow.name == name)
    }

    /// `the primary`, `the twin base`, `b`.
    #[must_use]
    pub fn called(&self, name: &str) -> String {
        match name {
            PRIMARY => "the primary".to_owned(),
            name if self.is_twin(name) => format!("the twin {name}"),
            name => name.to_owned(),
        }
    }
}

/// A part of a file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NotRead {
    /// Its path.
    pub file: String,
    /// What, and why.
    pub reason: String,
}
