//! One non-blocking TCP connection and the request it carries: bytes out,
//! bytes in, parsed. It tells the engine what became of the request and knows
//! neither schedule nor statistics.

use std::net::SocketAddr;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
    sockopt,
};

use crate::parser::{Answer, Fed, ResponseParser};
use crate::tally::Failure;

/// A request under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    /// Index into the workload.
    pub(crate) request: usize,
    pub(crate) scheduled_ns: u64,
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
    /// Changes at each opening, so that an event for a former occupant of the
    /// slot is told apart.
    pub(crate) generation: u32,
    pub(crate) opened_ns: u64,
    /// Has carried a request before the present one.
    pub(crate) reused: bool,
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
            parser: ResponseParser::new(),
            unsent: Vec::new(),
            unsent_at: 0,
        }
    }

    /// Begins to connect. `Ok(true)`: already connected.
    pub(crate) fn open(&mut self, target: SocketAddr, now_ns: u64) -> Result<bool, Errno> {
        let family = if target.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let fd = socket_with(
            family,
            SocketType::STREAM,
            SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
            None,
        )?;
        sockopt::set_tcp_nodelay(&fd, true)?;
        self.generation = self.generation.wrapping_add(1);
        self.opened_ns = now_ns;
        self.reused = false;
        let connected = match connect(&fd, &target) {
            Ok(()) => true,
            Err(Errno::INPROGRESS | Errno::INTR) => false,
            Err(errno) => return Err(errno),
        };
        self.phase = if connected {
            Phase::Busy
        } else {
            Phase::Connecting
        };
        self.fd = Some(fd);
        Ok(connected)
    }

    /// Asked once the socket is writable or in error.
    pub(crate) fn finish_connect(&mut self) -> Result<(), Errno> {
        let Some(fd) = &self.fd else {
            return Err(Errno::BADF);
        };
        sockopt::socket_error(fd)??;
        self.phase = Phase::Busy;
        Ok(())
    }

    /// Closes at once; the kernel forgets the descriptor's epoll entry.
    pub(crate) fn close(&mut self) {
        self.fd = None;
        self.phase = Phase::Closed;
        self.unsent.clear();
        self.unsent_at = 0;
    }

    /// Writes a whole request, or as much as the socket takes.
    pub(crate) fn send(&mut self, bytes: &[u8], to_head: bool) -> Event {
        self.phase = Phase::Busy;
        self.parser.reset(to_head);
        self.unsent.clear();
        self.unsent_at = 0;
        match self.write(bytes) {
            Ok(written) => {
                self.unsent.extend_from_slice(&bytes[written..]);
                Event::Pending
            }
            Err(errno) => self.lost(errno),
        }
    }

    /// Goes on writing when the socket is writable again.
    pub(crate) fn continue_sending(&mut self) -> Event {
        if self.unsent.is_empty() {
            return Event::Pending;
        }
        let unsent = std::mem::take(&mut self.unsent);
        let result = self.write(&unsent[self.unsent_at..]);
        match result {
            Ok(written) if self.unsent_at + written < unsent.len() => {
                self.unsent_at += written;
                self.unsent = unsent;
                Event::Pending
            }
            Ok(_) => {
                self.unsent_at = 0;
                Event::Pending
            }
            Err(errno) => self.lost(errno),
        }
    }

    fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let Some(fd) = &self.fd else {
            return Err(Errno::BADF);
        };
        let mut written = 0;
        while written < bytes.len() {
            match send(fd, &bytes[written..], SendFlags::NOSIGNAL) {
                Ok(count) => written += count,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(written)
    }

    /// Reads what has come. `to_end`: the peer has hung up, so read until
    /// nothing is left; otherwise a short read means the socket is empty.
    pub(crate) fn receive(&mut self, buffer: &mut [u8], to_end: bool) -> Event {
        loop {
            let Some(fd) = &self.fd else {
                return Event::Pending;
            };
            match recv(fd, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => {
                    if !self.parser.started() {
                        return Event::LostBeforeAnswer(Failure::Answer(
                            crate::parser::ParseError::Truncated,
                        ));
                    }
                    return match self.parser.close() {
                        Ok(answer) => Event::Answered {
                            answer,
                            surplus: false,
                        },
                        Err(error) => Event::Failed(error.into()),
                    };
                }
                Ok((count, _)) => match self.parser.feed(&buffer[..count]) {
                    Ok(Fed::Whole {
                        mut answer,
                        consumed,
                    }) => {
                        // An answer before the request's end leaves the
                        // connection in the middle of a request.
                        answer.reusable &= self.unsent.is_empty() && consumed == count;
                        return Event::Answered {
                            answer,
                            surplus: consumed < count,
                        };
                    }
                    Ok(Fed::More) if count < buffer.len() && !to_end => return Event::Pending,
                    Ok(Fed::More) => {}
                    Err(error) => return Event::Failed(error.into()),
                },
                Err(Errno::AGAIN) => return Event::Pending,
                Err(Errno::INTR) => {}
                Err(errno) => return self.lost(errno),
            }
        }
    }

    /// On an idle connection: `None` when nothing happened, `Some(surplus)`
    /// when it must be closed.
    pub(crate) fn idle_readable(&mut self, buffer: &mut [u8]) -> Option<bool> {
        let fd = self.fd.as_ref()?;
        match recv(fd, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => Some(false),
            Ok(_) => Some(true),
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(_) => Some(false),
        }
    }

    fn lost(&self, _errno: Errno) -> Event {
        if self.parser.started() {
            Event::Failed(Failure::Reset)
        } else {
            Event::LostBeforeAnswer(Failure::Reset)
        }
    }
}
