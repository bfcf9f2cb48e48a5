//! What a tap gets of a request that it wants: gathered on the way past, and
//! nothing of other requests.

use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use capture::{Answer, Field};

use super::serving::Serving;
use crate::digest::Digest;
use crate::http1::{Forwarded, RequestHead, ResponseHead};
use crate::{Counts, Head, Offered, PrimaryAnswer, Taken, Tap};

/// Bytes that are kept of a body, within the limit of all that is held.
struct Kept {
    bytes: BytesMut,
    most: usize,
    held: usize,
    /// The shadows hold room for all of it already.
    reserved: bool,
    counts: Arc<Counts>,
}

impl Kept {
    fn new(most: usize, counts: &Arc<Counts>, reserved: bool) -> Self {
        Self {
            bytes: BytesMut::new(),
            most,
            held: 0,
            reserved,
            counts: counts.clone(),
        }
    }

    fn add(&mut self, data: &[u8], most_held: usize) {
        let room = self.most - self.bytes.len();
        let count = data.len().min(room);
        if !self.reserved {
            let held = &self.counts.held_bytes;
            if count > 0 && !held.try_add(count as u64, most_held as u64) {
                // What is cut is not to be taken for whole because more room came up.
                self.most = self.bytes.len();
                return;
            }
            self.held += count;
        }
        self.bytes.extend_from_slice(&data[..count]);
    }

    /// From now on another owner holds them, and counts them.
    fn give(&mut self) -> BytesMut {
        self.counts
            .held_bytes
            .take(std::mem::take(&mut self.held) as u64);
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.give();
    }
}

/// An answer as far as it has come.
struct Seen {
    status: u16,
    headers: Option<Vec<Field>>,
    content_type: String,
    first_byte: Instant,
    bytes: u64,
    digest: Digest,
    body: Kept,
}

/// One request that is wanted.
pub(super) struct Watched {
    tap: Arc<dyn Tap>,
    counts: Arc<Counts>,
    most_held: usize,
    /// Of the answer; `None`: its figures are enough, and nothing of it is copied.
    most_compared: Option<usize>,
    /// Until it is taken.
    coming: Option<Coming>,
    taken: Option<Arc<Taken>>,
    /// The request's body, until it is passed on with its answer.
    body: Option<Kept>,
    /// Its last byte was written to the primary.
    given: Option<Instant>,
    answer: Option<Seen>,
}

struct Coming {
    request: Taken,
    body: Kept,
}

impl Watched {
    /// `None`: no tap wants it.
    pub(super) fn new(
        head: &RequestHead,
        (bytes, forwarded): (&[u8], &Forwarded),
        id: u64,
        (connection, sequence): (u64, u32),
        serving: &Serving,
        counts: &Arc<Counts>,
    ) -> Option<Self> {
        let asked = Head {
            id,
            connection,
            method: head.method(bytes),
            target: head.target(bytes),
            headers: Offered::Read(head.fields(), bytes, forwarded),
            body_bytes: match head.framing() {
                crate::http1::Framing::Length(length) => Some(length),
                _ => None,
            },
        };
        let admission = serving.tap.wants(&asked)?;
        let reserved = admission.any_shadow();
        let most_compared = serving
            .tap
            .wants_answer(&admission)
            .then_some(serving.limits.compared_bytes);
        let request = Taken {
            id,
            at: Instant::now(),
            connection,
            sequence,
            method: asked.method.to_owned(),
            target: asked.target.to_owned(),
            headers: asked.headers.kept(),
            body: bytes::Bytes::new(),
            body_bytes: 0,
            admission,
        };
        Some(Self {
            tap: serving.tap.clone(),
            counts: counts.clone(),
            most_held: serving.limits.bytes,
            most_compared,
            coming: Some(Coming {
                request,
                body: Kept::new(serving.limits.body_bytes, counts, reserved),
            }),
            taken: None,
            body: None,
            given: None,
            answer: None,
        })
    }

    /// A piece of the request's body.
    pub(super) fn request_data(&mut self, data: &[u8]) {
        if let Some(coming) = &mut self.coming {
            coming.request.body_bytes += data.len() as u64;
            coming.request.at = Instant::now();
            coming.body.add(data, self.most_held);
        }
    }

    /// The whole request went to the primary; or it could not, which its answer will say.
    pub(super) fn request_ended(&mut self, now: Instant) {
        // Given twice where a kept connection was dead: the second time counts.
        self.given = Some(now);
        let Some(Coming {
            mut request,
            mut body,
        }) = self.coming.take()
        else {
            return;
        };
        request.body = std::mem::take(&mut body.bytes).freeze();
        self.body = Some(body);
        let request = Arc::new(request);
        self.tap.taken(request.clone());
        self.taken = Some(request);
        self.begun();
    }

    /// The head of the final answer, the first byte of which came then.
    pub(super) fn answer_head(&mut self, head: &ResponseHead, bytes: &[u8], first_byte: Instant) {
        let content_type = head
            .fields()
            .value(bytes, "content-type")
            .unwrap_or_default();
        let content_type = content_type
            .split(|byte| *byte == b';')
            .next()
            .unwrap_or_default();
        self.answer = Some(Seen {
            status: head.status(),
            headers: self
                .most_compared
                .map(|_| owned(head.fields().end_to_end(bytes))),
            content_type: String::from_utf8_lossy(content_type.trim_ascii()).to_ascii_lowercase(),
            first_byte,
            bytes: 0,
            digest: Digest::default(),
            body: Kept::new(self.most_compared.unwrap_or(0), &self.counts, false),
        });
        self.begun();
    }

    /// Called when both are there: an answer may begin before its request has ended.
    fn begun(&self) {
        if let (Some(taken), Some(answer)) = (&self.taken, &self.answer)
            && let Some(headers) = &answer.headers
        {
            self.tap.answering(taken, headers);
        }
    }

    /// A piece of the answer's body; `ended`: the last one.
    pub(super) fn answer_data(&mut self, data: &[u8], ended: bool) {
        if let Some(answer) = &mut self.answer {
            answer.bytes += data.len() as u64;
            answer.digest.add(data, ended);
            answer.body.add(data, self.most_held);
        }
    }

    /// The answer is there whole, or there will be no more of it.
    pub(super) fn answer_ended(mut self, complete: bool) {
        self.conclude(complete);
    }

    fn conclude(&mut self, complete: bool) {
        if let Some(coming) = self.coming.take() {
            self.tap.given_up(coming.request.id);
        }
        let Some(taken) = self.taken.take() else {
            return;
        };
        let Some(mut seen) = self.answer.take() else {
            let nothing = PrimaryAnswer {
                answer: None,
                headers: None,
                body: bytes::Bytes::new(),
            };
            self.tap.answered(&taken, nothing);
            return;
        };
        let given = self.given.unwrap_or(taken.at);
        // An answer may begin before its request has ended.
        let since = |instant: Instant| {
            let took = instant.saturating_duration_since(given).as_nanos();
            u64::try_from(took).unwrap_or(u64::MAX)
        };
        let answer = Answer {
            status: seen.status,
            first_byte_ns: since(seen.first_byte),
            took_ns: since(Instant::now()),
            body_bytes: seen.bytes,
            digest: seen.digest.value(),
            content_type: std::mem::take(&mut seen.content_type),
            complete,
        };
        let headers = std::mem::take(&mut seen.headers);
        let body = seen.body.give().freeze();
        self.tap.answered(
            &taken,
            PrimaryAnswer {
                answer: Some(answer),
                headers,
                body,
            },
        );
    }
}

impl Drop for Watched {
    /// A tap that waits for an answer learns that none comes, also when the task is
    /// dropped.
    fn drop(&mut self) {
        self.conclude(false);
    }
}

fn owned<'a>(fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> Vec<Field> {
    fields
        .map(|(name, value)| Field {
            name: name.to_owned(),
            value: value.to_vec(),
        })
        .collect()
}
