//! Why Kafka gave no answer, in words.

use std::time::Duration;

/// Whole sentences with a remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KafkaError {
    /// A program without the client.
    #[error(
        "this powerband is built without Kafka: build it with cargo build --release --package powerband-cli --features kafka"
    )]
    LeftOut,
    /// No broker answers, or none lets us in.
    #[error(
        "{address}: {why}; check the address, the login and that a broker is reached from here"
    )]
    Unreachable {
        /// Without secrets.
        address: String,
        /// The client's words.
        why: String,
    },
    /// Nothing to read.
    #[error(
        "{address}: there is no such topic; record one with mirror --record or capture convert -o"
    )]
    NoTopic {
        /// Without secrets.
        address: String,
    },
    /// What was asked for did not happen.
    #[error("{what}: {why}; check that the brokers run, and repeat it")]
    Failed {
        /// What was tried.
        what: String,
        /// The client's words.
        why: String,
    },
    /// The partitions are another member's by now.
    #[error("{why}; repeat it")]
    Fenced {
        /// The client's words.
        why: String,
    },
    /// It took too long.
    #[error("{what}: no answer within {} s; check that the brokers run, and repeat it", limit.as_secs())]
    Late {
        /// What was tried.
        what: String,
        /// How long it was waited for.
        limit: Duration,
    },
}
