//! Why a message is refused, in words for its sender.

/// What is wrong with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The first line, or a byte that may not be where it is.
    #[error("the head is not HTTP/1.1: {0}")]
    Head(&'static str),
    /// A line feed without its carriage return.
    #[error("a line of the head does not end with CR LF")]
    LineEnd,
    /// Longer than [`super::HeadLimits::bytes`].
    #[error("the head is longer than {0} bytes")]
    HeadTooLong(usize),
    /// More than [`super::HeadLimits::fields`].
    #[error("the head has more than {0} fields")]
    TooManyFields(usize),
    /// Neither 1.0 nor 1.1.
    #[error("the version is neither HTTP/1.0 nor HTTP/1.1")]
    Version,
    /// CONNECT, or a target that only it may have.
    #[error("CONNECT is not served here")]
    Connect,
    /// None of the forms, or a byte that a target may not have.
    #[error("the request target is malformed")]
    Target,
    /// None on HTTP/1.1, several, or no host's name.
    #[error("there must be exactly one well-formed Host")]
    Host,
    /// The target names another one.
    #[error("Host and the request target's host differ")]
    HostDiffers,
    /// Several, no digits alone, or more digits than a length has.
    #[error("Content-Length is not one number")]
    ContentLength,
    /// Anything but one `chunked` on HTTP/1.1.
    #[error("Transfer-Encoding is not exactly chunked, on HTTP/1.1")]
    TransferEncoding,
    /// Which of them one believes is how requests are smuggled.
    #[error("Content-Length and Transfer-Encoding are both there")]
    BothLengths,
    /// Which of the two spellings an application believes is how requests are smuggled.
    #[error("a field's name reads as {0} to some applications; write {0}, or leave the field out")]
    Disguised(&'static str),
    /// An option that is no token, or too many of them.
    #[error("Connection is malformed")]
    Connection,
    /// A chunk's size, or what follows it on its line.
    #[error("a chunk's size is malformed")]
    ChunkSize,
    /// No CR LF after a chunk's data.
    #[error("a chunk is longer than its size")]
    ChunkEnd,
    /// A field after the last chunk, or too many bytes of them.
    #[error("the fields after the last chunk are malformed")]
    Trailer,
    /// 101 without a request to upgrade, or a status below 100.
    #[error("the status is out of place")]
    Status,
}

impl Malformed {
    /// The status that a client gets for a request like this.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::HeadTooLong(_) | Self::TooManyFields(_) => 431,
            Self::Connect => 501,
            Self::Version => 505,
            _ => 400,
        }
    }
}

impl From<httparse::Error> for Malformed {
    fn from(error: httparse::Error) -> Self {
        Self::Head(match error {
            httparse::Error::HeaderName => "a field's name",
            httparse::Error::HeaderValue => "a field's value",
            httparse::Error::NewLine => "a line's end",
            httparse::Error::Status => "the status",
            httparse::Error::Token => "the first line",
            httparse::Error::TooManyHeaders => "too many fields",
            httparse::Error::Version => "the version",
        })
    }
}
