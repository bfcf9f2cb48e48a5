//! Connections whose last answer is in, and which the server said it closes:
//! the end that closes first keeps the port in TIME_WAIT for a minute. Left to
//! the server, as HTTP has it (RFC 9112 §9.6), the client does not run out of
//! ports.

use std::collections::{HashMap, VecDeque};

use rustix::fd::OwnedFd;

/// A server that said it would close and does not has this long.
const PATIENCE_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct Lingering {
    /// By the token under which events for them arrive.
    sockets: HashMap<u64, OwnedFd>,
    /// Until when, in that order; those that the server closed may still be here.
    until: VecDeque<(u64, u64)>,
    limit: usize,
}

impl Lingering {
    /// At most `limit` sockets; beyond it the eldest is closed.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            sockets: HashMap::new(),
            until: VecDeque::new(),
            limit,
        }
    }

    pub(super) fn add(&mut self, token: u64, socket: OwnedFd, now: u64) {
        self.sockets.insert(token, socket);
        self.until.push_back((now + PATIENCE_NS, token));
        while self.sockets.len() > self.limit {
            let Some((_, eldest)) = self.until.pop_front() else {
                return;
            };
            self.sockets.remove(&eldest);
        }
        // Those that are gone from the front, so that the queue stays short.
        while let Some((_, token)) = self.until.front()
            && !self.sockets.contains_key(token)
        {
            self.until.pop_front();
        }
    }

    /// Takes the socket that an event is about, if it is here.
    pub(super) fn take(&mut self, token: u64) -> Option<OwnedFd> {
        self.sockets.remove(&token)
    }

    /// Closes those that have waited long enough.
    pub(super) fn expire(&mut self, now: u64) {
        while let Some((until, token)) = self.until.front().copied()
            && until <= now
        {
            self.until.pop_front();
            self.sockets.remove(&token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket() -> OwnedFd {
        std::fs::File::open("/dev/null").unwrap().into()
    }

    #[test]
    fn the_eldest_goes_when_there_are_too_many_and_each_when_its_time_is_over() {
        let mut lingering = Lingering::new(2);
        for token in 0..3 {
            lingering.add(token, socket(), token);
        }
        assert!(lingering.take(0).is_none());
        lingering.expire(PATIENCE_NS + 1);
        assert!(lingering.take(1).is_none());
        assert!(lingering.take(2).is_some());
        assert!(lingering.take(2).is_none());
        Lingering::new(0).add(1, socket(), 0);
    }

    #[test]
    fn the_queue_does_not_grow_with_the_sockets_that_the_server_closed() {
        let mut lingering = Lingering::new(8);
        for token in 0..10_000 {
            lingering.add(token, socket(), 0);
            lingering.take(token);
        }
        assert!(lingering.until.len() <= 8);
    }
}
