//! The answer of an earlier run, judged again by a new one.

use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The answer of an earlier run, and whether it is still right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// Name of the earlier run's folder.
    pub run: String,
    /// UTC start time of the earlier run, RFC 3339.
    pub started_at: String,
    /// The configuration that the earlier run recommended or kept.
    pub settings: Settings,
    /// What a request took in the pilot of the earlier run; absent where the agent recorded none. The same of this run is in
    /// `profile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<EarlierRequest>,
    /// Whether the answer is still right; absent while the run goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
    /// The same in words; absent while the run goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
}

/// What a request took in the pilot of an earlier run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EarlierRequest {
    /// The configuration that served it.
    pub settings: Settings,
    /// Mean time holding the GVL, ms.
    pub held_ms: f64,
    /// Mean I/O, ms.
    pub io_ms: f64,
    /// Mean lock wait, ms; absent where it is part of I/O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_wait_ms: Option<f64>,
}

/// Whether the answer of an earlier run is still right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is this run's answer, too.
    StillRight,
    /// This run has another answer.
    NoLonger,
    /// This run could not decide.
    Undecided,
}
