//! How a search over all knobs went: what each setting did on average, what each change brought, where the trials went.

use serde::{Deserialize, Serialize};

/// The search of `tune --knobs`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The knobs that were searched in addition to workers, threads and preloading, each with the values that were tried.
    pub knobs: Vec<SearchedKnob>,
    /// Trials that were planned for it, the confirmation's included.
    pub planned_trials: u32,
    /// Configurations in one of its races at most.
    pub most_arms: u32,
    /// Where they went; empty until it is over.
    pub stages: Vec<StageTrials>,
    /// What each knob of two values did in the screen, on average over all the others.
    pub effects: Vec<KnobEffect>,
    /// Parts for which the trials did not reach: a sentence each, with what they need and what there was.
    pub left_out: Vec<String>,
}

/// A knob and its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SearchedKnob {
    /// As it is typed.
    pub knob: String,
    /// Beside what runs today; `REDACTED` where the variable looks like a secret.
    pub values: Vec<String>,
}

/// Trials of one part of the search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StageTrials {
    /// `candidates`, `neighbours`, `screen`, `race`, `refine`, `around`, `together` or `confirm` (docs/method.md).
    pub stage: String,
    /// Failed ones included.
    pub trials: u32,
}

/// What a knob did on average.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KnobEffect {
    /// As it is typed.
    pub knob: String,
    /// The value that was tried.
    pub value: String,
    /// Throughput with it over throughput without; absent where it is not known.
    pub throughput: Option<Ratio>,
    /// Memory likewise.
    pub memory: Option<Ratio>,
    /// p95 of the response time at the common rate likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Ratio>,
    /// What is made of it, in words.
    pub found: String,
}

/// A ratio with its interval of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// The estimate.
    pub ratio: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}
