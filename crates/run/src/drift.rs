//! The drift document, version 1: what `powerband drift --json` prints.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/drift-v1.schema.json` and `contract/drift-v1.md` are generated from them.

use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The value of `schema` in every drift document of this version.
pub const SCHEMA: &str = "powerband/drift/1";

/// What a run assumed about requests, load and servers, and what a fleet has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/drift/1`.
    pub schema: String,
    /// Version of powerband that read the series.
    pub powerband_version: String,
    /// Name of the run's folder.
    pub run: String,
    /// UTC start time of the run, RFC 3339.
    pub started_at: String,
    /// The configuration that the run recommended or kept.
    pub settings: Settings,
    /// UTC time of the reading, RFC 3339.
    pub read_at: String,
    /// Address of the Prometheus server, without credentials.
    pub prometheus: String,
    /// Label matchers of every query, as `--match` has them; empty without any.
    pub matchers: String,
    /// Length of the period before the reading that the figures are of, seconds.
    pub period_s: u64,
    /// The outcome in a sentence.
    pub sentence: String,
    /// Each assumption.
    pub assumptions: Vec<Checked>,
    /// Warnings of Prometheus.
    pub notes: Vec<String>,
}

/// An assumption and what the fleet has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Checked {
    /// What is compared.
    pub figure: Figure,
    /// Its value in the run.
    pub assumed: f64,
    /// The lowest value with which the assumption holds; `null` where a lower value does no harm.
    pub low: Option<f64>,
    /// The highest value with which the assumption holds.
    pub high: f64,
    /// The fleet's value; `null` where Prometheus has no series of it.
    pub now: Option<f64>,
    /// Whether the assumption holds; `null` where the fleet's value is not known.
    pub holds: Option<bool>,
    /// The query that gives the fleet's value.
    pub promql: String,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// The share of requests for other endpoints than in the run: half of the sum of the differences of all endpoints' shares
    /// (total variation distance), 0 to 1.
    Mix,
    /// Mean time for which a request holds the GVL, ms.
    Held,
    /// I/O / (I/O + held), 0 to 1: the number of useful threads depends on it.
    IoShare,
    /// Mean lock wait of a request, ms.
    LockWait,
    /// Requests per second and process, in the busiest five minutes.
    Rate,
    /// Resident memory of a process, bytes.
    Memory,
    /// Instances (of Prometheus) with other threads or workers than the answer of the run.
    Settings,
}

impl Figure {
    /// The label of its alert, and its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Mix => "mix",
            Figure::Held => "held",
            Figure::IoShare => "io_share",
            Figure::LockWait => "lock_wait",
            Figure::Rate => "rate",
            Figure::Memory => "memory",
            Figure::Settings => "settings",
        }
    }

    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Figure::Mix => "requests for other endpoints",
            Figure::Held => "GVL held by a request",
            Figure::IoShare => "I/O, of I/O and GVL held",
            Figure::LockWait => "lock wait of a request",
            Figure::Rate => "requests/s and process, at most",
            Figure::Memory => "resident memory of a process",
            Figure::Settings => "instances with other settings",
        }
    }
}
