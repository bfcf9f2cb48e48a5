//! What the client's half passes to the others: a request that it has read, and
//! what the primary answered. Nothing here waits, and a receiver may drop but
//! never block.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use capture::{Answer, Field};

use crate::headers::{Headers, Offered};

/// A request, read to its end and checked; shared by shadows and recorder.
#[derive(Debug)]
pub struct Taken {
    /// Counts the requests received, from 1.
    pub id: u64,
    /// When its last byte had come.
    pub at: Instant,
    /// Counts the connections accepted, from 1.
    pub connection: u64,
    /// Counts the requests of its connection, from 1.
    pub sequence: u32,
    /// As sent.
    pub method: String,
    /// Origin form.
    pub target: String,
    /// End-to-end fields in their order, `Host` among them.
    pub headers: Headers,
    /// Without its transfer coding; at most [`crate::Limits::body_bytes`] of it.
    pub body: Bytes,
    /// Its whole length.
    pub body_bytes: u64,
    /// What [`Tap::wants`] gave for it.
    pub admission: Admission,
}

/// What a wanted request holds at the receivers that want it: places and bytes
/// at the shadows. It belongs into the [`Taken`]; where the request never
/// becomes one (the client left in the middle of its body), dropping it gives
/// everything back.
#[derive(Debug, Default)]
pub struct Admission(pub(crate) Option<Box<dyn Admitted>>);

/// The shadows that have a place for a request, which is given back when this is dropped.
pub(crate) trait Admitted: std::fmt::Debug + Send + Sync {
    /// As [`Tap::taken`]; only the first call counts.
    fn taken(&self, request: &Arc<Taken>);

    /// As [`Tap::answering`].
    fn answering(&self, request: &Taken, headers: &[Field]);

    /// As [`Tap::answered`].
    fn answered(&self, request: &Taken, answer: PrimaryAnswer);
}

impl Admission {
    /// Wanted by another receiver, but by no shadow.
    #[must_use]
    pub fn nobody() -> Self {
        Self(None)
    }

    /// Whether a shadow has a place for the request.
    #[must_use]
    pub fn any_shadow(&self) -> bool {
        self.0.is_some()
    }
}

/// What the primary answered.
#[derive(Debug)]
pub struct PrimaryAnswer {
    /// In figures; `None` where it never answered, or the client left before it had.
    pub answer: Option<Answer>,
    /// End-to-end fields, for cookies and tokens; `None` where there is no answer, no room for them, or
    /// [`Tap::wants_answer`] said no.
    pub headers: Option<Vec<Field>>,
    /// The beginning of the body without its transfer coding, at most [`crate::Limits::compared_bytes`]; empty where
    /// [`Tap::wants_answer`] said no.
    pub body: Bytes,
}

/// A receiver of requests. Called on the client's path: every method returns at once.
pub trait Tap: Send + Sync {
    /// Is any receiver interested in this request? Asked once the head is there, before a body is kept.
    /// `None`: no receiver is. Counts what is dropped.
    fn wants(&self, head: &Head<'_>) -> Option<Admission>;

    /// A request that was wanted: called as it is given to the primary.
    fn taken(&self, request: Arc<Taken>);

    /// A request that was wanted, but whose last byte never came: called once, instead of [`Tap::taken`].
    fn given_up(&self, id: u64) {
        let _ = id;
    }

    /// The head of its final answer, called before the client sees any of it: the client may use a cookie that is set
    /// there before the answer is whole. A tap without a use for that does nothing.
    fn answering(&self, _request: &Arc<Taken>, _headers: &[Field]) {}

    /// Its answer, whole or failed: called exactly once for each [`Tap::taken`].
    fn answered(&self, request: &Arc<Taken>, answer: PrimaryAnswer);

    /// Whether fields and body of the answer to a request that was let in are to be kept, or its figures are enough.
    fn wants_answer(&self, admission: &Admission) -> bool {
        admission.any_shadow()
    }
}

/// Listens to nothing: a proxy and no more.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Tap for Nobody {
    fn wants(&self, _: &Head<'_>) -> Option<Admission> {
        None
    }

    fn taken(&self, _: Arc<Taken>) {}

    fn answered(&self, _: &Arc<Taken>, _: PrimaryAnswer) {}
}

/// What is known of a request when its head has been read.
#[derive(Debug)]
pub struct Head<'a> {
    /// As in [`Taken::id`].
    pub id: u64,
    /// As in [`Taken::connection`].
    pub connection: u64,
    /// As sent.
    pub method: &'a str,
    /// Origin form.
    pub target: &'a str,
    /// End-to-end fields.
    pub headers: Offered<'a>,
    /// `Content-Length`, or `None` where the body is chunked.
    pub body_bytes: Option<u64>,
}
