//! In what answers differ.

use serde::{Deserialize, Serialize};

/// The answers of one shadow compared with the primary's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// The shadow's name.
    pub shadow: String,
    /// The A/A twin whose differences are the noise; absent without one, and then every difference is listed.
    pub twin: Option<String>,
    /// Requests whose two answers were compared.
    pub compared: u64,
    /// Of these, requests whose answers differ in anything.
    pub differ: u64,
    /// Requests that the twin answered as well.
    pub paired: u64,
    /// Of the paired ones, requests in which the shadow differs and the twin does not.
    pub only_shadow: u64,
    /// The other way round.
    pub only_twin: u64,
    /// What differs: server errors and other statuses first, then by how often. With a twin, statuses and what is more
    /// often than the twin's; without one, everything.
    pub differences: Vec<Difference>,
    /// Kinds that were seen and are not listed because the twin differs in them as often.
    pub noise: u64,
    /// Kinds that are not listed because the list is full.
    pub not_listed: u64,
}

/// One kind of difference at one endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// Method and path with identifiers as `:id`.
    pub endpoint: String,
    /// `status 200 to 500`, `content-type`, a JSON pointer with `*` for indices, or a line's shape.
    pub kind: String,
    /// What is to be thought of it.
    pub standing: Standing,
    /// Requests of this endpoint that were compared.
    pub compared: u64,
    /// Of these, requests that differ so.
    pub differ: u64,
    /// `differ` over `compared`.
    pub share: f64,
    /// The twin's share of its own; absent without a twin.
    pub twin_share: Option<f64>,
    /// How much more often than the twin, over requests that both answered: a difference of shares, -1 to 1.
    pub excess: Option<f64>,
    /// Lower end of its interval, at 0.05 divided by the number of kinds.
    pub excess_low: Option<f64>,
    /// Upper end.
    pub excess_high: Option<f64>,
    /// One request in which it was seen.
    pub example: Example,
}

/// What is to be thought of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The shadow differs so more often than the twin does: the interval of the excess is above zero.
    Real,
    /// Not more often than the twin, by more than chance.
    Noise,
    /// There is no twin: dynamic pages differ by themselves.
    Unknown,
}

/// Both sides of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// Method and target, redacted.
    pub request: String,
    /// What the primary had there, cut and redacted.
    pub primary: String,
    /// What the shadow had.
    pub shadow: String,
}
