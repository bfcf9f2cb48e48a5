//! How long a body is, as its head says.

use super::fields::Fields;
use super::{Malformed, Version};

/// Where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// After so many bytes, which may be none.
    Length(u64),
    /// After its last chunk.
    Chunked,
    /// With the connection: answers alone.
    UntilClose,
}

impl Framing {
    /// There is no body.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::Length(0)
    }
}

/// What the fields say, of either side: `None` where they say nothing.
pub(super) fn declared(fields: &Fields, version: Version) -> Result<Option<Framing>, Malformed> {
    match (fields.transfer_encoding, fields.content_length) {
        (true, Some(_)) => Err(Malformed::BothLengths),
        // A server of HTTP/1.0 takes what follows for the next request.
        (true, None) if version == Version::Http10 => Err(Malformed::TransferEncoding),
        (true, None) => Ok(Some(Framing::Chunked)),
        (false, length) => Ok(length.map(Framing::Length)),
    }
}
