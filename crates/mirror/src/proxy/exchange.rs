//! One request and its answer, both on their way at the same time: what they say
//! of each other, whose turn it is, and how it ends. `relay` moves the bytes.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::Shared;
use super::deadline::Deadline;
use super::serving::Answerer;
use super::side::Side;
use super::watched::Watched;
use crate::Cause;
use crate::http1::{
    AnswerTo, Body, Framing, HeadLimits, Malformed, RequestHead, ResponseHead, Version,
};

/// What of a request decides what becomes of its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) version: Version,
    pub(super) framing: Framing,
    /// HEAD: the answer has no body.
    pub(super) to_head: bool,
    /// The client would keep its connection.
    keeps: bool,
    expects_continue: bool,
    pub(super) upgrades: bool,
    /// To ask twice does no more than to ask once, and there is no body that has gone.
    pub(super) repeatable: bool,
}

impl Asked {
    pub(super) fn new(head: &RequestHead, bytes: &[u8]) -> Self {
        let method = head.method(bytes);
        let idempotent = matches!(
            method,
            "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE"
        );
        Self {
            version: head.version(),
            framing: head.framing(),
            to_head: method == "HEAD",
            keeps: head.keeps(),
            expects_continue: head.expects_continue(),
            upgrades: head.upgrades(bytes),
            repeatable: idempotent && head.framing().is_empty(),
        }
    }
}

/// What the primary did instead of answering. The client gets the sentence; the system's error, and the primary's address,
/// are for the log.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("the primary cannot be reached")]
    Unreachable(String),
    #[error("the primary did not accept a connection in time")]
    ConnectLate(String),
    #[error("the primary closed its connection without an answer")]
    Silent,
    #[error("the primary did not answer in time")]
    Late,
    #[error("the primary's answer is malformed: {0}")]
    Malformed(Malformed),
    #[error("the primary closed its connection in the middle of its answer")]
    Cut,
}

impl Trouble {
    pub(super) fn status(&self) -> u16 {
        if matches!(self, Self::Late) { 504 } else { 502 }
    }

    pub(super) fn cause(&self) -> Cause {
        match self {
            Self::Unreachable(_) => Cause::Unreachable,
            Self::ConnectLate(_) => Cause::ConnectTimeout,
            Self::Silent => Cause::NoAnswer,
            Self::Late => Cause::AnswerTimeout,
            Self::Malformed(_) => Cause::MalformedAnswer,
            Self::Cut => Cause::AnswerCut,
        }
    }

    /// Where it was and what happened there.
    pub(super) fn for_log(&self, answerer: Option<&Answerer>) -> String {
        let at = answerer.map(ToString::to_string).unwrap_or_default();
        match self {
            Self::Unreachable(words) | Self::ConnectLate(words) => words.clone(),
            Self::Malformed(malformed) => format!("{at}: {malformed}"),
            Self::Silent | Self::Late | Self::Cut => at,
        }
    }
}

/// How an exchange ends.
#[derive(Debug)]
pub(super) enum Ended {
    /// The answer went out whole; both connections may be kept, or not.
    Whole {
        keep: bool,
    },
    /// 101 went out: no more messages.
    Upgraded,
    /// The primary's connection ended before any byte of an answer.
    Silent,
    Failed(Trouble),
    ClientLeft,
    /// It neither sends what it announced nor takes what it asked for.
    ClientSlow,
    ClientMalformed(Malformed),
}

/// How far the answer has come.
#[derive(Debug)]
pub(super) enum Coming {
    Head,
    Body(Body),
    Done,
}

/// One request and its answer.
pub(super) struct Exchange<'e> {
    shared: &'e Shared,
    pub(super) asked: &'e Asked,
    pub(super) client: &'e mut Side,
    pub(super) primary: &'e mut Side,
    pub(super) head: &'e mut ResponseHead,
    pub(super) watched: Option<&'e mut Watched>,
    idle: Duration,
    patience: Option<Duration>,
    pub(super) request: Body,
    /// When the request's last byte was written.
    pub(super) given: Option<Instant>,
    /// The same, where the answer began afterwards: otherwise there is no time that it took.
    timed: Option<Instant>,
    /// The primary reads no more of the request; it may have answered before.
    pub(super) broken: bool,
    pub(super) coming: Coming,
    /// The answer goes out in chunks.
    pub(super) chunked: bool,
    /// The final head is written.
    begun: bool,
    delimited: bool,
    interim: bool,
    /// Something of the request's body has come.
    pub(super) sending: bool,
    pub(super) keep: bool,
    pub(super) upgraded: bool,
    /// Any byte came from the primary.
    pub(super) heard: bool,
    pub(super) first_byte: Option<Instant>,
    /// Bytes moved since this was last looked at.
    pub(super) moved: bool,
    progress: Instant,
}

impl<'e> Exchange<'e> {
    /// The request's head waits in the primary's output already. `limits`: how long the client, and how long the
    /// primary may do nothing.
    pub(super) fn new(
        shared: &'e Shared,
        asked: &'e Asked,
        (client, primary): (&'e mut Side, &'e mut Side),
        head: &'e mut ResponseHead,
        watched: Option<&'e mut Watched>,
        (idle, patience): (Duration, Option<Duration>),
    ) -> Self {
        head.clear();
        Self {
            shared,
            asked,
            client,
            primary,
            head,
            watched,
            idle,
            patience,
            request: Body::new(asked.framing),
            given: None,
            timed: None,
            broken: false,
            coming: Coming::Head,
            chunked: false,
            begun: false,
            delimited: true,
            interim: false,
            sending: false,
            keep: false,
            upgraded: false,
            heard: false,
            first_byte: None,
            moved: false,
            progress: Instant::now(),
        }
    }

    /// The client has been given the final head, or will be.
    pub(super) fn begun(&self) -> bool {
        self.begun
    }

    /// The client can distinguish a cut answer from a whole one.
    pub(super) fn is_delimited(&self) -> bool {
        self.delimited
    }

    /// To its end.
    pub(super) async fn run(&mut self, deadline: &mut Deadline) -> Ended {
        let ended = poll_fn(|context| match self.poll(context, deadline) {
            Ok(()) => Poll::Pending,
            Err(ended) => Poll::Ready(ended),
        })
        .await;
        // Whatever became of the rest of the request, its answer went out whole.
        let whole = matches!(self.coming, Coming::Done) && !self.client.owes() && !self.upgraded;
        match ended {
            Ended::ClientLeft | Ended::ClientSlow | Ended::ClientMalformed(_) if whole => {
                Ended::Whole { keep: false }
            }
            ended => ended,
        }
    }

    fn poll(&mut self, context: &mut Context<'_>, deadline: &mut Deadline) -> Result<(), Ended> {
        self.poll_request(context)?;
        self.poll_answer(context)?;
        let wrote = self.client.wrote() | self.primary.wrote();
        if std::mem::take(&mut self.moved) | wrote {
            self.progress = Instant::now();
        }
        let to_take = self.client.owes();
        // A client that asked whether to send its body waits for an answer.
        let asks = self.asked.expects_continue && !self.interim && !self.sending;
        let to_send = !self.request.is_ended() && !self.broken && !self.primary.owes() && !asks;
        let clients_turn = to_take || to_send;
        deadline.set(
            self.progress,
            if clients_turn {
                Some(self.idle)
            } else {
                self.patience
            },
        );
        match deadline.poll_passed(context) {
            false => Ok(()),
            true if clients_turn => Err(Ended::ClientSlow),
            true => Err(Ended::Failed(Trouble::Late)),
        }
    }

    /// A head is there, the first `length` bytes at hand: what the client gets of it, and what follows it.
    pub(super) fn take_head(&mut self, length: usize) -> Result<(), Ended> {
        let bytes = &self.primary.input[..length];
        let head = &*self.head;
        let version = self.asked.version;
        if head.is_interim() {
            // A client of HTTP/1.0 knows no answer before the answer.
            if version == Version::Http11 {
                let to = AnswerTo {
                    version,
                    keep: true,
                    chunked: false,
                };
                head.forward(bytes, to, &mut self.client.output);
                self.interim = true;
            }
            self.pass_head(length);
            self.head.clear();
            self.first_byte = (!self.primary.input.is_empty()).then(Instant::now);
            return Ok(());
        }
        self.upgraded = head.status() == 101;
        if self.upgraded && !self.asked.upgrades {
            return Err(Ended::Failed(Trouble::Malformed(Malformed::Status)));
        }
        let framing = head.framing();
        let sized = matches!(framing, Framing::Length(_));
        self.chunked = !sized && version == Version::Http11;
        self.delimited = sized || self.chunked;
        // It is unknown whether its body follows: the client may keep it back and send its next request.
        let unclear = self.asked.expects_continue && !self.interim && !self.request.is_ended();
        self.keep = self.asked.keeps
            && head.keeps()
            && self.delimited
            && !self.broken
            && !unclear
            && !self.shared.draining();
        let announced = head.declared() == Some(Framing::Chunked) && version == Version::Http11;
        let of_head = self.asked.to_head && !matches!(head.status(), 204 | 304);
        let chunked = self.chunked || (of_head && announced);
        let to = AnswerTo {
            version,
            keep: self.keep,
            chunked,
        };
        head.forward(bytes, to, &mut self.client.output);
        self.begun = true;
        let first_byte = self.first_byte.unwrap_or_else(Instant::now);
        let primary = &self.shared.counts.primary;
        primary.answer(head.status());
        let took = self
            .given
            .and_then(|given| first_byte.checked_duration_since(given));
        if let Some(took) = took {
            self.timed = self.given;
            primary.first_byte.add(took);
        }
        if let Some(watched) = &mut self.watched {
            watched.answer_head(head, bytes, first_byte);
        }
        self.pass_head(length);
        let body = Body::new(framing);
        if self.upgraded {
            // What follows belongs to the tunnel.
            self.coming = Coming::Done;
        } else if body.is_ended() {
            self.answer_ended();
        } else {
            self.coming = Coming::Body(body);
        }
        Ok(())
    }

    /// The answer's last byte has come.
    pub(super) fn answer_ended(&mut self) {
        self.coming = Coming::Done;
        if let Some(given) = self.timed {
            self.shared.counts.primary.whole.add(given.elapsed());
        }
    }

    fn pass_head(&mut self, length: usize) {
        bytes::Buf::advance(&mut self.primary.input, length);
    }

    /// The primary will say no more; `orderly`, or its connection broke.
    pub(super) fn primary_ended(&mut self, orderly: bool) -> Result<(), Ended> {
        match &self.coming {
            Coming::Head if !self.heard => Err(Ended::Silent),
            Coming::Body(body) if orderly && body.ends_with_connection() => {
                if self.chunked {
                    crate::http1::last_chunk(&mut self.client.output);
                }
                self.answer_ended();
                Ok(())
            }
            _ => Err(Ended::Failed(Trouble::Cut)),
        }
    }
}

/// Of answers.
pub(super) const LIMITS: HeadLimits = HeadLimits::ANSWERS;
