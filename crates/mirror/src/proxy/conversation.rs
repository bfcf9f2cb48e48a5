//! One client's connection: one request after another, and whatever ends it.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

use super::Shared;
use super::begin::Begun;
use super::deadline::Deadline;
use super::exchange::{Asked, Ended, Exchange, Trouble};
use super::ledger::{Entry, Presence};
use super::serving::{Answerer, Serving};
use super::side::Side;
use super::watched::Watched;
use super::{goodbye, tunnel};
use crate::http1::{Body, Framing, Malformed, RequestHead, ResponseHead};
use crate::stream::Stream;

/// So much of what follows a request is read while it is served, to see whether its client is still there.
const AHEAD: usize = 16 << 10;

/// A connection and all that is known of it.
pub(super) struct Conversation {
    pub(super) shared: Arc<Shared>,
    number: u64,
    sequence: u32,
    pub(super) client: Side,
    pub(super) link: Option<Link>,
    pub(super) head: RequestHead,
    answer: ResponseHead,
    /// The request's head as the primary gets it; needed again where a kept connection was dead.
    forwarded: BytesMut,
    pub(super) deadline: Deadline,
    pub(super) drain: Pin<Box<dyn Future<Output = ()> + Send>>,
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
    /// Before the answer's end, so that the client can tell.
    Tear,
    /// Nobody is there any more.
    Gone,
    Tunnel(Side),
    Refused(Malformed),
}

/// Serves it to its end.
pub(super) async fn serve(shared: Arc<Shared>, socket: TcpStream, number: u64) {
    let counts = shared.counts.clone();
    let _presence = Presence::new(&counts);
    // Answers go out in one piece where they can; they need not wait for another one.
    let _ = socket.set_nodelay(true);
    let (client, acceptor) = {
        let serving = shared.serving();
        (serving.client.clone(), serving.acceptor.clone())
    };
    let stream = match acceptor {
        None => Stream::Plain(socket),
        Some(acceptor) => {
            let handshake = Box::pin(acceptor.accept(socket));
            match tokio::time::timeout(client.head_timeout, handshake).await {
                Ok(Ok(stream)) => Stream::Tls(Box::new(TlsStream::Server(stream))),
                _ => return,
            }
        }
    };
    let mut drain = shared.drain.subscribe();
    let conversation = Conversation {
        shared,
        number,
        sequence: 0,
        client: Side::new(stream),
        link: None,
        head: RequestHead::default(),
        answer: ResponseHead::default(),
        forwarded: BytesMut::new(),
        deadline: Deadline::new(client.idle_timeout),
        drain: Box::pin(async move {
            let _ = drain.wait_for(|drain| *drain).await;
        }),
    };
    conversation.run().await;
}

impl Conversation {
    async fn run(mut self) {
        loop {
            let begun = self.next_head().await;
            let end = match begun {
                Begun::Head(length) => {
                    let serving = self.shared.serving();
                    self.request(&serving, length).await
                }
                Begun::Refused(malformed) => End::Refused(malformed),
                Begun::Slow => {
                    self.shared.counts.client.refused.add(1);
                    goodbye::write(
                        &mut self.client.output,
                        408,
                        &"the head came too slowly",
                        true,
                    );
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
                    self.shared.counts.client.refused.add(1);
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
        let mut watched = None;
        if !asked.upgrades {
            watched = Watched::new(&self.head, bytes, id, place, serving, &shared.counts);
        }
        self.forwarded.clear();
        self.head.forward(bytes, &mut self.forwarded);
        self.client.input.advance(length);

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
                Ended::Silent if kept && asked.repeatable => {}
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
                ended => break (ended, begun, delimited, unread),
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
            // Whole, but nobody was there to take it: an answer that never came.
            if asked.framing.is_empty() && !matches!(ended, Ended::ClientLeft) {
                watched.request_ended();
            }
            watched.answer_ended(false);
        }
        let trouble = match ended {
            Ended::ClientLeft => return End::Gone,
            Ended::ClientMalformed(malformed) => (malformed.status(), malformed.to_string()),
            Ended::ClientSlow => (408, "the body came too slowly".to_owned()),
            Ended::Failed(trouble) => {
                entry.failed();
                (trouble.status(), trouble.to_string())
            }
            _ => {
                entry.failed();
                (Trouble::Silent.status(), Trouble::Silent.to_string())
            }
        };
        if begun {
            return if delimited {
                End::Close { unread: false }
            } else {
                End::Tear
            };
        }
        goodbye::write(
            &mut self.client.output,
            trouble.0,
            &trouble.1,
            !asked.to_head,
        );
        End::Close { unread: true }
    }

    /// The connection to the primary, and whether it was kept; a new one where there is none or it has ended.
    async fn link(&mut self, serving: &Serving) -> Result<(Link, bool), Ended> {
        if let Some(mut link) = self.link.take()
            && let Some(answerer) = serving.same(&link.answerer)
        {
            link.answerer = answerer.clone();
            // Its end, or bytes that nobody asked for: neither is a connection to ask on.
            let over = poll_fn(|cx| Poll::Ready(link.side.poll_fill(cx).is_ready())).await;
            if !over {
                return Ok((link, true));
            }
        }
        let answerer = serving.answerer(self.number);
        let patience = answerer.primary.connect_timeout;
        let client = &mut self.client;
        // Rare and large: it is not to be part of every connection's memory.
        let mut connecting = Box::pin(tokio::time::timeout(patience, answerer.dialer.connect()));
        let connected = poll_fn(|context| match connecting.as_mut().poll(context) {
            Poll::Ready(connected) => Poll::Ready(Some(connected)),
            Poll::Pending if poll_left(client, context) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        let stream = match connected.await {
            Some(Ok(Ok(stream))) => stream,
            Some(Ok(Err(error))) => {
                return Err(Ended::Failed(Trouble::Unreachable(error.to_string())));
            }
            Some(Err(_)) => return Err(Ended::Failed(Trouble::ConnectLate)),
            None => return Err(Ended::ClientLeft),
        };
        Ok((
            Link {
                side: Side::new(stream),
                answerer: answerer.clone(),
            },
            false,
        ))
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
