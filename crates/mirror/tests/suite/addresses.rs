//! What a primary learns of a client's address: forwarded fields, and the PROXY
//! protocol in and out.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use crate::support::primary::{Scripted, ok};
use crate::support::tls::Authority;
use crate::support::{Memory, Peer, Served, pieces, settings};
use mirror::http1::Forwarding;
use mirror::proxy_protocol::{Ends, Header, Version, read, write};
use mirror::{Nobody, Settings};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

fn replacing(primary: &Scripted) -> Settings {
    let mut settings = settings(&[primary.address]);
    settings.client.forwarded = Forwarding::Replace;
    settings.listen.proxy_protocol = true;
    settings
}

/// A connection whose header names this client.
fn announced(client: &str) -> Ends {
    Ends::new(client.parse().unwrap(), "198.51.100.2:443".parse().unwrap())
}

#[test]
fn a_header_names_the_client_of_every_request_on_its_connection() {
    let primary = Scripted::echo();
    let tap = Arc::new(Memory::default());
    let served = Served::new(&replacing(&primary), tap.clone());
    for (version, state) in [
        (Version::V1, 0),
        (Version::V2, 0),
        (Version::V1, 7),
        (Version::V2, 7),
    ] {
        for (client, node) in [
            ("192.0.2.1:5", "192.0.2.1"),
            ("[2001:db8::1]:5", "\"[2001:db8::1]\""),
        ] {
            let header = write(version, Some(&announced(client)));
            let ip = client.parse::<SocketAddr>().unwrap().ip();
            let mut peer = served.client();
            let first = [&header[..], GET.as_bytes()].concat();
            // In one piece, and cut as the small generator says.
            for piece in pieces(&first, state, if state == 0 { 1 << 20 } else { 3 }) {
                assert!(peer.send(piece));
            }
            let expected = format!(
                "GET / HTTP/1.1\nHost=a\nX-Forwarded-For={ip}\nX-Forwarded-Proto=http\nX-Forwarded-Host=a\nForwarded=for={node};proto=http;host=a\n\n"
            );
            assert_eq!(peer.answer().unwrap().text(), expected);
            let again = peer.ask("GET / HTTP/1.1\r\nHost: a\r\nX_Forwarded_For: 9.9.9.9\r\n\r\n");
            assert_eq!(again.text(), expected);
        }
    }
    served.until(|s| s.answered == 16);
    // Shadows and recordings get what the primary got.
    for taken in tap.taken.lock().unwrap().iter() {
        let names: Vec<&str> = taken.headers.iter().map(|(name, _)| name).collect();
        let expected = [
            "Host",
            "X-Forwarded-For",
            "X-Forwarded-Proto",
            "X-Forwarded-Host",
            "Forwarded",
        ];
        assert_eq!(names, expected);
    }
}

#[test]
fn a_proxy_that_speaks_for_itself_is_the_client() {
    let primary = Scripted::echo();
    let served = Served::new(&replacing(&primary), Arc::new(Nobody));
    let local = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
    for header in [&b"PROXY UNKNOWN\r\n"[..], local] {
        let mut peer = served.client();
        peer.send(header);
        assert!(
            peer.ask(GET)
                .text()
                .contains("\nX-Forwarded-For=127.0.0.1\n")
        );
    }
}

#[test]
fn a_connection_without_a_header_is_refused_with_a_word() {
    let primary = Scripted::new(|_, _| panic!("nothing of it goes on"));
    let served = Served::new(&replacing(&primary), Arc::new(Nobody));
    let cases = [
        (GET, "does not begin with a PROXY protocol header"),
        (
            "PROXY TCP4 1.1.1.1 1.1.1.1 1 x\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "malformed: a port",
        ),
    ];
    for (bytes, word) in cases {
        let mut peer = served.client();
        let answer = peer.ask(bytes);
        assert_eq!(answer.status(), 400);
        assert!(answer.text().contains(word), "{}", answer.text());
        peer.assert_closed();
    }
    served.until(|s| (s.refused, s.received) == (2, 0));
    assert_eq!(primary.connections(), 0);
}

#[test]
fn a_header_has_a_deadline_and_does_not_hold_up_a_drain() {
    let primary = Scripted::echo();
    let mut settings = replacing(&primary);
    settings.client.head_timeout = std::time::Duration::from_millis(50);
    let served = Served::new(&settings, Arc::new(Nobody));
    let mut slow = served.client();
    slow.send("PROXY TCP4 1.1.1.1");
    slow.assert_closed();
    settings.client.head_timeout = crate::support::PATIENCE;
    served.control.reload(&settings, Arc::new(Nobody)).unwrap();
    let mut silent = served.client();
    served.until(|s| (s.connections, s.open) == (2, 1));
    assert_eq!(served.drained().connections, 0);
    silent.assert_closed();
}

#[test]
fn a_header_comes_before_tls() {
    let authority = Authority::new();
    let primary = Scripted::echo();
    let mut settings = replacing(&primary);
    settings.listen.tls = Some(authority.files("localhost"));
    let served = Served::new(&settings, Arc::new(Nobody));
    let mut peer = served.client();
    peer.send(write(Version::V2, Some(&announced("192.0.2.1:5"))));
    let mut stream = rustls::StreamOwned::new(authority.client("localhost"), peer.stream);
    use std::io::{Read, Write};
    let request = GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(
        answer.contains("\nForwarded=for=192.0.2.1;proto=https;host=a\n"),
        "{answer}"
    );
}

/// Reads the header that a connection from the mirror begins with.
fn header(peer: &mut Peer) -> Option<Ends> {
    loop {
        let found: Option<Header> = read(&peer.pending).unwrap();
        if let Some(header) = found {
            peer.pending.drain(..header.length);
            return header.ends;
        }
        if !peer.fill().ok()? {
            return None;
        }
    }
}

#[test]
fn each_connection_to_a_primary_begins_with_the_address_of_its_own_client() {
    for version in [Version::V1, Version::V2] {
        let primary = Scripted::new(|peer, _| {
            let ends = header(peer).unwrap();
            // The second connection of a client: the first one was dead when it was asked again.
            while let Some(request) = peer.request() {
                assert_eq!(request.line, "GET / HTTP/1.1");
                peer.send(ok(&format!("{} {}", ends.client(), ends.server())));
            }
        });
        let mut settings = settings(&[primary.address]);
        settings.primaries[0].proxy_protocol = Some(version);
        let served = Served::new(&settings, Arc::new(Nobody));
        let mut clients = [served.client(), served.client()];
        for _ in 0..3 {
            for client in &mut clients {
                let own = client.stream.local_addr().unwrap();
                assert_eq!(client.ask(GET).text(), format!("{own} {}", served.address));
            }
        }
        assert_eq!(primary.connections(), 2);
    }
}

#[test]
fn an_announced_client_is_announced_to_the_primary_and_again_after_a_dead_connection() {
    let primary = Scripted::new(|peer, number| {
        let ends = header(peer).unwrap();
        if peer.request().is_some() {
            peer.send(ok(&ends.client().to_string()));
        }
        // The first connection takes the second request, and ends without an answer.
        if number == 0 {
            peer.request();
        }
    });
    let mut settings = settings(&[primary.address]);
    settings.listen.proxy_protocol = true;
    settings.primaries[0].proxy_protocol = Some(Version::V1);
    let served = Served::new(&settings, Arc::new(Nobody));
    let mut client = served.client();
    client.send(write(Version::V2, Some(&announced("192.0.2.1:5"))));
    for _ in 0..2 {
        assert_eq!(client.ask(GET).text(), "192.0.2.1:5");
    }
    assert_eq!(primary.connections(), 2);
}

#[test]
fn the_header_to_a_primary_comes_before_tls_and_an_upgrade_carries_the_fields() {
    let primary = Scripted::new(|peer, _| {
        let ends = header(peer).unwrap();
        assert_eq!(ends.client().ip(), IpAddr::V4(Ipv4Addr::LOCALHOST));
        // A TLS record of the type that a handshake has.
        while peer.pending.is_empty() && peer.fill().unwrap() {}
        assert_eq!(peer.pending[0], 0x16);
    });
    let mut over_tls = settings(&[primary.address]);
    over_tls.primaries[0].proxy_protocol = Some(Version::V2);
    over_tls.primaries[0].upstream.tls = true;
    let served = Served::new(&over_tls, Arc::new(Nobody));
    assert_eq!(served.client().ask(GET).status(), 502);
    drop(served);

    let primary = Scripted::new(|peer, _| {
        let request = peer.request().unwrap();
        assert_eq!(request.field("X-Forwarded-For"), Some("127.0.0.1"));
        peer.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    });
    let mut upgrading = settings(&[primary.address]);
    upgrading.client.forwarded = Forwarding::Append;
    let served = Served::new(&upgrading, Arc::new(Nobody));
    let request =
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade, x-forwarded-for\r\nUpgrade: x\r\n\r\n";
    assert_eq!(served.client().ask(request).status(), 101);
}
