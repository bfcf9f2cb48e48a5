//! More clients than there is room for: idle and unfinished connections are closed for them, and busy ones are waited for.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::mpsc::channel;

use crate::support::primary::{Scripted, ok};
use crate::support::tls::Authority;
use crate::support::{PATIENCE, Served, settings};
use mirror::Nobody;
use rustls::StreamOwned;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const HEADER: &[u8] = b"PROXY UNKNOWN\r\n";

#[test]
fn where_all_connections_are_busy_further_clients_wait() {
    let (asked, waits) = channel();
    let (answer, told) = channel::<()>();
    let told = std::sync::Mutex::new(told);
    let primary = Scripted::new(move |peer, _| {
        while let Some(request) = peer.request() {
            if request.line.contains("wait") {
                asked.send(()).unwrap();
                told.lock().unwrap().recv().unwrap();
            }
            peer.send(ok("done"));
        }
    });
    let mut settings = settings(&[primary.address]);
    settings.client.connections = 1;
    let served = Served::new(&settings, Arc::new(Nobody));
    let mut first = served.client();
    first.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    waits.recv_timeout(PATIENCE).unwrap();
    let mut second = served.client();
    second.send(GET);
    let s = served.until(|s| s.waited == 1);
    assert_eq!((s.connections, s.open, s.most), (1, 1, 1));
    // A reload may allow more.
    settings.client.connections = 2;
    served.control.reload(&settings, Arc::new(Nobody)).unwrap();
    assert_eq!(second.answer().unwrap().status(), 200);
    // Or less: no open connection is cut for it.
    settings.client.connections = 1;
    served.control.reload(&settings, Arc::new(Nobody)).unwrap();
    let mut third = served.client();
    third.send(GET);
    second.assert_closed();
    served.until(|s| s.waited == 2);
    answer.send(()).unwrap();
    assert_eq!(first.answer().unwrap().text(), "done");
    // It is idle now, and makes room.
    assert_eq!(third.answer().unwrap().status(), 200);
    first.assert_closed();
    served.until(|s| (s.connections, s.answered, s.idle_closed) == (3, 3, 2));
}

#[test]
fn the_longest_idle_connection_makes_room_for_a_new_client() {
    let primary = Scripted::echo();
    let mut settings = settings(&[primary.address]);
    settings.client.connections = 3;
    let served = Served::new(&settings, Arc::new(Nobody));
    let mut clients: Vec<_> = (0..3).map(|_| served.client()).collect();
    // The last one to be idle is the first one that came.
    for at in [1, 2, 0] {
        assert_eq!(clients[at].ask(GET).status(), 200);
    }
    for (further, closed) in [(1, 1), (2, 2), (3, 0)] {
        let mut client = served.client();
        assert_eq!(client.ask(GET).status(), 200);
        clients[closed].assert_closed();
        let s = served.until(|s| s.open == 3);
        assert_eq!((s.idle_closed, s.waited, s.failed), (further, 0, 0));
        clients.push(client);
    }
    assert_eq!(clients[3].ask(GET).status(), 200);
}

/// How clients connect: over TLS, with a PROXY protocol header, both or neither.
struct Listener {
    tls: bool,
    proxy_protocol: bool,
    authority: Authority,
}

const LISTENERS: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

impl Listener {
    fn new((tls, proxy_protocol): (bool, bool)) -> Self {
        Self {
            tls,
            proxy_protocol,
            authority: Authority::new(),
        }
    }

    /// With three places, and a time for heads that is longer than any client of these tests waits.
    fn settings(&self, primary: &Scripted) -> mirror::Settings {
        let mut settings = settings(&[primary.address]);
        settings.client.connections = 3;
        settings.client.head_timeout = 3 * PATIENCE;
        settings.listen.proxy_protocol = self.proxy_protocol;
        settings.listen.tls = self.tls.then(|| self.authority.files("localhost"));
        settings
    }

    fn served(&self, primary: &Scripted) -> Served {
        Served::new(&self.settings(primary), Arc::new(Nobody))
    }

    /// Asks once and reads to the end.
    fn ask(&self, served: &Served) -> String {
        let mut socket = served.client().stream;
        if self.proxy_protocol {
            socket.write_all(HEADER).unwrap();
        }
        let request = GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
        let mut answer = String::new();
        if self.tls {
            let mut stream = StreamOwned::new(self.authority.client("localhost"), socket);
            stream.write_all(request.as_bytes()).unwrap();
            stream.read_to_string(&mut answer).unwrap();
        } else {
            socket.write_all(request.as_bytes()).unwrap();
            socket.read_to_string(&mut answer).unwrap();
        }
        answer
    }

    /// What a client sends that goes no further: nothing, and a part of each thing that comes before a whole head.
    fn parts(&self) -> Vec<&'static [u8]> {
        let mut parts = vec![&b""[..]];
        if self.proxy_protocol {
            parts.extend([&HEADER[..1], HEADER]);
        }
        match (self.tls, self.proxy_protocol) {
            (true, false) => parts.push(b"\x16\x03\x01"),
            (false, false) => parts.push(b"G"),
            (true, true) => parts.push(b"PROXY UNKNOWN\r\n\x16\x03\x01"),
            (false, true) => parts.push(b"PROXY UNKNOWN\r\nG"),
        }
        parts
    }
}

#[test]
fn clients_that_never_send_a_whole_head_make_room_for_a_new_client() {
    let primary = Scripted::echo();
    for kind in LISTENERS {
        let listener = Listener::new(kind);
        for part in listener.parts() {
            let served = listener.served(&primary);
            let mut stuck: Vec<_> = (0..3).map(|_| served.client()).collect();
            for client in &mut stuck {
                client.send(part);
            }
            served.until(|s| s.open == 3);
            let what = format!("{kind:?} {}", part.escape_ascii());
            let answer = listener.ask(&served);
            assert!(answer.starts_with("HTTP/1.1 200 "), "{what}: {answer}");
            let s = served.until(|s| s.open == 2);
            assert_eq!((s.answered, s.refused), (1, 0), "{what}");
            // A connection that is asked to close as its bytes come stays, and another one is asked.
            assert!(s.idle_closed >= 1, "{what}");
            if part.is_empty() {
                assert_eq!((s.idle_closed, s.waited), (1, 0), "{what}");
                stuck[0].assert_closed();
            }
        }
    }
}

#[test]
fn a_drain_does_not_wait_for_a_handshake_that_has_not_begun() {
    let primary = Scripted::echo();
    for kind in [(true, false), (true, true)] {
        let listener = Listener::new(kind);
        for part in [&b""[..], HEADER] {
            if !part.is_empty() && !listener.proxy_protocol {
                continue;
            }
            let served = listener.served(&primary);
            let mut stuck = served.client();
            stuck.send(part);
            served.until(|s| s.open == 1);
            assert_eq!(served.drained().connections, 0, "{kind:?}");
            stuck.assert_closed();
        }
    }
}

#[test]
fn a_handshake_that_has_begun_before_a_drain_has_its_usual_time() {
    let primary = Scripted::echo();
    for kind in [(true, false), (false, true), (true, true)] {
        let listener = Listener::new(kind);
        let served = listener.served(&primary);
        let mut socket = served.client().stream;
        let mut client = listener.tls.then(|| listener.authority.client("localhost"));
        let mut bytes = match listener.proxy_protocol {
            true => HEADER.to_vec(),
            false => Vec::new(),
        };
        if let Some(client) = &mut client {
            client.write_tls(&mut bytes).unwrap();
        }
        let (first, rest) = bytes.split_at(3);
        served.until(|s| (s.open, s.idle) == (1, 1));
        socket.write_all(first).unwrap();
        served.until(|s| s.idle == 0);
        // It counts as idle a second after its first byte: the grace period of a drain is over as well.
        served.until(|s| s.idle == 1);
        served.control.drain();
        while std::net::TcpStream::connect(served.address).is_ok() {}
        socket.write_all(rest).unwrap();
        let mut answer = String::new();
        match client {
            None => {
                socket.write_all(GET.as_bytes()).unwrap();
                socket.read_to_string(&mut answer).unwrap();
            }
            Some(client) => {
                let mut stream = StreamOwned::new(client, socket);
                stream.write_all(GET.as_bytes()).unwrap();
                stream.read_to_string(&mut answer).unwrap();
            }
        }
        assert!(answer.starts_with("HTTP/1.1 200 "), "{kind:?}: {answer}");
        assert_eq!(served.drained().connections, 0, "{kind:?}");
    }
}

#[test]
fn a_drain_cuts_a_handshake_at_its_own_limit() {
    let primary = Scripted::echo();
    let listener = Listener::new((true, false));
    let mut settings = listener.settings(&primary);
    settings.client.drain = std::time::Duration::from_millis(50);
    let served = Served::new(&settings, Arc::new(Nobody));
    let mut stuck = served.client();
    served.until(|s| (s.open, s.idle) == (1, 1));
    stuck.send(b"\x16\x03\x01");
    served.until(|s| s.idle == 0);
    assert_eq!(served.drained().connections, 1);
    stuck.assert_closed();
}
