//! Between requests: waits for the next head, or for whatever ends the connection first.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Instant;

use super::conversation::Conversation;
use super::idle::{Entered, GRACE};
use crate::http1::{HeadLimits, Malformed};

/// What came.
pub(super) enum Begun {
    /// A head of this length, well-formed.
    Head(usize),
    Refused(Malformed),
    /// A head, but not in time.
    Slow,
    /// The end: the client's, the primary's, a new client needs the place, or nobody wanted anything for long enough.
    Over,
}

impl Conversation {
    /// Reads the next head.
    pub(super) async fn next_head(&mut self) -> Begun {
        // Copied: the tap of these settings is not to be kept alive by a client that says nothing.
        let settings = self.shared.serving().client.clone();
        let limits = HeadLimits {
            bytes: settings.head_bytes,
            fields: settings.head_fields,
        };
        self.deadline
            .set(Instant::now(), Some(settings.idle_timeout));
        // Since when a head is coming.
        let (mut coming, mut entered) = (None, None);
        let idle = &self.shared.idle;
        poll_fn(|context| {
            loop {
                if !self.client.input.is_empty() {
                    match self
                        .head
                        .read_with(&self.client.input, limits, settings.strictness)
                    {
                        Ok(Some(length)) => return Poll::Ready(Begun::Head(length)),
                        Ok(None) => {}
                        Err(malformed) => return Poll::Ready(Begun::Refused(malformed)),
                    }
                    if coming.is_none() {
                        let now = Instant::now();
                        (coming, entered) = (Some(now), None);
                        let first = settings.head_timeout.min(GRACE);
                        self.deadline.set(now, Some(first));
                    }
                }
                match self.client.poll_fill(context) {
                    Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Begun::Over),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Pending => break,
                }
            }
            if coming.is_none() {
                // The primary closes an idle connection: then the client's is closed, as it would be without us.
                if let Some(link) = &mut self.link
                    && link.side.poll_fill(context).is_ready()
                {
                    return Poll::Ready(Begun::Over);
                }
                entered.get_or_insert_with(|| idle.enter(context.waker()));
            }
            while self.deadline.poll_passed(context) {
                match coming {
                    None => return Poll::Ready(Begun::Over),
                    Some(since) if entered.is_none() && settings.head_timeout > GRACE => {
                        entered = Some(idle.enter(context.waker()));
                        self.deadline.set(since, Some(settings.head_timeout));
                    }
                    Some(_) => return Poll::Ready(Begun::Slow),
                }
            }
            // A head that has just begun has its grace period; one that stops in the middle would hold up the drain.
            if entered.is_some() && self.over.as_mut().poll(context).is_ready() {
                self.client.input.clear();
                return Poll::Ready(Begun::Over);
            }
            // After the client's bytes have been looked for: a request that has come is served.
            if entered.as_ref().is_some_and(Entered::is_asked_to_close) {
                // The new client need not wait for the rest of this head.
                self.client.input.clear();
                return Poll::Ready(Begun::Over);
            }
            Poll::Pending
        })
        .await
    }
}
