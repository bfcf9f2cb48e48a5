//! Between requests: waits for the next head, or for whatever ends the connection first.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Instant;

use super::conversation::Conversation;
use crate::http1::{HeadLimits, Malformed};

/// What came.
pub(super) enum Begun {
    /// A head of this length, well-formed.
    Head(usize),
    Refused(Malformed),
    /// A head, but not in time.
    Slow,
    /// The end: the client's, the primary's, or nobody wanted anything for long enough.
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
        let mut coming = false;
        poll_fn(|context| {
            loop {
                if !self.client.input.is_empty() {
                    match self.head.read(&self.client.input, limits) {
                        Ok(Some(length)) => return Poll::Ready(Begun::Head(length)),
                        Ok(None) => {}
                        Err(malformed) => return Poll::Ready(Begun::Refused(malformed)),
                    }
                    if !coming {
                        coming = true;
                        self.deadline
                            .set(Instant::now(), Some(settings.head_timeout));
                    }
                }
                match self.client.poll_fill(context) {
                    Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Begun::Over),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Pending => break,
                }
            }
            if !coming {
                if self.drain.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Begun::Over);
                }
                // The primary closes an idle connection: then the client's is closed, as it would be without us.
                if let Some(link) = &mut self.link
                    && link.side.poll_fill(context).is_ready()
                {
                    return Poll::Ready(Begun::Over);
                }
            }
            match self.deadline.poll_passed(context) {
                true if coming => Poll::Ready(Begun::Slow),
                true => Poll::Ready(Begun::Over),
                false => Poll::Pending,
            }
        })
        .await
    }
}
