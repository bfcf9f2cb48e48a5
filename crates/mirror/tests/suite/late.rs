//! A primary that is there and completes no connection within `connect_timeout`: the next one answers, or the client learns why
//! none did.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::support::primary::{Scripted, ok};
use crate::support::tls::Authority;
use crate::support::{PATIENCE, Peer, Served, settings};
use mirror::{Cause, Nobody};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const SOON: Duration = Duration::from_millis(50);

/// A server whose listen queue is full: the kernel ignores new connections.
struct Full {
    listener: TcpListener,
    queued: Vec<TcpStream>,
}

impl Full {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // The kernel queues one connection more than it was asked to.
        rustix::net::listen(&listener, 0).unwrap();
        let address = listener.local_addr().unwrap();
        let connected = || TcpStream::connect_timeout(&address, 10 * SOON).ok();
        let queued: Vec<TcpStream> = std::iter::from_fn(connected).collect();
        assert!(!queued.is_empty());
        Self { listener, queued }
    }

    fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// Empties its queue and answers the next connection.
    fn answer_one(self, body: &str) {
        drop(self.queued);
        loop {
            let mut peer = Peer::new(self.listener.accept().unwrap().0);
            if peer.request().is_some() {
                peer.send(ok(body));
                return;
            }
        }
    }
}

#[test]
fn another_primary_answers_for_one_whose_queue_is_full_until_there_is_room() {
    let full = Full::new();
    let address = full.address();
    let there = Scripted::answering(|_| ok("there"));
    let mut settings = settings(&[address, there.address]);
    settings.primaries[0].connect_timeout = SOON;
    let served = Served::new(&settings, Arc::new(Nobody));
    assert_eq!(served.client().ask(GET).text(), "there");
    let found = served.until(|s| s.answered == 1);
    assert_eq!(found.causes, [("primary_skipped", 1)].into_iter().collect());
    let example = served
        .counts
        .client
        .causes
        .take_example(Cause::PrimarySkipped);
    assert_eq!(example, Some(address.to_string()));
    // It is left out for a second.
    let began = Instant::now();
    for _ in 0..4 {
        assert_eq!(served.client().ask(GET).text(), "there");
    }
    if began.elapsed() < Duration::from_millis(900) {
        let causes = &served.counts.client.causes;
        assert_eq!(causes.of(Cause::PrimarySkipped), 1);
    }
    std::thread::scope(|scope| {
        let answered = scope.spawn(|| full.answer_one("back"));
        let deadline = Instant::now() + PATIENCE;
        while served.client().ask(GET).text() != "back" {
            assert!(Instant::now() < deadline, "it is never tried again");
        }
        answered.join().unwrap();
    });
    served.until(|s| s.failed == 0);
}

#[test]
fn another_primary_answers_for_one_that_completes_no_tls_handshake() {
    let (told, heard) = channel();
    let silent = Scripted::new(move |peer, _| {
        let (sent, _) = peer.rest();
        told.send(sent).unwrap();
    });
    let there = Scripted::answering(|_| ok("there"));
    let authority = Authority::new();
    let mut settings = settings(&[silent.address, there.address]);
    settings.primaries[0].connect_timeout = SOON;
    settings.primaries[0].upstream.tls = true;
    settings.primaries[0].upstream.ca = Some(authority.pem());
    let served = Served::new(&settings, Arc::new(Nobody));
    assert_eq!(served.client().ask(GET).text(), "there");
    // A TLS handshake began there, and nothing of the request was sent.
    let sent = heard.recv_timeout(PATIENCE).unwrap();
    assert_eq!(sent.first(), Some(&0x16));
    let found = served.until(|s| s.answered == 1);
    assert_eq!(
        (found.failed, found.causes),
        (0, [("primary_skipped", 1)].into_iter().collect())
    );
}

#[test]
fn where_no_primary_accepts_a_connection_in_time_the_client_gets_502() {
    let full = [Full::new(), Full::new()];
    let mut settings = settings(&full.each_ref().map(Full::address));
    for primary in &mut settings.primaries {
        primary.connect_timeout = SOON;
    }
    let served = Served::new(&settings, Arc::new(Nobody));
    let answer = served.client().ask(GET);
    assert_eq!(
        (answer.status(), answer.text().as_str()),
        (
            502,
            "502: the primary did not accept a connection in time\n"
        )
    );
    let found = served.until(|s| s.failed == 1);
    assert_eq!(
        found.causes,
        [("primary_skipped", 1), ("connect_timeout", 1)]
            .into_iter()
            .collect()
    );
    let causes = &served.counts.client.causes;
    // They take turns: the second one was tried last.
    assert_eq!(
        causes.take_example(Cause::ConnectTimeout),
        Some(full[1].address().to_string())
    );
}
