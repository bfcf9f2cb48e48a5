//! The load document, version 1: what `powerband load --json` prints.
//!
//! As in the run document, the comment on each field is its public description:
//! `contract/load-v1.schema.json` and `contract/load-v1.md` are generated from them.

mod group;

pub use group::{GeneratorEnding, Group, GroupGenerator};

use crate::histogram::Hdr;
use crate::sending::{Redirect, Sending};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of `schema` in every load document of this version.
pub const SCHEMA: &str = "powerband/load/1";

/// One run of `powerband load`: what was asked, and what the server did with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always `powerband/load/1`.
    pub schema: String,
    /// Version of powerband that ran it.
    pub powerband_version: String,
    /// UTC time at the start of the window, RFC 3339.
    pub started_at: String,
    /// The runs that `load merge` made this document of, the earliest first; absent in the document of one run. With them,
    /// counts and histograms are sums, `window_s` and `elapsed_s` leave out the time in which no run was under way, and rates
    /// are over that `window_s`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<Part>,
    /// The generators that shared a topic as one consumer group, and what is lost of it; absent unless `load merge` read a topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// What was asked. Of merged runs: the first URL and seed; the sum of connections and requests; the longest duration and
    /// warm-up; each rate; and as mean rate the requests due, over `window_s`.
    pub asked: Asked,
    /// How it ended.
    pub state: State,
    /// Length of the window: from its start until the last request was due or time was up, seconds.
    pub window_s: f64,
    /// The window and the wait for the answers still due at its end, seconds.
    pub elapsed_s: f64,
    /// How many requests got how far.
    pub counts: Counts,
    /// Failed requests by kind, e.g. `timeout` or `status_5xx`; a kind that did not occur is left out.
    pub errors: BTreeMap<String, u64>,
    /// The first failure in words: the request and what became of it.
    pub first_error: Option<String>,
    /// Whole answers by status code.
    pub statuses: BTreeMap<String, u64>,
    /// Successful answers within the window, per second.
    pub throughput_per_s: f64,
    /// From the instant at which a request was due (closed loop: was begun) to its last byte: what a user waits. Failed
    /// requests count as infinite.
    pub response: Latency,
    /// From the writing of a request to the last byte of its answer; whole answers only.
    pub service: Latency,
    /// From the writing of a request to the first byte of its answer; whole answers only.
    pub first_byte: Latency,
    /// Time to connect; connections that were made.
    pub connect: Latency,
    /// Open loop: how long requests that found every connection busy waited for one; a part of `response`.
    pub connection_wait: Latency,
    /// How long after it could be a request was begun: the generator's own delay.
    pub lateness: Latency,
    /// The response times against `--slo`; absent without one.
    pub objective: Option<Objective>,
    /// Each `--assert`, in the order given.
    pub assertions: Vec<Assertion>,
    /// Response times by class of answer, failed requests having the time that they took.
    pub classes: Vec<Class>,
    /// One entry a request name, in the workload's order.
    pub endpoints: Vec<Endpoint>,
    /// The sessions of the workload; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Sessions>,
    /// The statuses of the answers compared with the recorded ones; absent where the workload is no recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
    /// The course of the run: the latest 10,000 intervals. Empty where runs were merged.
    pub intervals: Vec<Interval>,
    /// Earlier intervals that made way.
    pub intervals_dropped: u64,
    /// The generator's judgement of itself.
    pub generator: Generator,
    /// What a reader must know before believing it, most important first.
    pub warnings: Vec<String>,
    /// The exit code: 0 done; 1 an assertion failed; 3 no honest answer, such as when every request failed or an assertion is undecided; 128 + n ended by signal n. Where several apply: 128 + n; 3 because nothing was answered, the generator was too slow (unless it was only late and every assertion holds), or a merged run was interrupted or given up; 1; 3 for the other reasons.
    pub exit_code: u8,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The URL, without user name and password.
    pub url: String,
    /// What was requested: method and path, or the workload's file.
    pub workload: String,
    /// How requests were started.
    pub mode: Mode,
    /// The arrival rate as given, e.g. `100` or `10..200` (open loop); of merged runs e.g. `2 x 100 + 50`.
    pub rate: Option<String>,
    /// Spacing of the arrivals: `poisson`, `constant` or `recorded` (open loop).
    pub arrivals: Option<String>,
    /// How much faster than recorded (replay).
    pub speed: Option<f64>,
    /// The schedule's mean rate, per second (open loop).
    pub mean_rate_per_s: Option<f64>,
    /// Connections: how many ask (closed loop), or how many there may be (open loop).
    pub connections: u64,
    /// Pause between an answer and the next request, ms (closed loop).
    pub think_ms: Option<f64>,
    /// Requests after which the window ended.
    pub requests: Option<u64>,
    /// Longest window, seconds.
    pub duration_s: Option<f64>,
    /// Load before the window that was measured apart and not counted, seconds.
    pub warmup_s: Option<f64>,
    /// Longest wait for an answer, ms.
    pub timeout_ms: f64,
    /// How requests were sent.
    pub sending: Sending,
    /// Whether requests of a recording had the `Host` that they were recorded with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replay_host: bool,
    /// Seed of the arrival times and of the order of requests.
    pub seed: u64,
}

/// How requests were started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// On schedule, whatever the server does.
    Open,
    /// Each connection sends its next request when its answer has come.
    Closed,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// As planned.
    Done,
    /// By a signal: the figures are those of the requests until then; of merged runs one at least.
    Interrupted,
    /// At once, because every connection failed; of merged runs one at least.
    Unreachable,
}

/// How many requests got how far. `asked = ok + failed + cut`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Fell due in the window (closed loop: were begun).
    pub asked: u64,
    /// Were written to a connection, at least in part.
    pub sent: u64,
    /// Got a whole answer, whatever its status.
    pub answered: u64,
    /// Got a whole answer with a status below 400, or 400 to 499 as recorded (401, 403, 407, 408 and 429 excepted).
    pub ok: u64,
    /// Got no answer, or one that counts as an error: another status of 400 or more, or one that the workload rejects.
    pub failed: u64,
    /// Were due and had no answer when a signal ended the run; in no figure.
    pub cut: u64,
    /// Were sent once more because the server had closed the kept connection.
    pub sent_again: u64,
    /// Found every connection busy (open loop).
    pub waited: u64,
    /// Connections opened.
    pub connections: u64,
    /// Connections that the server closed while idle.
    pub idle_closed: u64,
    /// Connections with bytes beyond the announced end of an answer.
    pub surplus: u64,
}

/// How many sessions there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// Begun.
    pub begun: u64,
    /// Of these, with fewer than all steps: a user's first one, so that users do not go through the steps in waves, and the rest of one
    /// after a failed request.
    pub cut_short: u64,
    /// Of those begun, ended by a failed request.
    pub abandoned: u64,
    /// Requests that fell due before the answer to the user's request before had come (open loop).
    pub waited: u64,
}

/// Quantiles of one kind of latency, ms. One is `null` when the requests are too few for it (p50 needs 2, p90 10, p95
/// 20, p99 100, p99.9 1,000, p99.99 10,000) or, in `response`, when that share of the requests failed: it is infinite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Values recorded.
    pub count: u64,
    /// Values that are infinite, because the request failed.
    pub infinite: u64,
    /// Mean of the finite values.
    pub mean_ms: Option<f64>,
    /// Smallest.
    pub min_ms: Option<f64>,
    /// Median.
    pub p50_ms: Option<f64>,
    /// 90th percentile.
    pub p90_ms: Option<f64>,
    /// 95th percentile.
    pub p95_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// 99.9th percentile.
    pub p99_9_ms: Option<f64>,
    /// 99.99th percentile.
    pub p99_99_ms: Option<f64>,
    /// Largest; `null` when one is infinite.
    pub max_ms: Option<f64>,
    /// The whole histogram, for `load merge`: HdrHistogram V2 compressed encoding, base64, microseconds; an infinite
    /// value stands at 3600000000. Absent without values, and in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hdr: Option<Hdr>,
}

/// Response times against an objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// The percentile that must keep the limit, e.g. 99.
    pub percentile: f64,
    /// The limit, ms.
    pub limit_ms: f64,
    /// Requests over the limit, failed ones included.
    pub violations: u64,
    /// Their share of the requests, 0 to 1.
    pub violation_rate: f64,
}

/// One limit that was not to be exceeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Assertion {
    /// What was asserted, as given, e.g. `p99=250ms`.
    pub assertion: String,
    /// The name of the requests that it is about; absent when it is about all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The limit: ms, a share from 0 to 1, or a rate per second; of `check` a change, where -0.03 is 3 % less.
    pub limit: f64,
    /// The measured figure in the same unit; `null` when it is infinite or was not to be had.
    pub measured: Option<f64>,
    /// What became of it.
    pub outcome: AssertionOutcome,
    /// The same in words.
    pub sentence: String,
}

/// What became of an assertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AssertionOutcome {
    /// The limit was kept.
    Holds,
    /// It was exceeded.
    Fails,
    /// Too few requests, no answers, an interrupted run, a generator that was too slow (one that was late leaves what holds), answers
    /// that are redirects or not the recorded ones, or merged runs that were never under way at the same time; of `check` an interval with the limit in it, or none.
    Unknown,
}

/// The results of the requests of one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// The name in the workload, or method and path.
    pub name: String,
    /// Requests that fell due.
    pub asked: u64,
    /// Answered with a status below 400, or 400 to 499 as recorded (401, 403, 407, 408 and 429 excepted).
    pub ok: u64,
    /// Failed.
    pub failed: u64,
    /// Failed ones by kind.
    pub errors: BTreeMap<String, u64>,
    /// As in the document.
    pub response: Latency,
    /// As in the document.
    pub classes: Vec<Class>,
    /// Good answers that sent the client elsewhere; absent where there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<Redirect>,
}

/// The statuses of the answers compared with those of the recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// Whole answers to requests of which the recording has a status; 0 where it has none at all.
    pub compared: u64,
    /// Of these, 304 in place of 200 or the reverse, to conditional requests; not counted as changes.
    pub revalidated: u64,
    /// Of these, another status than was recorded.
    pub changed: u64,
    /// Whether so many changed that the figures are of other work than was recorded.
    pub other_work: bool,
    /// What changed, and what to do, in words; absent where nothing did.
    pub warning: Option<String>,
    /// The changes by endpoint and pair of statuses, the most frequent first.
    pub changes: Vec<StatusChange>,
}

/// Answers with another status than was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StatusChange {
    /// Name of the endpoint.
    pub endpoint: String,
    /// Status in the recording.
    pub recorded: u16,
    /// Status of the answer now.
    pub replayed: u16,
    /// How many.
    pub answers: u64,
}

/// The answers of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// `2xx` to `5xx`, `4xx as recorded` where a recording has the same status, `rejected` where the workload expects another
    /// answer below 400, or `none` for requests without a whole answer.
    pub class: String,
    /// From the instant at which a request was due to its last byte, or until it was given up.
    pub response: Latency,
}

/// What ended within one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// From the start of the window, seconds.
    pub start_s: f64,
    /// Its length; the last one may be shorter, seconds.
    pub length_s: f64,
    /// Requests that fell due.
    pub asked: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// Requests answered with a status below 400, or 400 to 499 as recorded (401, 403, 407, 408 and 429 excepted).
    pub ok: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Median response time, ms; `null` when nothing ended or it is infinite.
    pub p50_ms: Option<f64>,
    /// 99th percentile, likewise; of few requests it is the largest.
    pub p99_ms: Option<f64>,
}

/// The generator's judgement of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Generator {
    /// Whether the figures are the server's rather than the generator's own.
    pub ok: bool,
    /// Why not, and what to do.
    pub trouble: Option<String>,
    /// The trouble is late starts and nothing else: the response times are at least those of the server, so that an assertion that holds, holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_late: bool,
    /// CPU time of its thread, seconds.
    pub cpu_s: f64,
    /// Share of one core that it used, 0 to 1; of merged runs the largest.
    pub cpu_share: f64,
    /// CPU time per request, µs.
    pub cpu_us_per_request: Option<f64>,
    /// Requests that were begun 1 ms late or later; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_answers: Option<LateAnswers>,
}

/// Response times of the answers to requests that were begun late, encoded as `hdr`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LateAnswers {
    /// As they are part of `response`.
    pub counted: Hdr,
    /// The same, each without the generator's delay.
    pub without: Hdr,
}

/// One run of a merged document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Name of the file, as given to `load merge`.
    pub file: String,
    /// The URL that it asked.
    pub url: String,
    /// As in the document.
    pub started_at: String,
    /// As in the document.
    pub window_s: f64,
    /// As in the document.
    pub elapsed_s: f64,
    /// As in `asked`.
    pub seed: u64,
}

/// Values that a percentile needs, so that one at least lies beyond it.
pub fn least_values(percentile: f64) -> u64 {
    // The small step down undoes what 100 - 99.9 is off by.
    (100.0 / (100.0 - percentile) - 1e-6).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::least_values;

    #[test]
    fn a_percentile_needs_a_value_beyond_it() {
        let needed = [
            (50.0, 2),
            (90.0, 10),
            (95.0, 20),
            (99.0, 100),
            (99.9, 1_000),
            (99.99, 10_000),
        ];
        for (percentile, values) in needed {
            assert_eq!(least_values(percentile), values, "p{percentile}");
        }
    }
}
