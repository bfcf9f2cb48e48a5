//! The memory-comparison document, version 1: what `powerband memory --compare --json` prints.

use super::{Course, Measure, Pace, PartKind};
use serde::{Deserialize, Serialize};

/// The value of `schema` in every memory-comparison document of this version.
pub const COMPARISON_SCHEMA: &str = "powerband/memory-comparison/1";

/// The memory of servers at two times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Always `powerband/memory-comparison/1`.
    pub schema: String,
    /// Version of powerband that compared.
    pub powerband_version: String,
    /// What is compared: PSS where both sides have it often enough, else RSS.
    pub measure: Measure,
    /// The earlier.
    pub before: Side,
    /// The later.
    pub after: Side,
    /// Level after, as a factor of that before.
    pub factor: f64,
    /// What the ranges of both levels say.
    pub difference: Difference,
}

/// How two levels differ. It says nothing of why: the load may differ, and the time since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// All of the range after lies below that before.
    Less,
    /// All of it lies above.
    More,
    /// The ranges overlap.
    NotClear,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// The document's file.
    pub file: String,
    /// UTC time of its first reading.
    pub started_at: String,
    /// Seconds that it lasts.
    pub length_s: f64,
    /// Processes at its end.
    pub processes: u64,
    /// Requests served meanwhile; absent where they are not known.
    pub requests: Option<u64>,
    /// Median in the later half of its time, bytes.
    pub level_bytes: f64,
    /// The lowest and the highest part of that half, bytes.
    pub level_range_bytes: (f64, f64),
    /// The course.
    pub course: Course,
    /// Bytes an hour.
    pub per_hour: Option<Pace>,
    /// Resident bytes of each part at its end, over all processes of which the parts are known.
    pub parts: Vec<(PartKind, u64)>,
}
