//! The capture document, version 1: what `powerband capture info --json` says of a file of recorded traffic.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/capture-v1.schema.json` and `contract/capture-v1.md` are generated from them.

use serde::{Deserialize, Serialize};

/// The value of `schema` in every capture document of this version.
pub const SCHEMA: &str = "powerband/capture/1";

/// What a file of recorded traffic holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/capture/1`.
    pub schema: String,
    /// Version of powerband that read it.
    pub powerband_version: String,
    /// The file, or `-` for standard input.
    pub file: String,
    /// Which format it is in, e.g. `capture file` or `GoReplay`.
    pub format: String,
    /// What a capture file tells of itself; absent for other formats.
    pub origin: Option<Origin>,
    /// When the first request came, RFC 3339 in UTC; absent where the file does not say.
    pub began_at: Option<String>,
    /// From the first request to the last; absent where the file does not say when they came.
    pub span_s: Option<f64>,
    /// Requests read.
    pub requests: u64,
    /// Of these, with a whole answer; the others' is cut off, was never sent or is not in the file.
    pub answered: u64,
    /// Connections that they came on; absent where the file does not say.
    pub connections: Option<u64>,
    /// Requests over the span.
    pub mean_rate_per_s: Option<f64>,
    /// The most requests within one second of the clock.
    pub highest_rate_per_s: Option<f64>,
    /// How many requests came when: at most 60 slices of equal length.
    pub course: Vec<Slice>,
    /// Requests by method, the most frequent first.
    pub methods: Vec<Count>,
    /// Requests by method and path with numbers, UUIDs and digests as `:id`, the most frequent first.
    pub endpoints: Vec<Endpoint>,
    /// Answers by status.
    pub statuses: Vec<Count>,
    /// From the last byte of the request until the last of the answer; absent without answers.
    pub latency: Option<Latency>,
    /// Sizes.
    pub bytes: Bytes,
    /// Requests whose body is not in the file as a whole: it was cut, or redaction could not vouch for it. They are not
    /// sent in a replay.
    pub bodies_left_out: u64,
    /// What of a capture file is damaged; absent where nothing is.
    pub damage: Option<Damage>,
    /// Lines or entries of other formats that could not be read.
    pub skipped: u64,
    /// The first of these, with the reason.
    pub first_skipped: Vec<String>,
}

/// What a capture file tells of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Program and version that wrote it.
    pub written_by: String,
    /// Machine on which it was recorded.
    pub host: String,
    /// The same in all files of one capture.
    pub capture: String,
    /// Which file of the capture, from 0.
    pub part: u32,
    /// Where the traffic went.
    pub primary: String,
    /// Headers whose values were kept although they are secrets (`mirror --keep`); absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unredacted: Vec<String>,
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// Its beginning, since the whole second in which the first request came.
    pub at_s: f64,
    /// Requests that came in it.
    pub requests: u64,
    /// The same per second.
    pub rate_per_s: f64,
}

/// How often something occurred.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// A method or a status.
    pub name: String,
    /// How often.
    pub requests: u64,
    /// Of all that were counted, from 0 to 1.
    pub share: f64,
}

/// Requests of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// Method and path, e.g. `GET /orders/:id`; `(other)` for those that came when there were names enough.
    pub name: String,
    /// Requests.
    pub requests: u64,
    /// Of all requests, from 0 to 1.
    pub share: f64,
    /// Of its answers, those of 500 and above, from 0 to 1; absent without answers.
    pub error_share: Option<f64>,
    /// Median latency; absent without answers.
    pub p50_ms: Option<f64>,
    /// Latency that 99 % of the answers stayed within; absent without answers.
    pub p99_ms: Option<f64>,
}

/// Latency of the answers, to three digits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Mean.
    pub mean_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 90 %.
    pub p90_ms: f64,
    /// 99 %.
    pub p99_ms: f64,
    /// 99.9 %.
    pub p999_ms: f64,
    /// The slowest.
    pub max_ms: f64,
}

/// Sizes in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Bytes {
    /// Bodies of requests as they came.
    pub request_bodies: u64,
    /// Of these, in the file.
    pub request_bodies_kept: u64,
    /// Bodies of answers, which are not in the file.
    pub answer_bodies: u64,
}

/// What could not be read of a capture file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Damage {
    /// Places.
    pub places: u64,
    /// Bytes that were skipped.
    pub bytes: u64,
    /// Requests that are known to be lost.
    pub requests: u64,
    /// The first places, in words.
    pub first: Vec<String>,
}
