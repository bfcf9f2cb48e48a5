//! Where a connection comes from: its socket's own ends, or those that a proxy in
//! front announces with a PROXY protocol header, before TLS and before any request.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;

use super::idle::GRACE;
use super::side::Side;
use super::{Shared, goodbye};
use crate::Cause;
use crate::proxy_protocol::{Ends, Header, MOST, Malformed, read};
use crate::socket::Socket;
use crate::stream::Stream;

/// Why there is no header.
enum Failure {
    /// The connection ended first.
    Over,
    Refused(Malformed),
}

impl From<io::Error> for Failure {
    fn from(_: io::Error) -> Self {
        Self::Over
    }
}

/// A connection whose own ends count. `None`: it has ended already.
pub(super) fn plain(socket: Socket) -> Option<(Socket, Option<Ends>)> {
    let ends = socket.ends().ok()?;
    Some((socket, ends))
}

/// Waits until a drain closes a connection without a request. Not within [`GRACE`] of `since`, when it became the client's
/// turn: the client connected before the drain began, and cannot know that what it sends first comes too late.
pub(super) async fn over(shared: Arc<Shared>, since: Instant) {
    let mut drain = shared.drain.subscribe();
    let _ = drain.wait_for(|drain| *drain).await;
    tokio::time::sleep_until((since + GRACE).into()).await;
}

/// A connection that begins with a header. `None`: it has ended, the header did not come in time, or it is refused.
/// `tls`: a word of ours in clear would not be understood.
pub(super) async fn announced(
    shared: &Arc<Shared>,
    socket: Socket,
    patience: Duration,
    tls: bool,
) -> Option<(Socket, Option<Ends>)> {
    let own = socket.ends().ok()?;
    let read = |mut socket| async move {
        let header = header(&mut socket).await;
        (socket, header)
    };
    let (socket, header) = before_requests(shared, patience, socket, read).await?;
    match header {
        Ok(header) => Some((socket, header.ends.or(own))),
        Err(Failure::Over) => None,
        Err(Failure::Refused(malformed)) => {
            shared.refuse(Cause::ProxyHeader, own.as_ref(), malformed);
            if !tls {
                let mut side = Side::new(Stream::Plain(socket));
                goodbye::write(&mut side.output, 400, &malformed, true);
                goodbye::part(side, true).await;
            }
            None
        }
    }
}

/// Does `step`, which comes before any request and begins with bytes of the client. `None`: it was not done in time, or the
/// connection is to close to make room for a new client, or because of a drain before the first byte. A step that has begun
/// has its usual time in a drain as well, at most the drain's limit: its client may not know of the drain.
pub(super) async fn before_requests<T, F: Future<Output = T>>(
    shared: &Arc<Shared>,
    patience: Duration,
    socket: Socket,
    step: impl FnOnce(Socket) -> F,
) -> Option<T> {
    let whole = async {
        let mut first = [0];
        let first = socket.peek(&mut first);
        let over = over(shared.clone(), Instant::now());
        let silence = closable(shared, over, Duration::ZERO, first);
        silence.await?.ok()?;
        closable(shared, std::future::pending(), GRACE, step(socket)).await
    };
    tokio::time::timeout(patience, whole).await.ok().flatten()
}

/// Waits for `work`. `None`: the connection is `over` first, or the connection, which is idle after `grace`, is to make room.
async fn closable<T>(
    shared: &Arc<Shared>,
    over: impl Future<Output = ()>,
    grace: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut over = pin!(over);
    let (mut work, mut grace_over) = (pin!(work), pin!(tokio::time::sleep(grace)));
    let mut entered = None;
    poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        if over.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        if entered.is_none() && (grace.is_zero() || grace_over.as_mut().poll(context).is_ready()) {
            entered = Some(shared.idle.enter(context.waker()));
        }
        match &entered {
            Some(entered) if entered.is_asked_to_close() => Poll::Ready(None),
            _ => Poll::Pending,
        }
    })
    .await
}

/// Reads a header and nothing of what follows it, which may be TLS: what is at hand is looked at first, and taken as
/// far as it is the header's.
async fn header(socket: &mut Socket) -> Result<Header, Failure> {
    let mut bytes = Vec::new();
    let mut at_hand = [0; MOST];
    loop {
        let count = socket.peek(&mut at_hand).await?;
        if count == 0 {
            return Err(Failure::Over);
        }
        let before = bytes.len();
        bytes.extend_from_slice(&at_hand[..count]);
        let header = read(&bytes).map_err(Failure::Refused)?;
        let taken = header.map_or(count, |header| header.length - before);
        socket.read_exact(&mut at_hand[..taken]).await?;
        if let Some(header) = header {
            return Ok(header);
        }
    }
}
