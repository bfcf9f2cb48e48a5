//! Failed requests, counted by kind.

use serde::{Deserialize, Serialize};

/// Requests that failed, by kind. Each failed request is in exactly one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Errors {
    /// The port had no listener.
    pub connect_refused: u64,
    /// No connection for another reason.
    pub connect_failed: u64,
    /// No TLS session, or one that broke: the certificate, the handshake.
    pub tls_failed: u64,
    /// The connection was reset.
    pub reset: u64,
    /// The connection was closed before the end of the answer.
    pub closed_early: u64,
    /// No whole answer in time, or by the end of the drain.
    pub timeout: u64,
    /// Not an answer in HTTP/1.x.
    pub malformed: u64,
    /// A head beyond the parser's limits.
    pub head_too_large: u64,
    /// A whole answer with a status from 400 to 499.
    pub status_4xx: u64,
    /// A whole answer with a status of 500 or more.
    pub status_5xx: u64,
    /// A whole answer with a status below 400 that the workload does not expect.
    pub unexpected_status: u64,
    /// A whole answer without the value that a session was to take from it.
    pub capture_failed: u64,
}

impl Errors {
    /// Requests without a whole answer.
    #[must_use]
    pub fn unanswered(&self) -> u64 {
        self.connect_refused
            + self.connect_failed
            + self.tls_failed
            + self.reset
            + self.closed_early
            + self.timeout
            + self.malformed
            + self.head_too_large
    }

    /// All failed requests.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.unanswered()
            + self.status_4xx
            + self.status_5xx
            + self.unexpected_status
            + self.capture_failed
    }
}
