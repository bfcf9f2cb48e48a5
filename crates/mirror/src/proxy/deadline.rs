//! A time limit that is moved for every request and hardly ever comes: moving it
//! back costs nothing, because the timer is looked at again only when it fires.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::Sleep;

/// One connection's.
pub(super) struct Deadline {
    /// Fires at the limit or before.
    timer: Pin<Box<Sleep>>,
    at: Option<Instant>,
}

impl Deadline {
    pub(super) fn new(after: Duration) -> Self {
        let at = soon(Instant::now(), after);
        Self {
            timer: Box::pin(tokio::time::sleep_until(at.into())),
            at: Some(at),
        }
    }

    /// So long after this instant; `None`: never.
    pub(super) fn set(&mut self, from: Instant, after: Option<Duration>) {
        self.at = after.map(|after| soon(from, after));
        if let Some(at) = self.at
            && (self.timer.is_elapsed() || self.timer.deadline().into_std() > at)
        {
            self.timer.as_mut().reset(at.into());
        }
    }

    pub(super) fn poll_passed(&mut self, context: &mut Context<'_>) -> bool {
        let Some(at) = self.at else {
            return false;
        };
        while let Poll::Ready(()) = self.timer.as_mut().poll(context) {
            if Instant::now() >= at {
                return true;
            }
            self.timer.as_mut().reset(at.into());
        }
        false
    }
}

/// The clock's range is finite, a setting's is not.
fn soon(from: Instant, after: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(365 * 24 * 3600);
    from + after.min(FAR)
}
