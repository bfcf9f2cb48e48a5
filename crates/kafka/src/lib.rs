//! Recorded traffic in a topic of Kafka: addresses and credentials, messages to and from a topic, and generators that share a topic as
//! one consumer group. What a message holds is left to others. Groups, offsets and rebalances are Kafka's and its client's.

mod access;
mod address;
mod barrier;
mod entry;
mod error;
mod message;

#[cfg(feature = "engine")]
mod client;
#[cfg(feature = "engine")]
mod member;
#[cfg(feature = "engine")]
mod reading;
#[cfg(not(feature = "engine"))]
mod without;
#[cfg(feature = "engine")]
mod writer;

pub use access::{Access, AccessError, Login, Mechanism};
pub use address::{Address, AddressError};
pub use barrier::{Asked, Group, Share, Step, WaitError, wait};
pub use entry::{Ending, Entry, Finished, Latest, Part, Ready, Run, Start};
pub use error::KafkaError;
pub use message::{Message, Place};

#[cfg(feature = "engine")]
pub use client::Cluster;
#[cfg(feature = "engine")]
pub use member::Member;
#[cfg(feature = "engine")]
pub use reading::Reading;
#[cfg(not(feature = "engine"))]
pub use without::{Cluster, Member, Reading, Writer};
#[cfg(feature = "engine")]
pub use writer::Writer;

/// What became of the messages of a [`Writer`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sent {
    /// Acknowledged by the brokers.
    pub written: u64,
    /// Bytes of these, keys and values.
    pub bytes: u64,
    /// Found no room while earlier ones waited for the brokers.
    pub no_room: u64,
    /// Refused by the brokers, or not acknowledged in time.
    pub failed: u64,
    /// Why the first of these failed, in the client's words.
    pub why: Option<String>,
}

impl Sent {
    /// Why messages are missing, as far as it is known.
    #[must_use]
    pub fn reason(&self) -> &str {
        let why = self.why.as_deref();
        why.unwrap_or("the brokers do not take them, or too slowly")
    }
}
