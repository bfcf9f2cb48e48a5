//! The doctor document, version 1: what `powerband doctor --json` prints.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/doctor-v1.schema.json` and `contract/doctor-v1.md` are generated from them.

use serde::{Deserialize, Serialize};

/// The value of `schema` in every doctor document of this version.
pub const SCHEMA: &str = "powerband/doctor/1";

/// What on a host, or in an application's configuration, spoils a measurement or a production server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/doctor/1`.
    pub schema: String,
    /// Version of powerband that looked.
    pub powerband_version: String,
    /// UTC time of the look, RFC 3339.
    pub checked_at: String,
    /// The outcome in a sentence.
    pub sentence: String,
    /// The exit code: 0 nothing found that spoils measurements or harms the server; 1 something found.
    pub exit_code: u8,
    /// What was looked at.
    pub looked_at: LookedAt,
    /// What was found, worst first.
    pub findings: Vec<Finding>,
    /// Checks that found nothing wrong.
    pub fine: Vec<Fine>,
    /// Checks that could not be made, each with the reason.
    pub not_known: Vec<NotKnown>,
}

/// What was looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LookedAt {
    /// The server's process (`--pid`). Its environment is the one that it was started with.
    pub pid: Option<u32>,
    /// The application's folder; absent when no application was looked at.
    pub application: Option<String>,
    /// The configuration file that was read, if any.
    pub config: Option<String>,
    /// Seconds between the two readings that stolen time and swapping are from.
    pub observed_s: f64,
}

/// What a finding spoils.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Figures that are measured so would mislead.
    SpoilsMeasurements,
    /// A production server is slower so, fails, or is not what its owner believes.
    HarmsServer,
    /// Worth knowing; neither of the two, and no reason for exit code 1.
    Note,
}

/// Something that a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The check, as `docs/doctor.md` lists it.
    pub check: String,
    /// What it spoils.
    pub severity: Severity,
    /// What is wrong, in a clause.
    pub what: String,
    /// The numbers, names or lines that say so.
    pub evidence: String,
    /// Why it matters.
    pub why: String,
    /// What to do about it.
    pub remedy: String,
}

/// A check that found nothing wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fine {
    /// The check.
    pub check: String,
    /// What it saw.
    pub evidence: String,
}

/// A check that could not be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NotKnown {
    /// The check.
    pub check: String,
    /// Why not, and what would help where something would.
    pub why: String,
}
