//! What the mirror records of one request: as the client sent it, and what the
//! primary answered. One record of a capture file of kind `traffic`.

use serde::{Deserialize, Serialize};

/// One request of a client, and its answer by the primary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Counts the requests that the mirror received, from 1.
    pub id: u64,
    /// When its last byte had come: monotonic, since the capture began.
    pub at_ns: u64,
    /// Counts the connections that the mirror accepted, from 1.
    pub connection: u64,
    /// Counts the requests of its connection, from 1.
    pub sequence: u32,
    /// As sent.
    pub method: String,
    /// Origin form, as sent; redacted in what is written.
    pub target: String,
    /// End-to-end fields in their order, `Host` among them; redacted in what is written.
    pub headers: Vec<Field>,
    /// Without its transfer coding, as much of it as was kept; redacted in what is written.
    #[serde(with = "serde_bytes")]
    pub body: Vec<u8>,
    /// The whole body's length; more than `body` holds where it was cut.
    pub body_bytes: u64,
    /// `None` where the primary never answered, or the client left before it had.
    pub answer: Option<Answer>,
}

/// A header field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// As sent, letters in the case that they had.
    pub name: String,
    /// Without white space around it; any bytes that HTTP allows.
    #[serde(with = "serde_bytes")]
    pub value: Vec<u8>,
}

/// An answer, in figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// 200 to 599.
    pub status: u16,
    /// From the last byte of the request given to the server until the first byte of its final answer.
    pub first_byte_ns: u64,
    /// The same until the last byte.
    pub took_ns: u64,
    /// Of the body without its transfer coding.
    pub body_bytes: u64,
    /// XXH3 of that body, 64 bits.
    pub digest: u64,
    /// `Content-Type` without its parameters, in lower case; empty where there was none.
    pub content_type: String,
    /// The whole answer came.
    pub complete: bool,
}
