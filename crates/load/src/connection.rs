//! One connection and the request it carries: bytes out, bytes in, parsed. It
//! reports the request's outcome to the engine and knows neither schedule nor
//! statistics.

use std::ops::ControlFlow;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt;

use crate::clock::monotonic_ns;
use crate::failure::Failure;
use crate::parser::{Answer, Fed, Kept, ParseError, ResponseParser};
use crate::target::Target;
use crate::transport;
use crate::transport::tls::{self, Session};

/// Readings of one turn: an answer without end must not keep all others waiting.
const READS: u32 = 16;

/// A request under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    /// Index into the workload.
    pub(crate) request: usize,
    /// Whose step it is, or which row it takes; means nothing where neither is.
    pub(crate) who: u32,
    pub(crate) scheduled_ns: u64,
    /// The generator's own delay, as far as it is part of the response time.
    pub(crate) late_ns: u64,
    /// 0 until the first byte was written.
    pub(crate) sent_ns: u64,
    pub(crate) deadline_ns: u64,
    /// Already on its second connection.
    pub(crate) retried: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Closed,
    Connecting,
    /// The TLS handshake, on a connection that stands.
    Handshaking,
    /// A request is being sent or its answer awaited.
    Busy,
    Idle,
}

/// What readiness led to.
#[derive(Debug)]
pub(crate) enum Event {
    Pending,
    Answered {
        answer: Answer,
        /// Bytes followed the answer.
        surplus: bool,
    },
    /// The connection ended before any byte of the answer.
    LostBeforeAnswer(Failure),
    Failed(Failure),
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) fd: Option<OwnedFd>,
    pub(crate) phase: Phase,
    pub(crate) job: Option<Job>,
    /// Changes at each opening, which distinguishes events for a former
    /// occupant of the slot.
    pub(crate) generation: u32,
    pub(crate) opened_ns: u64,
    /// Has carried a request before the present one.
    pub(crate) reused: bool,
    /// When the first byte of the final answer was read, or of what may turn
    /// out to be it.
    pub(crate) first_byte_ns: u64,
    /// When the latest bytes were read.
    pub(crate) read_ns: u64,
    /// The peer has closed its side.
    pub(crate) hung_up: bool,
    /// The socket may hold more than one turn reads, which brings no event.
    pub(crate) unread: bool,
    /// Plain text that came with the end of the TLS handshake; normally empty.
    early: Vec<u8>,
    tls: Option<Box<Session>>,
    parser: ResponseParser,
    /// What the socket would not take at once; normally empty.
    unsent: Vec<u8>,
    unsent_at: usize,
}

impl Connection {
    pub(crate) fn new() -> Self {
        Self {
            fd: None,
            phase: Phase::Closed,
            job: None,
            generation: 0,
            opened_ns: 0,
            reused: false,
            first_byte_ns: 0,
            read_ns: 0,
            hung_up: false,
            unread: false,
            early: Vec::new(),
            tls: None,
            parser: ResponseParser::new(),
            unsent: Vec::new(),
            unsent_at: 0,
        }
    }

    /// Begins to connect. `Ok(true)`: already connected.
    pub(crate) fn open(&mut self, target: &Target, now_ns: u64) -> Result<bool, Errno> {
        let (fd, connected) = transport::open(target.address())?;
        self.generation = self.generation.wrapping_add(1);
        self.opened_ns = now_ns;
        self.reused = false;
        self.hung_up = false;
        self.unread = false;
        self.early.clear();
        self.phase = Phase::Connecting;
        self.fd = Some(fd);
        Ok(connected)
    }

    /// Asked once the socket is writable or in error.
    pub(crate) fn finish_connect(&mut self) -> Result<(), Errno> {
        let Some(fd) = &self.fd else {
            return Err(Errno::BADF);
        };
        sockopt::socket_error(fd)??;
        Ok(())
    }

    /// The connection stands: says the first words of a TLS handshake.
    pub(crate) fn begin_handshake(&mut self, target: &Target) -> Result<(), Failure> {
        let Some(settings) = target.tls() else {
            return Ok(());
        };
        self.phase = Phase::Handshaking;
        let session =
            Session::new(settings).map_err(|error| Failure::Tls(tls::explained(&error).into()))?;
        self.tls
            .insert(Box::new(session))
            .seal(&[], &mut self.unsent);
        self.flush().map_err(|_| ended_in_handshake())
    }

    /// Goes on with the handshake. True: it is done.
    pub(crate) fn continue_handshake(&mut self, buffer: &mut [u8]) -> Result<bool, Failure> {
        self.flush().map_err(|_| ended_in_handshake())?;
        loop {
            let (Some(fd), Some(session)) = (&self.fd, &mut self.tls) else {
                return Ok(false);
            };
            let count = match transport::read(fd, buffer) {
                Ok(0) => return Err(ended_in_handshake()),
                Ok(count) => count,
                Err(Errno::AGAIN) => return Ok(false),
                Err(_) => return Err(ended_in_handshake()),
            };
            // A server may speak before it was asked; that waits for the request.
            let early = &mut self.early;
            let fed = session.feed(&buffer[..count], |chunk| {
                early.extend_from_slice(chunk);
                ControlFlow::Continue(())
            });
            if fed.is_ok() && !session.is_handshaking() {
                // The last words of the handshake go with the request.
                return Ok(true);
            }
            session.seal(&[], &mut self.unsent);
            // After an error this is the alert, which the server is owed but
            // need not take.
            let flushed = self.flush();
            fed.map_err(|error| Failure::Tls(tls::explained(&error).into()))?;
            flushed.map_err(|_| ended_in_handshake())?;
        }
    }

    /// Closes; the kernel forgets the descriptor's epoll entry.
    pub(crate) fn close(&mut self) {
        drop(self.part());
    }

    /// Makes the slot free and returns the socket, nothing of ours being left
    /// to send on it.
    pub(crate) fn part(&mut self) -> Option<OwnedFd> {
        self.forget();
        let fd = self.fd.take();
        if let (Some(fd), Some(mut session)) = (&fd, self.tls.take())
            && !session.is_handshaking()
            && !session.ended()
            && self.unsent.is_empty()
        {
            // Not awaited, and lost on a socket that is full.
            session.seal_end(&mut self.unsent);
            let _ = transport::write(fd, &self.unsent);
        }
        self.phase = Phase::Closed;
        self.unsent.clear();
        self.unsent_at = 0;
        fd
    }

    /// Writes a whole request, or as much as the socket takes.
    pub(crate) fn send(&mut self, bytes: &[u8], to_head: bool) -> Event {
        self.phase = Phase::Busy;
        self.parser.reset(to_head);
        if let Some(session) = &mut self.tls {
            session.seal(bytes, &mut self.unsent);
            return self.continue_sending();
        }
        let Some(fd) = &self.fd else {
            return self.lost();
        };
        match transport::write(fd, bytes) {
            Ok(written) => {
                self.unsent.extend_from_slice(&bytes[written..]);
                Event::Pending
            }
            Err(_) => self.lost(),
        }
    }

    /// Has the whole request gone out?
    pub(crate) fn is_sent(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Keeps the head of the answer to the request that was sent last, and its
    /// body if `body`.
    pub(crate) fn keep(&mut self, body: bool) {
        self.parser.keep(body);
    }

    /// Where a redirect sends the client; `None` of other answers.
    pub(crate) fn location(&self) -> Option<&str> {
        self.parser.location()
    }

    /// What was kept of the answer.
    pub(crate) fn kept(&self) -> Kept<'_> {
        self.parser.kept()
    }

    /// Lets go of what was kept: as much as a MiB, and an idle connection may
    /// stay so for long.
    pub(crate) fn forget(&mut self) {
        self.parser.forget();
    }

    /// Goes on writing when the socket is writable again.
    pub(crate) fn continue_sending(&mut self) -> Event {
        match self.flush() {
            Ok(()) => Event::Pending,
            Err(_) => self.lost(),
        }
    }

    fn flush(&mut self) -> Result<(), Errno> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let Some(fd) = &self.fd else {
            return Err(Errno::BADF);
        };
        self.unsent_at += transport::write(fd, &self.unsent[self.unsent_at..])?;
        if self.unsent_at == self.unsent.len() {
            self.unsent.clear();
            self.unsent_at = 0;
        }
        Ok(())
    }

    /// Reads what has come, or notes that there is more of it. `to_end`: the
    /// peer has hung up, so read until nothing is left; otherwise a short read
    /// means the socket is empty.
    pub(crate) fn receive(&mut self, buffer: &mut [u8], to_end: bool) -> Event {
        if !self.early.is_empty() {
            self.read_ns = monotonic_ns();
            let early = std::mem::take(&mut self.early);
            let event = self.taken(&early, false);
            if !matches!(event, Event::Pending) {
                return event;
            }
        }
        for _ in 0..READS {
            let Some(fd) = &self.fd else {
                return Event::Pending;
            };
            let count = match transport::read(fd, buffer) {
                Ok(count) => count,
                Err(Errno::AGAIN) => return Event::Pending,
                Err(_) => return self.lost(),
            };
            self.read_ns = monotonic_ns();
            if count == 0 {
                return self.at_end();
            }
            let event = self.taken(&buffer[..count], self.tls.is_some());
            if !matches!(event, Event::Pending) || (count < buffer.len() && !to_end) {
                return event;
            }
        }
        self.unread = true;
        Event::Pending
    }

    /// Hands the parser what was read.
    fn taken(&mut self, bytes: &[u8], sealed: bool) -> Event {
        let heads = self.parser.heads();
        let event = if sealed {
            self.unseal(bytes)
        } else {
            match self.parser.feed(bytes) {
                Ok(Fed::More) => Event::Pending,
                Ok(Fed::Whole { answer, consumed }) => self.whole(answer, consumed < bytes.len()),
                Err(error) => Event::Failed(error.into()),
            }
        };
        if self.parser.heads() != heads {
            self.first_byte_ns = self.read_ns;
        }
        event
    }

    /// As feeding the parser, for bytes of a TLS session.
    fn unseal(&mut self, bytes: &[u8]) -> Event {
        let Some(session) = &mut self.tls else {
            return Event::Pending;
        };
        let parser = &mut self.parser;
        let mut whole = None;
        let mut broken = None;
        let fed = session.feed(bytes, |chunk| {
            match (&mut whole, parser.feed(chunk)) {
                (Some((_, surplus)), _) => *surplus = true,
                (None, Ok(Fed::More)) => {}
                (None, Ok(Fed::Whole { answer, consumed })) => {
                    whole = Some((answer, consumed < chunk.len()));
                }
                (None, Err(error)) => {
                    broken = Some(error);
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        let ended = session.ended();
        if let Some(error) = broken {
            return Event::Failed(error.into());
        }
        if let Some((mut answer, surplus)) = whole {
            answer.reusable &= fed.is_ok() && !ended;
            return self.whole(answer, surplus);
        }
        if let Err(error) = fed {
            return Event::Failed(Failure::Tls(tls::explained(&error).into()));
        }
        if ended { self.ended() } else { Event::Pending }
    }

    fn whole(&self, mut answer: Answer, surplus: bool) -> Event {
        // An answer before the request's end leaves the connection in the
        // middle of a request.
        answer.reusable &= self.unsent.is_empty() && !surplus;
        Event::Answered { answer, surplus }
    }

    /// The peer's bytes are over without a reset.
    fn at_end(&mut self) -> Event {
        self.hung_up = true;
        // Without TLS's own end an attacker may have cut it short (RFC 9112
        // §9.8).
        if self.tls.is_some() && self.parser.started() {
            return Event::Failed(ParseError::Truncated.into());
        }
        self.ended()
    }

    fn ended(&mut self) -> Event {
        if !self.parser.started() {
            return Event::LostBeforeAnswer(ParseError::Truncated.into());
        }
        match self.parser.close() {
            Ok(answer) => Event::Answered {
                answer,
                surplus: false,
            },
            Err(error) => Event::Failed(error.into()),
        }
    }

    /// On an idle connection: `None` when nothing happened, `Some(surplus)`
    /// when it must be closed.
    pub(crate) fn idle_readable(&mut self, buffer: &mut [u8]) -> Option<bool> {
        // To the end, because what ends the connection may follow a session's
        // tickets within the same event.
        loop {
            let fd = self.fd.as_ref()?;
            let count = match transport::read(fd, buffer) {
                Ok(0) => return Some(false),
                Ok(count) => count,
                Err(Errno::AGAIN) => return None,
                Err(_) => return Some(false),
            };
            let Some(session) = &mut self.tls else {
                return Some(true);
            };
            // Tickets for later sessions, for instance, are no answer.
            let mut surplus = false;
            let fed = session.feed(&buffer[..count], |_| {
                surplus = true;
                ControlFlow::Break(())
            });
            if surplus || session.ended() || fed.is_err() {
                return Some(surplus);
            }
        }
    }

    fn lost(&self) -> Event {
        if self.parser.started() {
            Event::Failed(Failure::Reset)
        } else {
            Event::LostBeforeAnswer(Failure::Reset)
        }
    }
}

fn ended_in_handshake() -> Failure {
    Failure::Tls("the server ended the connection during the TLS handshake".into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn one_turn_reads_so_much_and_the_next_goes_on() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Target::from(listener.local_addr().unwrap());
        let mut connection = Connection::new();
        connection.open(&target, 1).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        connection.finish_connect().unwrap();
        assert!(matches!(connection.send(b"GET", false), Event::Pending));
        let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n".to_vec();
        answer.resize(answer.len() + 4000, b'x');
        server.write_all(&answer).unwrap();

        // So small a buffer that the answer takes several turns.
        let mut buffer = [0; 64];
        let mut turns = 1;
        loop {
            connection.unread = false;
            match connection.receive(&mut buffer, false) {
                Event::Answered { .. } => break,
                Event::Pending => turns += u32::from(connection.unread),
                other => panic!("{other:?}"),
            }
        }
        let most = READS as usize * buffer.len();
        assert_eq!(turns as usize, answer.len().div_ceil(most));
    }
}
