//! What became of the requests at each shadow.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A shadow. Amplified copies count one each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shadow {
    /// Its name.
    pub name: String,
    /// A second copy of the primary's own configuration: what differs between the two is noise.
    pub twin: bool,
    /// Requests that were to go to it.
    pub sampled: u64,
    /// Of these, whole answers.
    pub answered: u64,
    /// Sent or tried, without a whole answer, by cause: `connect`, `tls`, `cut`, `malformed`, `deadline`, `ended`.
    pub failed: BTreeMap<String, u64>,
    /// Never sent, by cause: `queue_full`, `bytes_full`, `body_too_large`, `late`, `unreachable`, `ended`.
    pub dropped: BTreeMap<String, u64>,
    /// Answers with status 500 to 599 where the primary had none of these.
    pub server_errors: u64,
    /// Answers to requests that the primary answered too.
    pub compared: u64,
    /// `compared` over `sampled`, 0 to 1.
    pub coverage: f64,
    /// Dropped or failed over `sampled`, 0 to 1, without the causes that have nothing to do with how fast it is (a large
    /// body, the end of the mirror). What is lost is lost when a shadow is slow.
    pub lost: f64,
    /// How long after the primary it was given a request, mean, ms; in no response time. Absent when it was given none.
    pub delay_ms: Option<f64>,
    /// How long the mirror waited for a CPU core between a request and the end of its answer, mean, ms; it is part of the shadow's response
    /// times, and only the overlap with the shadow's work is not due to the mirror. Absent when not known of every answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_wait_ms: Option<f64>,
    /// Where its time goes and what it costs, from its agent's flight files; absent unless these were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<Inside>,
}

/// A server from inside, over all of its processes. A part that is absent was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Inside {
    /// Where its flight files are.
    pub source: String,
    /// e.g. `puma 6.6.0`.
    pub server: String,
    /// e.g. `3.3.8`.
    pub ruby: String,
    /// Processes whose files were read.
    pub processes: u32,
    /// Threads of each that serve; absent when unknown or when processes differ.
    pub threads: Option<u32>,
    /// Requests behind the means.
    pub requests: u64,
    /// Mean time in the application, ms.
    pub wall_ms: f64,
    /// Mean time holding the GVL, ms.
    pub held_ms: Option<f64>,
    /// Mean time ready and waiting for the GVL, ms.
    pub gvl_wait_ms: Option<f64>,
    /// Mean I/O, ms.
    pub io_ms: Option<f64>,
    /// Mean CPU time of the thread, ms.
    pub cpu_ms: Option<f64>,
    /// Mean time that the garbage collector stopped a request, ms.
    pub gc_stopped_ms: Option<f64>,
    /// Pauses of the garbage collector as a share of the processes' time, 0 to 1.
    pub gc_share: Option<f64>,
    /// Objects allocated a request, mean.
    pub allocations: Option<f64>,
    /// Proportional set size of its live processes, bytes.
    pub pss_bytes: Option<u64>,
}
