//! What the mirror records of one request that went to shadows: the primary's
//! answer, every shadow's next to it, and how they differ. One record of a
//! capture file of kind `shadow-log`.

use serde::{Deserialize, Serialize};

use crate::exchange::Answer;

/// One request that went to at least one shadow, or was to and could not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The request's number, as in [`crate::Exchange::id`].
    pub id: u64,
    /// When it was given to the primary: monotonic, since the log began.
    pub at_ns: u64,
    /// As sent.
    pub method: String,
    /// Method and path with numbers, UUIDs and digests as `:id`; bounded in number.
    pub endpoint: String,
    /// Origin form, redacted.
    pub target: String,
    /// `None`: the primary failed, or the client left before its answer was whole.
    pub primary: Option<Answer>,
    /// In the order of the names in the file's head; amplified requests once each.
    pub shadows: Vec<ShadowOutcome>,
}

/// What became of the request at one shadow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShadowOutcome {
    /// Index into the names in the file's head.
    pub shadow: u16,
    /// 0, or which of the amplified copies.
    pub copy: u16,
    /// Sent to the shadow this long after it was given to the primary; 0 where it was not sent.
    pub delay_ns: u64,
    /// How long, between request and answer, the mirror's thread was ready to run and had no core; part of the answer's
    /// `took_ns`. Absent without an answer, in logs of earlier versions, and where the kernel does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<u64>,
    /// Answer or failure.
    pub outcome: Outcome,
    /// In what its answer differs from the primary's; empty where it does not, or cannot be compared.
    pub differences: Vec<Difference>,
}

/// An answer, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It answered in HTTP, whatever the status.
    Answered(Answer),
    /// It was sent, or tried to be, and no whole answer came.
    Failed(Failure),
    /// It was never sent.
    Dropped(Drop),
}

/// Why a shadow gave no whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The port has no listener, the name has no address, or the connection was not made in time.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// The connection ended before the answer was whole.
    Cut,
    /// What came is no HTTP/1.1 answer.
    Malformed,
    /// The deadline passed.
    Deadline,
    /// The mirror ended first.
    Ended,
}

impl Failure {
    /// In their order.
    pub const ALL: [Self; 6] = [
        Self::Connect,
        Self::Tls,
        Self::Cut,
        Self::Malformed,
        Self::Deadline,
        Self::Ended,
    ];

    /// What it is called wherever it is counted.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Cut => "cut",
            Self::Malformed => "malformed",
            Self::Deadline => "deadline",
            Self::Ended => "ended",
        }
    }
}

/// Why a sampled request was never sent to a shadow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drop {
    /// As many requests were waiting or under way as the shadow may have.
    QueueFull,
    /// Their bytes had reached the cap.
    BytesFull,
    /// The request's body is larger than shadows are given.
    BodyTooLarge,
    /// It waited in the queue for longer than the deadline.
    Late,
    /// The shadow refused the last connections: it is tried again from time to time, and not by every request.
    Unreachable,
    /// The mirror ended first.
    Ended,
}

impl Drop {
    /// In their order.
    pub const ALL: [Self; 6] = [
        Self::QueueFull,
        Self::BytesFull,
        Self::BodyTooLarge,
        Self::Late,
        Self::Unreachable,
        Self::Ended,
    ];

    /// What it is called wherever it is counted.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::BytesFull => "bytes_full",
            Self::BodyTooLarge => "body_too_large",
            Self::Late => "late",
            Self::Unreachable => "unreachable",
            Self::Ended => "ended",
        }
    }
}

/// One way in which two answers differ.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Difference {
    /// What is the same for all differences of this kind: `status`, `content-type`, a JSON pointer with `*` for
    /// indices (`json /items/*/price`), or a line's shape with its numbers taken out (`line <li class="…`).
    pub kind: String,
    /// What the primary had there, cut and redacted.
    pub primary: String,
    /// What the shadow had.
    pub shadow: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_of_an_earlier_version_does_not_know_the_wait() {
        #[derive(Serialize)]
        struct Earlier {
            shadow: u16,
            copy: u16,
            delay_ns: u64,
            outcome: Outcome,
            differences: Vec<Difference>,
        }
        let earlier = Earlier {
            shadow: 1,
            copy: 0,
            delay_ns: 7,
            outcome: Outcome::Dropped(Drop::Late),
            differences: Vec::new(),
        };
        let written = rmp_serde::to_vec_named(&earlier).unwrap();
        let read: ShadowOutcome = rmp_serde::from_slice(&written).unwrap();
        assert_eq!((read.delay_ns, read.waited_ns), (7, None));
        // What is unknown is written as it was before.
        assert_eq!(rmp_serde::to_vec_named(&read).unwrap(), written);
        let waited_ns = Some(40);
        let later = ShadowOutcome { waited_ns, ..read };
        let written = rmp_serde::to_vec_named(&later).unwrap();
        assert_eq!(
            rmp_serde::from_slice::<ShadowOutcome>(&written).unwrap(),
            later
        );
    }

    #[test]
    fn causes_are_called_what_files_call_them() {
        let written = |outcome: &Outcome| serde_json::to_string(outcome).unwrap();
        for failure in Failure::ALL {
            let expected = format!(r#"{{"failed":"{}"}}"#, failure.word());
            assert_eq!(written(&Outcome::Failed(failure)), expected);
        }
        for drop in Drop::ALL {
            let expected = format!(r#"{{"dropped":"{}"}}"#, drop.word());
            assert_eq!(written(&Outcome::Dropped(drop)), expected);
        }
    }
}
