//! Why a client did not get the primary's whole answer, or got it only at a second attempt. The counters, the log and the
//! metrics share this list.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::count::Count;
use crate::http1::Malformed;

/// What a cause does to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is refused before it is a request, and goes to no server.
    Refused,
    /// The primary fails it.
    Failed,
    /// Its client ends it.
    Aborted,
    /// It is tried again, and may be answered.
    Retried,
}

/// One cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// 400.
    Malformed,
    /// 431.
    TooLarge,
    /// 501, 505.
    Unsupported,
    /// 408.
    HeadTimeout,
    /// 400, or nothing over TLS.
    ProxyHeader,
    /// An alert.
    TlsHandshake,
    /// 502.
    Unreachable,
    /// 502.
    ConnectTimeout,
    /// 502.
    NoAnswer,
    /// 504, or an answer that is torn.
    AnswerTimeout,
    /// 502, or an answer that is torn.
    MalformedAnswer,
    /// An answer that is torn.
    AnswerCut,
    /// The connection ends first.
    ClientLeft,
    /// 408, or an answer that is torn.
    ClientTimeout,
    /// 400, or an answer that is torn.
    MalformedBody,
    /// Cut at the end of a drain.
    Drain,
    /// A primary could not be reached, and the next one was tried.
    PrimarySkipped,
    /// A kept connection was dead before any byte of an answer.
    DeadConnection,
    /// The system had no descriptor or no memory for a connection.
    NoDescriptor,
    /// Another error of the system when a client's connection was accepted.
    AcceptFailed,
}

impl Cause {
    /// In the order of their declaration.
    pub const ALL: [Self; 20] = [
        Self::Malformed,
        Self::TooLarge,
        Self::Unsupported,
        Self::HeadTimeout,
        Self::ProxyHeader,
        Self::TlsHandshake,
        Self::Unreachable,
        Self::ConnectTimeout,
        Self::NoAnswer,
        Self::AnswerTimeout,
        Self::MalformedAnswer,
        Self::AnswerCut,
        Self::ClientLeft,
        Self::ClientTimeout,
        Self::MalformedBody,
        Self::Drain,
        Self::PrimarySkipped,
        Self::DeadConnection,
        Self::NoDescriptor,
        Self::AcceptFailed,
    ];

    /// What it does, its word in metrics and logs, and what happened.
    const fn row(self) -> (Effect, &'static str, &'static str) {
        use Effect::{Aborted, Failed, Refused, Retried};
        match self {
            Self::Malformed => (Refused, "malformed", "the request is malformed"),
            Self::TooLarge => (Refused, "too_large", "the head exceeds a limit"),
            Self::Unsupported => (
                Refused,
                "unsupported",
                "the method or version is not served",
            ),
            Self::HeadTimeout => (Refused, "head_timeout", "the head came too slowly"),
            Self::ProxyHeader => (
                Refused,
                "proxy_header",
                "the PROXY protocol header is malformed",
            ),
            Self::TlsHandshake => (Refused, "tls_handshake", "a client's TLS handshake failed"),
            Self::Unreachable => (Failed, "unreachable", "the primary cannot be reached"),
            Self::ConnectTimeout => (
                Failed,
                "connect_timeout",
                "the primary did not accept a connection within --connect-timeout",
            ),
            Self::NoAnswer => (
                Failed,
                "no_answer",
                "the primary closed its connection without an answer",
            ),
            Self::AnswerTimeout => (
                Failed,
                "answer_timeout",
                "the primary did not answer within --answer-timeout",
            ),
            Self::MalformedAnswer => (
                Failed,
                "malformed_answer",
                "the primary's answer is malformed",
            ),
            Self::AnswerCut => (
                Failed,
                "answer_cut",
                "the primary closed its connection in the middle of its answer",
            ),
            Self::ClientLeft => (Aborted, "client_left", "the client left"),
            Self::ClientTimeout => (
                Aborted,
                "client_timeout",
                "the client did nothing for longer than --idle-timeout",
            ),
            Self::MalformedBody => (Aborted, "malformed_body", "the request's body is malformed"),
            Self::Drain => (Aborted, "drain", "the time to drain was over"),
            Self::PrimarySkipped => (
                Retried,
                "primary_skipped",
                "a primary cannot be reached and the next one is tried",
            ),
            Self::DeadConnection => (
                Retried,
                "dead_connection",
                "a kept connection to the primary was dead",
            ),
            Self::NoDescriptor => (
                Retried,
                "no_descriptor",
                "the system has no descriptor or no memory for a connection",
            ),
            Self::AcceptFailed => (
                Retried,
                "accept_failed",
                "a client's connection cannot be accepted",
            ),
        }
    }

    /// What it does to a request.
    #[must_use]
    pub const fn effect(self) -> Effect {
        self.row().0
    }

    /// In metrics and logs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.row().1
    }

    /// In a sentence.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        self.row().2
    }

    /// Not what clients and servers do every day.
    #[must_use]
    pub fn is_logged(self) -> bool {
        !matches!(self, Self::ClientLeft | Self::Drain | Self::DeadConnection)
    }

    /// Those with this effect.
    pub fn with(effect: Effect) -> impl Iterator<Item = Self> {
        Self::ALL
            .into_iter()
            .filter(move |one| one.effect() == effect)
    }
}

impl From<Malformed> for Cause {
    fn from(malformed: Malformed) -> Self {
        match malformed.status() {
            431 => Self::TooLarge,
            501 | 505 => Self::Unsupported,
            _ => Self::Malformed,
        }
    }
}

/// How often each cause was there, and an example for the log.
#[derive(Debug, Default)]
pub struct Causes([Slot; Cause::ALL.len()]);

#[derive(Debug, Default)]
struct Slot {
    count: Count,
    /// The first one since the last reading.
    example: Mutex<Option<String>>,
}

impl Causes {
    /// One more.
    pub fn add(&self, cause: Cause) {
        self.0[cause as usize].count.add(1);
    }

    /// One more, with words for the log. They may hold what the system says and the primary's address, and nothing of a
    /// request.
    pub fn add_with(&self, cause: Cause, words: impl fmt::Display) {
        let slot = &self.0[cause as usize];
        // Before the count: who sees the count finds the words.
        slot.example
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert_with(|| words.to_string());
        slot.count.add(1);
    }

    /// How many so far.
    #[must_use]
    pub fn of(&self, cause: Cause) -> u64 {
        self.0[cause as usize].count.get()
    }

    /// All those with this effect.
    #[must_use]
    pub fn total(&self, effect: Effect) -> u64 {
        Cause::with(effect).map(|cause| self.of(cause)).sum()
    }

    /// The words of the first one since the last call.
    #[must_use]
    pub fn take_example(&self, cause: Cause) -> Option<String> {
        let example = &self.0[cause as usize].example;
        example
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_stand_at_their_places_under_different_words() {
        for (index, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, index);
        }
        let mut words = Cause::ALL.map(Cause::word).to_vec();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Cause::ALL.len());
    }

    #[test]
    fn the_first_example_waits_until_it_is_taken() {
        let causes = Causes::default();
        causes.add_with(Cause::Unreachable, format_args!("a"));
        causes.add_with(Cause::Unreachable, format_args!("b"));
        causes.add(Cause::NoAnswer);
        causes.add(Cause::ClientLeft);
        assert_eq!(
            causes.take_example(Cause::Unreachable).as_deref(),
            Some("a")
        );
        assert_eq!(causes.take_example(Cause::Unreachable), None);
        causes.add_with(Cause::Unreachable, format_args!("c"));
        assert_eq!(
            causes.take_example(Cause::Unreachable).as_deref(),
            Some("c")
        );
        assert_eq!(causes.of(Cause::Unreachable), 3);
        assert_eq!(causes.total(Effect::Failed), 4);
        assert_eq!(causes.total(Effect::Aborted), 1);
    }
}
