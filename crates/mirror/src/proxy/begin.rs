//! Between requests: waits for the next head, or for whatever ends the connection first.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;

use super::Shared;
use super::deadline::Deadline;
use super::idle::{Entered, GRACE};
use super::side::Side;
use crate::http1::{HeadLimits, Malformed, RequestHead};

/// What came.
pub(super) enum Begun {
    /// A head of this length, well-formed.
    Head(usize),
    Refused(Malformed),
    /// A head, but not in time.
    Slow,
    /// The end: the client's, the primary's, a new client needs the place, or the connection was idle for too long.
    Over,
}

/// A connection between two requests.
pub(super) struct Between<'a> {
    pub(super) shared: &'a Shared,
    pub(super) client: &'a mut Side,
    /// The kept connection to the primary.
    pub(super) primary: Option<&'a mut Side>,
    /// To be read.
    pub(super) head: &'a mut RequestHead,
    pub(super) deadline: &'a mut Deadline,
    /// A drain closes this connection as soon as it is idle.
    pub(super) over: &'a mut Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Reads the next head.
pub(super) async fn next_head(mut between: Between<'_>) -> Begun {
    // Copied: the tap of these settings is not to be kept alive by a client that says nothing.
    let settings = between.shared.serving().client.clone();
    let limits = HeadLimits {
        bytes: settings.head_bytes,
        fields: settings.head_fields,
    };
    between
        .deadline
        .set(Instant::now(), Some(settings.idle_timeout));
    // Since when a head is coming.
    let (mut coming, mut entered) = (None, None);
    let idle = &between.shared.idle;
    poll_fn(|context| {
        loop {
            if !between.client.input.is_empty() {
                match between
                    .head
                    .read_with(&between.client.input, limits, settings.strictness)
                {
                    Ok(Some(length)) => return Poll::Ready(Begun::Head(length)),
                    Ok(None) => {}
                    Err(malformed) => return Poll::Ready(Begun::Refused(malformed)),
                }
                if coming.is_none() {
                    let now = Instant::now();
                    (coming, entered) = (Some(now), None);
                    let first = settings.head_timeout.min(GRACE);
                    between.deadline.set(now, Some(first));
                }
            }
            match between.client.poll_fill(context) {
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Begun::Over),
                Poll::Ready(Ok(_)) => {}
                Poll::Pending => break,
            }
        }
        if coming.is_none() {
            // The primary closes an idle connection: then the client's is closed, as it would be without us.
            if let Some(primary) = &mut between.primary
                && primary.poll_fill(context).is_ready()
            {
                return Poll::Ready(Begun::Over);
            }
            entered.get_or_insert_with(|| idle.enter(context.waker()));
        }
        while between.deadline.poll_passed(context) {
            match coming {
                None => return Poll::Ready(Begun::Over),
                Some(since) if entered.is_none() && settings.head_timeout > GRACE => {
                    entered = Some(idle.enter(context.waker()));
                    between.deadline.set(since, Some(settings.head_timeout));
                }
                Some(_) => return Poll::Ready(Begun::Slow),
            }
        }
        // A head that has just begun has its grace period; one that stops in the middle would hold up the drain.
        if entered.is_some() && between.over.as_mut().poll(context).is_ready() {
            between.client.input.clear();
            return Poll::Ready(Begun::Over);
        }
        // After the client's bytes have been looked for: a request that has come is served.
        if entered.as_ref().is_some_and(Entered::is_asked_to_close) {
            // The new client need not wait for the rest of this head.
            between.client.input.clear();
            return Poll::Ready(Begun::Over);
        }
        Poll::Pending
    })
    .await
}
