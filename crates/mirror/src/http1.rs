//! HTTP/1.1 as the mirror reads and writes it: heads, framing of bodies, and
//! their writing. Stricter than the standard asks, for one reason: what could be
//! read in two ways is refused, so that client, primary and shadow never disagree
//! about where a message ends.
//!
//! Nothing here does I/O or keeps bytes: readers are given what there is, from the
//! message's first byte on, and say how much of it they understood. How the bytes
//! were cut never changes what is understood.

mod body;
mod encode;
mod fields;
mod forward;
mod forwarded;
mod framing;
mod head_end;
mod malformed;
mod request;
mod response;
mod slots;
mod strictness;
mod target;

pub use body::{Body, Piece};
pub use encode::{chunk, end_head, field, last_chunk, request_line, status_line};
pub use fields::{Field, FieldKind, Fields, Span};
pub use forward::AnswerTo;
pub use forwarded::{Forwarded, ForwardedField, Forwarding, Hop};
pub use framing::Framing;
pub use malformed::Malformed;
pub use request::RequestHead;
pub use response::ResponseHead;
pub use strictness::{Strictness, Tolerated};

/// The two versions that are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    #[default]
    Http11,
}

impl Version {
    /// As the parser says it, which knows no others.
    fn parsed(minor: Option<u8>) -> Self {
        match minor {
            Some(0) => Self::Http10,
            _ => Self::Http11,
        }
    }
}

/// How large a head may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadLimits {
    /// Bytes, its first line and its empty last one counted.
    pub bytes: usize,
    /// Header fields.
    pub fields: usize,
}

impl HeadLimits {
    /// For answers: no setting, because it is the primary's own application that writes them.
    pub const ANSWERS: Self = Self {
        bytes: 256 << 10,
        fields: 512,
    };
}

/// A byte of a token (RFC 9110, 5.6.2): methods, names of fields, options of `Connection`.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Every byte is one of a token, and there is one.
pub(crate) fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().copied().all(is_token_byte)
}
