//! Whether what was measured keeps the limits.

use serde::{Deserialize, Serialize};

/// Whether an arm keeps the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Feasibility {
    /// It keeps them: the interval lies within them, or no limit was given.
    Meets,
    /// It breaks one: the interval excludes the limit.
    Breaks,
    /// The interval includes the limit.
    Unclear,
}
