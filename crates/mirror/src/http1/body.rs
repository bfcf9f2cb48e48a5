//! Bodies without their transfer coding: which of the bytes at hand are body, and
//! where it ends. Chunks are read strictly; their extensions and the fields after
//! the last one are checked and dropped.

use super::{Framing, Malformed, is_token_byte};

/// Of a chunk's size: 15 digits are a million terabytes, and never overflow.
const MOST_DIGITS: u8 = 15;
/// Of what may follow a size on its line.
const MOST_EXTENSION_BYTES: u16 = 1024;
/// Of all fields after the last chunk.
const MOST_TRAILER_BYTES: u16 = 8192;

/// What of the bytes at hand is what: first some that are none of the body, then some that are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Piece {
    /// Chunk sizes and line ends: to be passed over.
    pub skip: usize,
    /// After those, bytes of the body.
    pub data: usize,
    /// After those, the body is over.
    pub ended: bool,
}

/// Reads a body.
#[derive(Debug, Clone)]
pub struct Body {
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Length(u64),
    UntilClose,
    Size { digits: u8, size: u64 },
    Extension { size: u64, bytes: u16 },
    SizeFeed { size: u64 },
    Data { left: u64 },
    DataReturn,
    DataFeed,
    TrailerLine { bytes: u16 },
    TrailerName { bytes: u16 },
    TrailerValue { bytes: u16 },
    TrailerFeed { bytes: u16 },
    LastFeed,
    Ended,
}

impl Body {
    /// Of a message framed like this.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Length(0) => State::Ended,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Size { digits: 0, size: 0 },
            Framing::UntilClose => State::UntilClose,
        };
        Self { state }
    }

    /// Nothing of it follows.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// The connection's orderly end is its end, too.
    #[must_use]
    pub fn ends_with_connection(&self) -> bool {
        matches!(self.state, State::UntilClose | State::Ended)
    }

    /// What `bytes` are, which follow those of the pieces before. The caller has done with a piece when it asks for the
    /// next one. An empty piece: more bytes are needed.
    ///
    /// # Errors
    ///
    /// The end of this body is undefined.
    pub fn next(&mut self, bytes: &[u8]) -> Result<Piece, Malformed> {
        let mut skip = 0;
        loop {
            let rest = &bytes[skip..];
            match &mut self.state {
                State::Ended => {
                    return Ok(Piece {
                        skip,
                        data: 0,
                        ended: true,
                    });
                }
                State::UntilClose => {
                    return Ok(Piece {
                        skip,
                        data: rest.len(),
                        ended: false,
                    });
                }
                State::Length(left) => {
                    let data = least(*left, rest.len());
                    *left -= data as u64;
                    let ended = *left == 0;
                    if ended {
                        self.state = State::Ended;
                    }
                    return Ok(Piece { skip, data, ended });
                }
                State::Data { left } => {
                    let data = least(*left, rest.len());
                    *left -= data as u64;
                    if *left == 0 {
                        self.state = State::DataReturn;
                    }
                    return Ok(Piece {
                        skip,
                        data,
                        ended: false,
                    });
                }
                _ => {}
            }
            let Some(byte) = rest.first() else {
                return Ok(Piece {
                    skip,
                    data: 0,
                    ended: false,
                });
            };
            self.state = step(self.state, *byte)?;
            skip += 1;
        }
    }
}

fn least(left: u64, at_hand: usize) -> usize {
    usize::try_from(left).map_or(at_hand, |left| left.min(at_hand))
}

/// One byte that is none of the body.
fn step(state: State, byte: u8) -> Result<State, Malformed> {
    Ok(match (state, byte) {
        (State::Size { digits, size }, _) if byte.is_ascii_hexdigit() => {
            if digits == MOST_DIGITS {
                return Err(Malformed::ChunkSize);
            }
            let value = char::from(byte).to_digit(16).unwrap_or_default();
            State::Size {
                digits: digits + 1,
                size: size << 4 | u64::from(value),
            }
        }
        (State::Size { digits: 1.., size }, b'\r') => State::SizeFeed { size },
        (State::Size { digits: 1.., size }, b';') => State::Extension { size, bytes: 0 },
        (State::Extension { size, .. }, b'\r') => State::SizeFeed { size },
        (State::Extension { size, bytes }, b'\t' | b' '..=b'~') if bytes < MOST_EXTENSION_BYTES => {
            State::Extension {
                size,
                bytes: bytes + 1,
            }
        }
        (State::SizeFeed { size: 0 }, b'\n') => State::TrailerLine { bytes: 0 },
        (State::SizeFeed { size }, b'\n') => State::Data { left: size },
        (State::DataReturn, b'\r') => State::DataFeed,
        (State::DataFeed, b'\n') => State::Size { digits: 0, size: 0 },
        (State::DataReturn | State::DataFeed, _) => return Err(Malformed::ChunkEnd),
        (State::TrailerLine { .. }, b'\r') => State::LastFeed,
        (State::LastFeed, b'\n') => State::Ended,
        (
            State::TrailerLine { bytes }
            | State::TrailerName { bytes }
            | State::TrailerValue { bytes }
            | State::TrailerFeed { bytes },
            _,
        ) => trailer(state, byte, bytes + 1)?,
        (State::LastFeed, _) => return Err(Malformed::Trailer),
        _ => return Err(Malformed::ChunkSize),
    })
}

fn trailer(state: State, byte: u8, bytes: u16) -> Result<State, Malformed> {
    if bytes > MOST_TRAILER_BYTES {
        return Err(Malformed::Trailer);
    }
    Ok(match (state, byte) {
        (State::TrailerLine { .. } | State::TrailerName { .. }, _) if is_token_byte(byte) => {
            State::TrailerName { bytes }
        }
        (State::TrailerName { .. }, b':') => State::TrailerValue { bytes },
        (State::TrailerValue { .. }, b'\r') => State::TrailerFeed { bytes },
        (State::TrailerValue { .. }, b'\t' | b' '..=b'~' | 0x80..) => State::TrailerValue { bytes },
        (State::TrailerFeed { .. }, b'\n') => State::TrailerLine { bytes },
        _ => return Err(Malformed::Trailer),
    })
}
