//! One request on one connection: written while its answer is read, because a
//! server may answer before it has read everything. Of the answer all bytes are
//! digested, and a bounded part is kept.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use capture::{Answer, Failure, Field};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::connection::Connection;
use super::core_wait::CoreWait;
use super::held::Held;
use super::request::Rendered;
use crate::digest::Digest;
use crate::http1::{Body, HeadLimits, ResponseHead};

/// What is read at once.
const READ_BYTES: usize = 16 << 10;

/// A whole answer.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) answer: Answer,
    pub(super) headers: Vec<Field>,
    /// The beginning of the body.
    pub(super) body: Vec<u8>,
    /// Headers and body, given back when the answer goes.
    pub(super) _held: Held,
    /// How long this thread had no core between request and answer, where that is known.
    pub(super) waited_ns: Option<u64>,
    /// The connection can be used again.
    pub(super) keeps: bool,
}

/// No whole answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Broken {
    pub(super) failure: Failure,
    /// Not one byte came: a kept connection may have been closed before the request reached the server.
    pub(super) nothing_came: bool,
}

/// What of a body is kept.
pub(super) struct Keeping {
    pub(super) held: Held,
    /// At most so much.
    pub(super) most_bytes: usize,
}

pub(super) async fn exchange(
    connection: &mut Connection,
    request: &Rendered,
    to_head: bool,
    keeping: Keeping,
    core_wait: &CoreWait,
) -> Result<Whole, Broken> {
    let (mut timed, sent) = talk(connection, request, to_head, keeping, core_wait).await?;
    let waited_ns = core_wait.so_far_ns();
    let unsent = || Sent {
        at: timed.last,
        whole: false,
        waited_ns,
    };
    let sent = sent.unwrap_or_else(unsent);
    let since = |at: Instant| nanoseconds(at.saturating_duration_since(sent.at));
    timed.whole.answer.first_byte_ns = since(timed.first);
    timed.whole.answer.took_ns = since(timed.last);
    timed.whole.waited_ns = waited_ns
        .zip(sent.waited_ns)
        .map(|(after, before)| after.saturating_sub(before));
    timed.whole.keeps &= sent.whole && connection.read.is_empty();
    Ok(timed.whole)
}

/// The request has been written.
struct Sent {
    at: Instant,
    /// All of it was.
    whole: bool,
    /// How long this thread had had no core by then.
    waited_ns: Option<u64>,
}

async fn talk(
    connection: &mut Connection,
    request: &Rendered,
    to_head: bool,
    keeping: Keeping,
    core_wait: &CoreWait,
) -> Result<(Timed, Option<Sent>), Broken> {
    let (reader, mut writer) = tokio::io::split(&mut connection.stream);
    let mut write = pin!(async {
        writer.write_all(&request.head).await?;
        writer.write_all(&request.body).await?;
        writer.flush().await
    });
    let mut reading = Reading {
        reader,
        read: &mut connection.read,
        any: false,
    };
    let mut read = pin!(reading.answer(to_head, keeping));
    let mut sent = None;
    let timed = std::future::poll_fn(|context| {
        if sent.is_none()
            && let Poll::Ready(written) = write.as_mut().poll(context)
        {
            // Whatever went wrong, an answer may have come before; if not, reading shows it.
            // The wait is read before the clock here and after it at the end, so that a core that is lost in between counts.
            sent = Some(Sent {
                waited_ns: core_wait.so_far_ns(),
                at: Instant::now(),
                whole: written.is_ok(),
            });
        }
        read.as_mut().poll(context)
    })
    .await?;
    Ok((timed, sent))
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

struct Timed {
    whole: Whole,
    first: Instant,
    last: Instant,
}

struct Reading<'a, R> {
    reader: R,
    read: &'a mut BytesMut,
    any: bool,
}

impl<R: tokio::io::AsyncRead + Unpin> Reading<'_, R> {
    fn broken(&self, failure: Failure) -> Broken {
        Broken {
            failure,
            nothing_came: !self.any,
        }
    }

    /// Some more bytes; `false` at the connection's orderly end.
    async fn more(&mut self) -> Result<bool, Broken> {
        self.read.reserve(READ_BYTES);
        match self.reader.read_buf(self.read).await {
            Ok(0) => Ok(false),
            Ok(_) => {
                self.any = true;
                Ok(true)
            }
            Err(_) => Err(self.broken(Failure::Cut)),
        }
    }

    async fn answer(&mut self, to_head: bool, keeping: Keeping) -> Result<Timed, Broken> {
        let mut head = ResponseHead::default();
        let mut first = None;
        let length = loop {
            if !self.read.is_empty() {
                first.get_or_insert_with(Instant::now);
                let read = head.read(self.read, to_head, HeadLimits::ANSWERS);
                match read.map_err(|_| self.broken(Failure::Malformed))? {
                    Some(length) if head.is_interim() => {
                        self.read.advance(length);
                        head.clear();
                        first = None;
                        continue;
                    }
                    Some(length) => break length,
                    None => {}
                }
            }
            if !self.more().await? {
                return Err(self.broken(Failure::Cut));
            }
        };
        if !(200..600).contains(&head.status()) {
            return Err(self.broken(Failure::Malformed));
        }
        let headers: Vec<Field> = head
            .fields()
            .all()
            .iter()
            .map(|field| Field {
                name: field.name.text(self.read).to_owned(),
                value: field.value.bytes(self.read).to_vec(),
            })
            .collect();
        self.read.advance(length);
        let mut kept = Kept::new(keeping, &headers);
        let mut body = Body::new(head.framing());
        while !body.is_ended() {
            let piece = body
                .next(self.read)
                .map_err(|_| self.broken(Failure::Malformed))?;
            self.read.advance(piece.skip);
            kept.add(&self.read[..piece.data], piece.ended);
            self.read.advance(piece.data);
            if piece.skip + piece.data == 0 && !piece.ended && !self.more().await? {
                if body.ends_with_connection() {
                    break;
                }
                return Err(self.broken(Failure::Cut));
            }
        }
        let last = Instant::now();
        Ok(Timed {
            whole: kept.whole(head.status(), headers, head.keeps()),
            first: first.unwrap_or(last),
            last,
        })
    }
}

/// The body as it comes.
struct Kept {
    keeping: Keeping,
    digest: Digest,
    bytes: u64,
    body: Vec<u8>,
    /// No more is kept: there is enough, or nothing was granted.
    ended: bool,
}

impl Kept {
    fn new(mut keeping: Keeping, headers: &[Field]) -> Self {
        let heads: usize = headers
            .iter()
            .map(|field| field.name.len() + field.value.len() + 64)
            .sum();
        let granted = keeping.held.grow(heads);
        Self {
            keeping,
            digest: Digest::default(),
            bytes: 0,
            body: Vec::new(),
            ended: !granted,
        }
    }

    fn add(&mut self, piece: &[u8], last: bool) {
        self.digest.add(piece, last);
        self.bytes += piece.len() as u64;
        if self.ended || piece.is_empty() {
            return;
        }
        let room = self.keeping.most_bytes - self.body.len();
        let wanted = piece.len().min(room);
        let needed = self.body.len() + wanted;
        if needed > self.body.capacity() {
            // Doubled, so that a byte at a time is no copy at a time; counted before it is there.
            let capacity = needed
                .max(self.body.capacity() * 2)
                .min(self.keeping.most_bytes);
            if !self.keeping.held.grow(capacity - self.body.capacity()) {
                self.ended = true;
                return;
            }
            self.body.reserve_exact(capacity - self.body.len());
        }
        self.body.extend_from_slice(&piece[..wanted]);
        self.ended = wanted < piece.len();
    }

    fn whole(self, status: u16, headers: Vec<Field>, keeps: bool) -> Whole {
        Whole {
            answer: Answer {
                status,
                first_byte_ns: 0,
                took_ns: 0,
                body_bytes: self.bytes,
                digest: self.digest.value(),
                content_type: content_type(&headers),
                complete: true,
            },
            headers,
            body: self.body,
            _held: self.keeping.held,
            waited_ns: None,
            keeps,
        }
    }
}

/// `Content-Type` without its parameters, in lower case.
pub(super) fn content_type(headers: &[Field]) -> String {
    let field = headers
        .iter()
        .find(|field| field.name.eq_ignore_ascii_case("content-type"));
    let value = field.map(|field| String::from_utf8_lossy(&field.value));
    let value = value.as_deref().unwrap_or_default();
    value
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}
