//! The chunked transfer coding (RFC 9112 §7.1), skipped byte by byte or chunk
//! by chunk; extensions and trailers are read over. Data are handed on only where
//! the caller keeps them.

use crate::keeping::Keeping;

/// Most bytes of one chunk's size line.
const LINE_LIMIT: usize = 4 * 1024;
/// Most bytes of all trailers.
const TRAILER_LIMIT: usize = 64 * 1024;

#[derive(Debug)]
enum State {
    /// Reading digits; how many came.
    Size(u32),
    /// After the digits, up to the line's end.
    Extension,
    /// CR seen on the size line.
    SizeEnd,
    Data,
    /// The CR LF after the data.
    DataCr,
    DataLf,
    /// At the start of a trailer line.
    TrailerStart,
    Trailer,
    /// CR at the start of a line: the end, if LF follows.
    LastLf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkedEnd {
    More,
    Whole,
    Broken,
    TooLarge,
}

#[derive(Debug)]
pub(crate) struct Chunked {
    state: State,
    remaining: u64,
    /// Bytes of this size line, or of all trailers.
    line: usize,
}

impl Chunked {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Size(0),
            remaining: 0,
            line: 0,
        }
    }

    /// How many bytes were used, and where that leads.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        mut keeping: Option<&mut Keeping>,
    ) -> (usize, ChunkedEnd) {
        let mut used = 0;
        while used < bytes.len() {
            if matches!(self.state, State::Data) {
                let take =
                    (bytes.len() - used).min(usize::try_from(self.remaining).unwrap_or(usize::MAX));
                if let Some(keeping) = keeping.as_deref_mut() {
                    keeping.body(&bytes[used..used + take]);
                }
                self.remaining -= take as u64;
                used += take;
                if self.remaining == 0 {
                    self.state = State::DataCr;
                }
                continue;
            }
            let end = self.step(bytes[used]);
            used += 1;
            if end != ChunkedEnd::More {
                return (used, end);
            }
        }
        (used, ChunkedEnd::More)
    }

    fn step(&mut self, byte: u8) -> ChunkedEnd {
        self.line += 1;
        self.state = match (&self.state, byte) {
            (State::Size(digits), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                // Fifteen digits cannot overflow, and no chunk is an exabyte.
                if *digits == 15 {
                    return ChunkedEnd::Broken;
                }
                let digit = char::from(byte).to_digit(16).unwrap_or(0);
                self.remaining = self.remaining * 16 + u64::from(digit);
                State::Size(digits + 1)
            }
            (State::Size(1..), b'\r') => State::SizeEnd,
            (State::Size(1..), b';' | b' ' | b'\t') => State::Extension,
            (State::Extension, b'\r') => State::SizeEnd,
            (State::Extension, b'\n') => return ChunkedEnd::Broken,
            (State::Extension, _) if self.line > LINE_LIMIT => return ChunkedEnd::TooLarge,
            (State::Extension, _) => State::Extension,
            (State::SizeEnd, b'\n') => {
                self.line = 0;
                if self.remaining == 0 {
                    State::TrailerStart
                } else {
                    State::Data
                }
            }
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => {
                self.line = 0;
                State::Size(0)
            }
            (State::TrailerStart, b'\r') => State::LastLf,
            (State::TrailerStart | State::Trailer, b'\n') => State::TrailerStart,
            (State::TrailerStart | State::Trailer, _) if self.line > TRAILER_LIMIT => {
                return ChunkedEnd::TooLarge;
            }
            (State::TrailerStart | State::Trailer, _) => State::Trailer,
            (State::LastLf, b'\n') => return ChunkedEnd::Whole,
            _ => return ChunkedEnd::Broken,
        };
        ChunkedEnd::More
    }
}
