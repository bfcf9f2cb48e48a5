//! One client's connection: one request after another, and whatever ends it.

use std::fmt::Display;
use std::future::{Future, poll_fn};
use std::io::ErrorKind;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::{Buf, BytesMut};
use tokio_rustls::TlsStream;

use super::Shared;
use super::begin::{Begun, Between, next_head};
use super::deadline::Deadline;
use super::dial::dial;
use super::exchange::{Asked, Ended, Exchange, Trouble};
use super::ledger::{Entry, Presence};
use super::serving::{Answerer, Serving};
use super::side::Side;
use super::watched::Watched;
use super::{arrival, goodbye, tunnel};
use crate::Cause;
use crate::http1::{Body, Forwarded, Framing, Hop, Malformed, RequestHead, ResponseHead};
use crate::proxy_protocol::{self, Ends};
use crate::socket::Socket;
use crate::stream::Stream;

/// So much of what follows a request is read while it is served, to see whether its client is still there.
const AHEAD: usize = 16 << 10;

/// A connection and all that is known of it.
pub(super) struct Conversation {
    pub(super) shared: Arc<Shared>,
    number: u64,
    sequence: u32,
    /// The peer, as far as it is known.
    ends: Option<Ends>,
    pub(super) client: Side,
    pub(super) link: Option<Link>,
    pub(super) head: RequestHead,
    answer: ResponseHead,
    /// The request's head as the primary gets it; needed again where a kept connection was dead.
    forwarded: BytesMut,
    pub(super) deadline: Deadline,
    /// A drain closes this connection as soon as it is idle.
    pub(super) over: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// The connection to the primary.
pub(super) struct Link {
    pub(super) side: Side,
    answerer: Arc<Answerer>,
}

/// How a request leaves its connection.
enum End {
    Keep,
    /// Written out first; the client may still be sending.
    Close {
        unread: bool,
    },
    /// Before the answer's end, so that the client sees that it is cut.
    Tear,
    /// The client is gone.
    Gone,
    Tunnel(Side),
    Refused(Malformed),
}

/// Serves it to its end.
pub(super) async fn serve(shared: Arc<Shared>, socket: Socket, number: u64) {
    let counts = shared.counts.clone();
    let _presence = Presence::new(&counts);
    // Answers go out in one piece where they can; they need not wait for another one.
    socket.set_nodelay();
    let (client, acceptor, proxy_protocol) = {
        let serving = shared.serving();
        let acceptor = serving.acceptor.clone();
        (serving.client.clone(), acceptor, serving.proxy_protocol)
    };
    let arrival = if proxy_protocol {
        // Rare and large: it is not to be part of every connection's memory.
        Box::pin(arrival::announced(
            &shared,
            socket,
            client.head_timeout,
            acceptor.is_some(),
        ))
        .await
    } else {
        arrival::plain(socket)
    };
    let Some((socket, ends)) = arrival else {
        return;
    };
    let stream = match acceptor {
        None => Stream::Plain(socket),
        Some(acceptor) => {
            let accept = |socket| acceptor.accept(socket);
            let handshake = arrival::before_requests(&shared, client.head_timeout, socket, accept);
            match Box::pin(handshake).await {
                Some(Ok(stream)) => Stream::Tls(Box::new(TlsStream::Server(stream))),
                // Not a connection that merely ends: balancers probe so.
                Some(Err(error)) if error.kind() == ErrorKind::InvalidData => {
                    return shared.refuse(Cause::TlsHandshake, ends.as_ref(), error);
                }
                _ => return,
            }
        }
    };
    // The client could not send its first request before the handshake was done.
    let over = arrival::over(shared.clone(), Instant::now());
    let conversation = Conversation {
        shared,
        number,
        sequence: 0,
        ends,
        client: Side::new(stream),
        link: None,
        head: RequestHead::default(),
        answer: ResponseHead::default(),
        forwarded: BytesMut::new(),
        deadline: Deadline::new(client.idle_timeout),
        over: Box::pin(over),
    };
    conversation.run().await;
}

impl Conversation {
    async fn run(mut self) {
        loop {
            let begun = next_head(Between {
                shared: &self.shared,
                client: &mut self.client,
                primary: self.link.as_mut().map(|link| &mut link.side),
                head: &mut self.head,
                deadline: &mut self.deadline,
                over: &mut self.over,
            })
            .await;
            let end = match begun {
                Begun::Head(length) => {
                    let serving = self.shared.serving();
                    self.request(&serving, length).await
                }
                Begun::Refused(malformed) => End::Refused(malformed),
                Begun::Slow => {
                    let why = "the head came too slowly";
                    self.refuse(Cause::HeadTimeout, &why);
                    goodbye::write(&mut self.client.output, 408, &why, true);
                    End::Close { unread: true }
                }
                Begun::Over => End::Close { unread: false },
            };
            let unread = match end {
                End::Keep => {
                    self.head.clear();
                    continue;
                }
                End::Refused(malformed) => {
                    self.refuse(malformed.into(), &malformed);
                    let out = &mut self.client.output;
                    goodbye::write(out, malformed.status(), &malformed, true);
                    true
                }
                End::Close { unread } => unread,
                End::Tear => return goodbye::tear(self.client),
                End::Gone => return,
                End::Tunnel(primary) => return tunnel::relay(self.client, primary).await,
            };
            // The primary need not wait for a client that takes its time to leave.
            self.link = None;
            return goodbye::part(self.client, unread).await;
        }
    }

    fn refuse(&self, cause: Cause, why: &dyn Display) {
        self.shared.refuse(cause, self.ends.as_ref(), why);
    }

    /// Serves the request whose head is the first `length` bytes at hand.
    async fn request(&mut self, serving: &Serving, length: usize) -> End {
        if self.head.framing() == Framing::Chunked
            && let Err(malformed) = check(&self.client.input[length..])
        {
            return End::Refused(malformed);
        }
        let shared = self.shared.clone();
        let entry = Entry::open(&shared.counts);
        let id = shared.requests.fetch_add(1, Ordering::Relaxed) + 1;
        self.sequence = self.sequence.saturating_add(1);
        let bytes = &self.client.input[..length];
        let asked = Asked::new(&self.head, bytes);
        let place = (self.number, self.sequence);
        let hop = Hop {
            client: self.ends.map(|ends| ends.client().ip()),
            tls: matches!(self.client.stream, Stream::Tls(_)),
        };
        let forwarded = Forwarded::new(serving.client.forwarded, hop, &self.head, bytes);
        let mut watched = None;
        for cause in self.head.tolerated() {
            shared.counts.client.tolerated[*cause as usize].add(1);
        }
        if !asked.upgrades && self.head.has_text() {
            let read = (bytes, &forwarded);
            watched = Watched::new(&self.head, read, id, place, serving, &shared.counts);
        }
        self.forwarded.clear();
        self.head.forward(bytes, &forwarded, &mut self.forwarded);
        self.client.input.advance(length);

        // Whose failure it would be.
        let mut answerer = None;
        let (ended, begun, delimited, unread) = loop {
            let (mut link, kept) = match self.link(serving).await {
                Ok(link) => link,
                Err(ended) => break (ended, false, true, true),
            };
            link.side.output.extend_from_slice(&self.forwarded);
            let mut exchange = Exchange::new(
                &shared,
                &asked,
                (&mut self.client, &mut link.side),
                &mut self.answer,
                watched.as_mut(),
                (
                    serving.client.idle_timeout,
                    link.answerer.primary.answer_timeout,
                ),
            );
            let ended = exchange.run(&mut self.deadline).await;
            let (begun, delimited) = (exchange.begun(), exchange.is_delimited());
            let unread = !exchange.request.is_ended();
            match ended {
                // The primary closed a connection that it could have closed before the request came: without us
                // the client would have seen that in time, or asked again itself.
                Ended::Silent if kept && asked.repeatable => {
                    shared.counts.client.causes.add(Cause::DeadConnection);
                }
                Ended::Whole { keep: true } => {
                    if let Some(watched) = watched {
                        watched.answer_ended(true);
                    }
                    entry.answered();
                    link.side.rest();
                    self.client.rest();
                    self.link = Some(link);
                    return End::Keep;
                }
                Ended::Upgraded => {
                    shared.counts.client.upgraded.add(1);
                    entry.answered();
                    return End::Tunnel(link.side);
                }
                ended => {
                    answerer = Some(link.answerer);
                    break (ended, begun, delimited, unread);
                }
            }
        };
        if let Ended::Whole { .. } = ended {
            if let Some(watched) = watched {
                watched.answer_ended(true);
            }
            entry.answered();
            return End::Close { unread };
        }
        if let Some(mut watched) = watched {
            // Whole, but the client was gone: an answer that never came.
            if asked.framing.is_empty() && !matches!(ended, Ended::ClientLeft) {
                watched.request_ended(Instant::now());
            }
            watched.answer_ended(false);
        }
        let (status, text) = match ended {
            Ended::ClientLeft => {
                entry.ended(Cause::ClientLeft);
                return End::Gone;
            }
            Ended::ClientMalformed(malformed) => {
                entry.ended_with(Cause::MalformedBody, &malformed);
                (malformed.status(), malformed.to_string())
            }
            Ended::ClientSlow => {
                entry.ended(Cause::ClientTimeout);
                (408, "the body came too slowly".to_owned())
            }
            ended => {
                let trouble = match ended {
                    Ended::Failed(trouble) => trouble,
                    _ => Trouble::Silent,
                };
                entry.ended_with(trouble.cause(), &trouble.for_log(answerer.as_deref()));
                (trouble.status(), trouble.to_string())
            }
        };
        if begun {
            return if delimited {
                End::Close { unread: false }
            } else {
                End::Tear
            };
        }
        goodbye::write(&mut self.client.output, status, &text, !asked.to_head);
        End::Close { unread: true }
    }

    /// The connection to the primary, and whether it was kept; a new one where there is none or it has ended.
    async fn link(&mut self, serving: &Serving) -> Result<(Link, bool), Ended> {
        if let Some(mut link) = self.link.take()
            && let Some(answerer) = serving.same(&link.answerer)
        {
            link.answerer = answerer.clone();
            // Its end, or bytes without a request: neither is a connection to ask on.
            let over = poll_fn(|cx| Poll::Ready(link.side.poll_fill(cx).is_ready())).await;
            if !over {
                return Ok((link, true));
            }
        }
        let mut failed: Option<Trouble> = None;
        for answerer in serving.answerers(self.number) {
            if let Some(trouble) = failed.take() {
                let causes = &self.shared.counts.client.causes;
                causes.add_with(Cause::PrimarySkipped, trouble.for_log(None));
            }
            match self.connect(answerer).await {
                Some(Ok(stream)) => {
                    let (side, answerer) = (Side::new(stream), answerer.clone());
                    return Ok((Link { side, answerer }, false));
                }
                // Nothing of the request was sent: another primary may have it.
                Some(Err(trouble)) => failed = Some(trouble),
                None => return Err(Ended::ClientLeft),
            }
        }
        // There is always a primary.
        Err(Ended::Failed(failed.unwrap_or(Trouble::Silent)))
    }

    /// A new connection to this primary; `None` where the client leaves meanwhile.
    async fn connect(&mut self, answerer: &Answerer) -> Option<Result<Stream, Trouble>> {
        let beginning = answerer.primary.proxy_protocol;
        let beginning = beginning.map(|version| proxy_protocol::write(version, self.ends.as_ref()));
        let beginning = beginning.unwrap_or_default();
        let client = &mut self.client;
        // Rare and large: it is not to be part of every connection's memory.
        let mut connecting = Box::pin(dial(&self.shared, answerer, &beginning));
        let connected = poll_fn(|context| match connecting.as_mut().poll(context) {
            Poll::Ready(connected) => Poll::Ready(Some(connected)),
            Poll::Pending if poll_left(client, context) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        connected.await
    }
}

/// Whether the client has left, as far as can be seen without waiting; what it sends meanwhile is kept.
pub(super) fn poll_left(client: &mut Side, context: &mut Context<'_>) -> bool {
    while client.input.len() < AHEAD {
        match client.poll_fill(context) {
            Poll::Ready(Ok(0) | Err(_)) => return true,
            Poll::Ready(Ok(_)) => {}
            Poll::Pending => return false,
        }
    }
    false
}

/// Looks through the chunks that came with their head, so that the primary sees nothing of a request that is refused.
fn check(mut bytes: &[u8]) -> Result<(), Malformed> {
    let mut body = Body::new(Framing::Chunked);
    loop {
        let piece = body.next(bytes)?;
        if piece.ended || piece.data == 0 {
            return Ok(());
        }
        bytes = &bytes[piece.skip + piece.data..];
    }
}
