//! What a shadow is sent, and what is reported of it.

use std::io::Write;
use std::sync::atomic::Ordering;

use capture::Outcome;
use mirror::{Destination, Rewrite, Sample, Upstream};
use regex::bytes::Regex;

use crate::scripted::*;

#[test]
fn requests_arrive_as_they_were_with_a_mark() {
    let well = scripted(|_, stream| ok(stream, "x"));
    let mut next = shadow("next", well.port);
    next.filter.methods = vec!["POST".into()];
    next.rewrite = vec![Rewrite::Set {
        name: "Host".into(),
        value: "next.example".into(),
    }];
    let driven = Driven::new(&settings(vec![next]));
    let body = "x".repeat(60_000);
    let asked = Asked {
        method: "POST",
        target: "/orders/17?token=secret",
        headers: &[
            ("Host", "shop.example"),
            ("Accept", "text/plain"),
            ("Expect", "100-continue"),
        ],
        body: body.as_bytes(),
    };
    assert!(driven.ask(&asked, "y"));
    let pair = driven.pair();
    let got = well.got.lock().unwrap()[0].clone();
    assert_eq!(got.line, "POST /orders/17?token=secret HTTP/1.1");
    assert_eq!(got.header("host"), Some("next.example"));
    assert_eq!(got.header("accept"), Some("text/plain"));
    assert_eq!(got.header("x-powerband-shadow"), Some("next"));
    assert_eq!(got.body, body.as_bytes());
    assert_eq!(
        (
            pair.method.as_str(),
            pair.endpoint.as_str(),
            pair.target.as_str()
        ),
        ("POST", "POST /orders/:id", "/orders/17?token=REDACTED")
    );
    let kinds: Vec<&str> = pair.shadows[0]
        .differences
        .iter()
        .map(|one| one.kind.as_str())
        .collect();
    assert_eq!(kinds, ["line x", "line y"]);
    driven.stop(PATIENCE);
}

/// A kept connection binds a thread of Puma between requests, and the client's answer does not wait for a new one.
#[test]
fn each_copy_has_a_connection_unless_they_are_to_be_kept() {
    for (keep_alive, connections) in [(false, 3), (true, 1)] {
        let server = scripted(|got, stream| {
            let keeps = got.header("connection") != Some("close");
            ok(stream, "x") && keeps
        });
        let mut next = shadow("next", server.port);
        next.keep_alive = keep_alive;
        let driven = Driven::new(&settings(vec![next]));
        for _ in 0..3 {
            assert!(driven.ask(&get("/"), "x"));
            let pair = driven.pair();
            assert!(matches!(pair.shadows[0].outcome, Outcome::Answered(_)));
        }
        assert_eq!(server.connections.load(Ordering::SeqCst), connections);
        driven.stop(PATIENCE);
    }
}

/// Such a server says that it keeps the connection, and is not waited for.
#[test]
fn a_server_that_keeps_what_was_to_be_closed_is_left() {
    let server = scripted(|_, stream| ok(stream, "x"));
    let mut next = shadow("next", server.port);
    next.keep_alive = false;
    let driven = Driven::new(&settings(vec![next]));
    for connections in 1..=3 {
        assert!(driven.ask(&get("/"), "x"));
        driven.pair();
        assert_eq!(server.connections.load(Ordering::SeqCst), connections);
    }
    driven.stop(PATIENCE);
}

#[test]
fn answers_are_read_however_they_are_framed() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Type: Text/Plain; charset=utf-8\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nA: b\r\n\r\n",
        "HTTP/1.0 200\r\nContent-Type: text/plain\r\n\r\nhello",
    ] {
        // In one piece and byte by byte.
        for size in [answer.len(), 1] {
            let server = scripted(move |_, stream| {
                answer
                    .as_bytes()
                    .chunks(size)
                    .all(|part| stream.write_all(part).is_ok())
                    && !answer.contains("HTTP/1.0")
            });
            let driven = Driven::new(&settings(vec![shadow("next", server.port)]));
            assert!(driven.ask(&get("/"), "hello"));
            let pair = driven.pair();
            let Outcome::Answered(got) = &pair.shadows[0].outcome else {
                panic!("{pair:?}")
            };
            assert_eq!(
                (got.status, got.body_bytes, got.content_type.as_str()),
                (200, 5, "text/plain")
            );
            assert_eq!(got.digest, pair.primary.as_ref().unwrap().digest);
            assert!(got.complete && pair.shadows[0].differences.is_empty());
            driven.stop(PATIENCE);
        }
    }
}

#[test]
fn an_answer_to_head_has_no_body() {
    let server = scripted(|_, stream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
            .is_ok()
    });
    let driven = Driven::new(&settings(vec![shadow("next", server.port)]));
    for _ in 0..2 {
        assert!(driven.ask(
            &Asked {
                method: "HEAD",
                ..get("/")
            },
            ""
        ));
        assert!(
            matches!(driven.pair().shadows[0].outcome, Outcome::Answered(ref answer) if answer.body_bytes == 0)
        );
    }
    driven.stop(PATIENCE);
}

#[test]
fn connections_are_kept() {
    let well = scripted(|_, stream| ok(stream, "x"));
    let driven = Driven::new(&settings(vec![shadow("next", well.port)]));
    for _ in 0..20 {
        assert!(matches!(driven.outcome(&get("/")), Outcome::Answered(_)));
    }
    assert_eq!(
        well.connections.load(std::sync::atomic::Ordering::SeqCst),
        1
    );
    driven.stop(PATIENCE);
}

#[test]
fn copies_go_on_connections_of_their_own() {
    let barrier = std::sync::Arc::new(std::sync::Barrier::new(3));
    // Answers when all three copies are there.
    let well = scripted(move |_, stream| {
        barrier.wait();
        ok(stream, "x")
    });
    let mut next = shadow("next", well.port);
    next.copies = 3;
    let driven = Driven::new(&settings(vec![next]));
    assert!(driven.ask(&get("/"), "x"));
    let pair = driven.pair();
    let copies: Vec<u16> = pair.shadows.iter().map(|outcome| outcome.copy).collect();
    assert_eq!(copies, [0, 1, 2]);
    assert!(
        pair.shadows
            .iter()
            .all(|one| matches!(one.outcome, Outcome::Answered(_)))
    );
    let counts = driven.stop(PATIENCE);
    assert_eq!((counts[0].sampled, counts[0].answered), (3, 3));
}

#[test]
fn shadows_with_the_same_share_get_the_same_requests() {
    let first = scripted(|_, stream| ok(stream, "x"));
    let second = scripted(|_, stream| ok(stream, "x"));
    let mut shadows = vec![shadow("one", first.port), shadow("two", second.port)];
    let skipped = Regex::new("^/skip").unwrap();
    for shadow in &mut shadows {
        shadow.sample = Sample::Requests(0.3);
        shadow.queue = 1000;
        shadow.filter.not_paths = vec![skipped.clone()];
    }
    let driven = Driven::new(&settings(shadows));
    let mut taken = 0;
    for n in 0..300 {
        taken += usize::from(driven.ask(
            &get(&format!(
                "/{}/{n}",
                if n % 3 == 0 { "skip" } else { "page" }
            )),
            "x",
        ));
    }
    // 200 pass the filter: 60 are expected, five standard deviations are 32.
    assert!((28..=92).contains(&taken), "{taken}");
    (0..taken).for_each(|_| drop(driven.pair()));
    let lines = |server: &Scripted| {
        let mut lines: Vec<String> = server
            .got
            .lock()
            .unwrap()
            .iter()
            .map(|got| got.line.clone())
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&first), lines(&second));
    assert!(
        lines(&first)
            .iter()
            .all(|line| line.starts_with("GET /page"))
    );
    driven.stop(PATIENCE);
}

#[test]
fn over_tls() {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, certified.cert.pem()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certified.cert.der().clone()],
            rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der())
                .unwrap(),
        )
        .unwrap();
    let config = std::sync::Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut connection = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut stream = stream.unwrap();
            let mut tls = rustls::Stream::new(&mut connection, &mut stream);
            let mut space = [0; 4096];
            while std::io::Read::read(&mut tls, &mut space).is_ok_and(|read| read > 0) {
                tls.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
                    .unwrap();
            }
        }
    });
    let mut next = shadow("next", port);
    let host = "localhost".into();
    next.upstream = Upstream {
        at: Destination::Tcp { host, port },
        tls: true,
        ca: Some(ca),
    };
    let driven = Driven::new(&settings(vec![next]));
    for _ in 0..3 {
        assert!(matches!(driven.outcome(&get("/")), Outcome::Answered(_)));
    }
    driven.stop(PATIENCE);
}

/// Where shadows share cores, the copy that is sent first gets a core first.
#[test]
fn no_shadow_is_always_sent_its_copy_first() {
    const REQUESTS: usize = 200;
    let servers = [0, 1].map(|_| scripted(|_, stream| ok(stream, "x")));
    let [one, other] = ["one", "other"];
    let shadows = vec![shadow(one, servers[0].port), shadow(other, servers[1].port)];
    let driven = Driven::new(&settings(shadows));
    let mut first = 0;
    for _ in 0..REQUESTS {
        assert!(driven.ask(&get("/"), "x"));
        let pair = driven.pair();
        let delay = |shadow: u16| {
            let copy = pair.shadows.iter().find(|copy| copy.shadow == shadow);
            copy.unwrap().delay_ns
        };
        first += usize::from(delay(0) < delay(1));
    }
    // 200 tosses of a coin lie outside of these bounds once in 20 million times.
    assert!((63..=137).contains(&first), "{first} of {REQUESTS}");
    driven.stop(PATIENCE);
}
