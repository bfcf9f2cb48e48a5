//! Where one HTTP/1.1 answer ends, and what it says: a state machine fed with
//! bytes as they come, without I/O and, unless asked to, without keeping any of
//! them. How the bytes
//! are cut never changes the result. Framing follows RFC 9112 §6.3, strictly:
//! what could be read in two ways is malformed.

use std::mem::MaybeUninit;

use crate::chunked::{Chunked, ChunkedEnd};
use crate::keeping::Keeping;

/// Most bytes of one head, status line included.
pub const HEAD_LIMIT: usize = 64 * 1024;
/// Most header lines of one head.
pub const HEADER_LIMIT: usize = 128;

/// Most bytes that are kept of a `Location`.
const LOCATION_LIMIT: usize = 2_048;
/// Why an answer cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Not an HTTP/1.x status line or header.
    #[error("not an HTTP/1.x answer")]
    Head,
    /// More than [`HEAD_LIMIT`] bytes or [`HEADER_LIMIT`] headers.
    #[error("a head of more than {HEAD_LIMIT} bytes or {HEADER_LIMIT} headers")]
    HeadTooLarge,
    /// Lengths that contradict each other or mean nothing.
    #[error("contradictory or meaningless body length")]
    Length,
    /// A broken chunk.
    #[error("broken chunked encoding")]
    Chunk,
    /// 101, although no upgrade was requested.
    #[error("the server switched protocols")]
    Switched,
    /// The connection ended before the answer did.
    #[error("the connection closed before the end of the answer")]
    Truncated,
}

/// A whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// 200 to 999, as sent.
    pub status: u16,
    /// The connection may carry another request.
    pub reusable: bool,
}

/// What feeding some bytes led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fed {
    /// All bytes were used and the answer goes on.
    More,
    /// The answer ended; bytes after `consumed` do not belong to it.
    Whole {
        /// The answer.
        answer: Answer,
        /// Bytes of this feeding that belong to it.
        consumed: usize,
    },
}

/// What was kept of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kept<'a> {
    /// The final head, as it came; empty when none came or none was kept.
    pub head: &'a [u8],
    /// The body without its framing, its first [`crate::KEEP_LIMIT`] bytes.
    pub body: &'a [u8],
    /// The body was longer than that.
    pub cut: bool,
}

#[derive(Debug)]
enum State {
    Head,
    Fixed { remaining: u64 },
    Chunked(Chunked),
    UntilClose,
    Whole,
    Failed(ParseError),
}

/// Parses one answer after another; [`ResponseParser::reset`] before each.
#[derive(Debug)]
pub struct ResponseParser {
    state: State,
    /// The head so far, only when it came in pieces.
    head: Vec<u8>,
    to_head: bool,
    started: bool,
    /// Heads of which a byte has come, interim ones included.
    heads: u32,
    answer: Answer,
    keeping: Option<Box<Keeping>>,
    /// Of a redirect.
    location: Option<Box<str>>,
}

impl Default for ResponseParser {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponseParser {
    /// Expects the answer to a request other than HEAD.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: State::Head,
            head: Vec::new(),
            to_head: false,
            started: false,
            heads: 0,
            answer: Answer {
                status: 0,
                reusable: false,
            },
            keeping: None,
            location: None,
        }
    }

    /// Expects a new answer; `to_head`: to a HEAD request, so without a body.
    pub fn reset(&mut self, to_head: bool) {
        self.state = State::Head;
        self.head.clear();
        self.to_head = to_head;
        self.started = false;
        self.heads = 0;
        self.keeping = None;
        self.location = None;
    }

    /// Keeps the head of the answer that is expected, and its body if `body`.
    /// Until the next [`ResponseParser::reset`].
    pub fn keep(&mut self, body: bool) {
        self.keeping = Some(Box::new(Keeping {
            body: body.then(Vec::new),
            ..Keeping::default()
        }));
    }

    /// What was kept.
    #[must_use]
    pub fn kept(&self) -> Kept<'_> {
        self.keeping
            .as_deref()
            .map_or_else(Kept::default, |keeping| Kept {
                head: &keeping.head,
                body: keeping.body.as_deref().unwrap_or_default(),
                cut: keeping.cut,
            })
    }

    /// Lets go of what was kept.
    pub fn forget(&mut self) {
        self.keeping = None;
    }

    /// Where a redirect sends the client, up to 2,048 bytes of it; `None` of other answers.
    #[must_use]
    pub fn location(&self) -> Option<&str> {
        self.location.as_deref()
    }

    /// Has any byte of this answer come?
    #[must_use]
    pub fn started(&self) -> bool {
        self.started
    }

    /// How many heads have begun: one, and one more for each interim answer.
    /// The final answer begins with the last.
    #[must_use]
    pub fn heads(&self) -> u32 {
        self.heads
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// The answer cannot be read; feeding it further gives the same error.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Fed, ParseError> {
        let mut used = 0;
        while used < bytes.len() {
            self.started = true;
            let rest = &bytes[used..];
            used += match &mut self.state {
                State::Head => self.feed_head(rest)?,
                State::Fixed { remaining } => {
                    let take = rest
                        .len()
                        .min(usize::try_from(*remaining).unwrap_or(usize::MAX));
                    if let Some(keeping) = &mut self.keeping {
                        keeping.body(&rest[..take]);
                    }
                    *remaining -= take as u64;
                    if *remaining == 0 {
                        self.state = State::Whole;
                    }
                    take
                }
                State::Chunked(chunked) => match chunked.feed(rest, self.keeping.as_deref_mut()) {
                    (taken, ChunkedEnd::More) => taken,
                    (taken, ChunkedEnd::Whole) => {
                        self.state = State::Whole;
                        taken
                    }
                    (_, ChunkedEnd::Broken) => return Err(self.fail(ParseError::Chunk)),
                    (_, ChunkedEnd::TooLarge) => return Err(self.fail(ParseError::HeadTooLarge)),
                },
                State::UntilClose => {
                    if let Some(keeping) = &mut self.keeping {
                        keeping.body(rest);
                    }
                    rest.len()
                }
                State::Whole => break,
                State::Failed(error) => return Err(*error),
            };
            if matches!(self.state, State::Whole) {
                return Ok(Fed::Whole {
                    answer: self.answer,
                    consumed: used,
                });
            }
        }
        match self.state {
            State::Failed(error) => Err(error),
            State::Whole => Ok(Fed::Whole {
                answer: self.answer,
                consumed: 0,
            }),
            _ => Ok(Fed::More),
        }
    }

    /// The server closed the connection.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] unless the answer was to end so.
    pub fn close(&mut self) -> Result<Answer, ParseError> {
        match self.state {
            State::UntilClose => {
                self.state = State::Whole;
                Ok(self.answer)
            }
            State::Whole => Ok(self.answer),
            State::Failed(error) => Err(error),
            _ => Err(self.fail(ParseError::Truncated)),
        }
    }

    fn fail(&mut self, error: ParseError) -> ParseError {
        self.state = State::Failed(error);
        error
    }

    /// Returns how many of `bytes` were used. Heads are parsed up to the last
    /// line end seen, so that the outcome depends on the bytes alone and a
    /// head that comes byte by byte is not parsed at each byte.
    fn feed_head(&mut self, bytes: &[u8]) -> Result<usize, ParseError> {
        let before = self.head.len();
        self.heads += u32::from(before == 0);
        let room = HEAD_LIMIT - before;
        let seen = &bytes[..bytes.len().min(room)];
        let Some(last_line_end) = seen.iter().rposition(|b| *b == b'\n') else {
            self.head.extend_from_slice(seen);
            return self.head_goes_on(seen.len(), room);
        };
        let parsed = if before == 0 {
            read_head(&seen[..=last_line_end], self.to_head)
        } else {
            self.head.extend_from_slice(&seen[..=last_line_end]);
            read_head(&self.head, self.to_head)
        };
        match parsed {
            Ok(Some(head)) => {
                if let Some(keeping) = &mut self.keeping
                    && !matches!(head.next, State::Head)
                {
                    let bytes = if before == 0 { seen } else { &self.head };
                    keeping.head.extend_from_slice(&bytes[..head.length]);
                }
                self.head.clear();
                self.answer = head.answer;
                self.location = head.location;
                self.state = head.next;
                Ok(head.length - before)
            }
            Ok(None) => {
                if before == 0 {
                    self.head.extend_from_slice(seen);
                } else {
                    self.head.extend_from_slice(&seen[last_line_end + 1..]);
                }
                self.head_goes_on(seen.len(), room)
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    fn head_goes_on(&mut self, used: usize, room: usize) -> Result<usize, ParseError> {
        // Anything but HTTP shows in its first bytes, before any line end.
        if !is_prefix_of_http(&self.head) {
            return Err(self.fail(ParseError::Head));
        }
        if used == room {
            return Err(self.fail(ParseError::HeadTooLarge));
        }
        Ok(used)
    }
}

fn is_prefix_of_http(head: &[u8]) -> bool {
    // httparse skips empty lines before the status line (RFC 9112 §2.2).
    let start = head
        .iter()
        .position(|b| !matches!(b, b'\r' | b'\n'))
        .unwrap_or(head.len());
    head[start..]
        .iter()
        .zip(b"HTTP/1.")
        .all(|(have, want)| have == want)
}

struct Head {
    answer: Answer,
    location: Option<Box<str>>,
    next: State,
    length: usize,
}

/// `None`: the head goes on.
fn read_head(bytes: &[u8], to_head: bool) -> Result<Option<Head>, ParseError> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADER_LIMIT];
    let mut response = httparse::Response::new(&mut []);
    let length = match httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut headers,
    ) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(ParseError::HeadTooLarge),
        Err(_) => return Err(ParseError::Head),
    };
    let status = response.code.unwrap_or(0);
    let http_1_1 = response.version == Some(1);
    let framing = Framing::of(response.headers, http_1_1)?;
    let next = match status {
        0..=99 => return Err(ParseError::Head),
        101 => return Err(ParseError::Switched),
        // Interim: the final answer follows.
        100..=199 => State::Head,
        _ if to_head || status == 204 || status == 304 => State::Whole,
        _ => match (framing.chunked, framing.length) {
            (Some(true), _) => State::Chunked(Chunked::new()),
            (Some(false), _) | (None, None) => State::UntilClose,
            (None, Some(0)) => State::Whole,
            (None, Some(remaining)) => State::Fixed { remaining },
        },
    };
    let persistent = if http_1_1 {
        !framing.close
    } else {
        framing.keep_alive && !framing.close
    };
    Ok(Some(Head {
        location: location(status, response.headers),
        answer: Answer {
            status,
            reusable: persistent && !matches!(next, State::UntilClose),
        },
        next,
        length,
    }))
}

fn location(status: u16, headers: &[httparse::Header<'_>]) -> Option<Box<str>> {
    if !(300..400).contains(&status) || status == 304 {
        return None;
    }
    let mut headers = headers.iter();
    let header = headers.find(|h| h.name.eq_ignore_ascii_case("location"))?;
    let value = &header.value[..header.value.len().min(LOCATION_LIMIT)];
    Some(String::from_utf8_lossy(value).into())
}

/// What the headers say about the body's end and the connection's.
#[derive(Default)]
struct Framing {
    length: Option<u64>,
    /// `Some(true)`: chunked; `Some(false)`: a coding that only closing ends.
    chunked: Option<bool>,
    close: bool,
    keep_alive: bool,
}

impl Framing {
    fn of(headers: &[httparse::Header<'_>], http_1_1: bool) -> Result<Self, ParseError> {
        let mut framing = Self::default();
        for header in headers {
            let name = header.name;
            if name.eq_ignore_ascii_case("content-length") {
                for value in elements(header.value) {
                    let length = decimal(value).ok_or(ParseError::Length)?;
                    if framing.length.is_some_and(|before| before != length) {
                        return Err(ParseError::Length);
                    }
                    framing.length = Some(length);
                }
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                for coding in elements(header.value) {
                    // Chunked must be the last coding, and once.
                    if framing.chunked == Some(true) {
                        return Err(ParseError::Length);
                    }
                    framing.chunked = Some(coding.eq_ignore_ascii_case(b"chunked"));
                }
            } else if name.eq_ignore_ascii_case("connection") {
                for option in elements(header.value) {
                    framing.close |= option.eq_ignore_ascii_case(b"close");
                    framing.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
        }
        // Both, or a transfer coding in HTTP/1.0, is how answers are smuggled.
        if framing.chunked.is_some() && (framing.length.is_some() || !http_1_1) {
            return Err(ParseError::Length);
        }
        Ok(framing)
    }
}

/// The elements of a comma-separated list. An empty value is one empty element.
fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|b| *b == b',').map(<[u8]>::trim_ascii)
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, digit| {
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}
