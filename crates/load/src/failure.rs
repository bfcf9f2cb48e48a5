//! Why a request has no good answer.

use crate::parser::ParseError;

/// What a failure by timeout is called in [`FirstFailure::what`].
pub const TIMED_OUT: &str = "no answer within the timeout";

/// The first failed request of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstFailure {
    /// Method and path, such as `GET /weather`.
    pub request: String,
    /// What became of it, such as `answered 500`.
    pub what: String,
}

/// Why a request has no whole answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("connection refused")]
    Refused,
    #[error("cannot connect: {0}")]
    Connect(rustix::io::Errno),
    #[error("cannot connect: the socket's listen queue is full, the server accepts too slowly")]
    Backlog,
    #[error("{0}")]
    Tls(Box<str>),
    #[error("connection reset")]
    Reset,
    #[error("{}", TIMED_OUT)]
    Timeout,
    #[error("no answer by the end of the drain")]
    Drained,
    #[error(transparent)]
    Answer(#[from] ParseError),
}

/// Why a whole answer with a status below 400 counts as a failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Rejected {
    #[error("answered {status}{}, which the workload does not expect", led_to(location.as_deref()))]
    Status {
        status: u16,
        /// Of a redirect, as it is shown.
        location: Option<String>,
    },
    /// With the names of session and capture.
    #[error("{0}")]
    Capture(String),
}

fn led_to(location: Option<&str>) -> String {
    location.map_or_else(String::new, |location| format!(" (Location: {location})"))
}

/// What is known of a whole answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judgement<'a> {
    pub(crate) status: u16,
    /// The workload names this status, or it is the recorded one.
    pub(crate) expected: bool,
    /// Path and query that was asked for; looked at where the answer leads to https.
    pub(crate) path: &'a str,
    /// Of a redirect, as it came.
    pub(crate) location: Option<&'a str>,
    /// Why it is rejected counts below 400 only.
    pub(crate) rejected: Option<&'a Rejected>,
    /// Of a failure that messages show: the row and what may be the cause.
    pub(crate) detail: &'a str,
}
