//! Each way in which a shadow can fail ends in its own cause, and harms no other shadow.

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use capture::{Drop, Failure, Outcome};

use crate::scripted::*;

/// One request to a shadow that does this, and to one that works.
fn failure_of(broken: Scripted, deadline: Duration) -> Failure {
    let well = scripted(|_, stream| ok(stream, "x"));
    let mut first = shadow("broken", broken.port);
    first.deadline = deadline;
    let driven = Driven::new(&settings(vec![first, shadow("well", well.port)]));
    assert!(driven.ask(&get("/"), "x"));
    let pair = driven.pair();
    assert!(
        matches!(pair.shadows[1].outcome, Outcome::Answered(_)),
        "{pair:?}"
    );
    let counts = driven.stop(PATIENCE);
    assert_eq!(
        (counts[0].failed.values().sum::<u64>(), counts[1].answered),
        (1, 1)
    );
    match pair.shadows[0].outcome {
        Outcome::Failed(failure) => failure,
        ref other => panic!("{other:?}"),
    }
}

const LONG: Duration = Duration::from_secs(60);
/// Long enough for a connection to be made on a machine that is busy with something else.
const SHORT: Duration = Duration::from_secs(2);

#[test]
fn nobody_listens() {
    let reserved = Reserved::new();
    let nobody = Scripted {
        port: reserved.1,
        got: Default::default(),
        connections: Default::default(),
    };
    assert_eq!(failure_of(nobody, LONG), Failure::Connect);
}

#[test]
fn the_connection_ends_before_the_answer() {
    assert_eq!(failure_of(scripted(|_, _| false), LONG), Failure::Cut);
}

#[test]
fn the_connection_is_reset() {
    let reset = scripted(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
        rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO)).unwrap();
        false
    });
    assert_eq!(failure_of(reset, LONG), Failure::Cut);
}

#[test]
fn the_body_is_shorter_than_it_says() {
    let short = scripted(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
        false
    });
    assert_eq!(failure_of(short, LONG), Failure::Cut);
}

#[test]
fn garbage_comes() {
    for garbage in [
        "\0\u{1}\u{2} garbage\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 101 x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    ] {
        let broken = scripted(move |_, stream| stream.write_all(garbage.as_bytes()).is_ok());
        assert_eq!(failure_of(broken, LONG), Failure::Malformed, "{garbage:?}");
    }
    let chunks = scripted(|_, stream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n")
            .is_ok()
    });
    assert_eq!(failure_of(chunks, LONG), Failure::Malformed);
}

#[test]
fn nothing_ever_comes() {
    assert_eq!(
        failure_of(scripted(|_, stream| hang(stream)), SHORT),
        Failure::Deadline
    );
}

#[test]
fn a_byte_comes_now_and_then() {
    let slow = scripted(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        while stream.write_all(b"a").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    });
    assert_eq!(failure_of(slow, SHORT), Failure::Deadline);
}

#[test]
fn the_tls_handshake_fails() {
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = plain.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in plain.incoming() {
            let _ = stream
                .unwrap()
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let mut tls = shadow("tls", port);
    tls.upstream.tls = true;
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(&ca, certified.cert.pem()).unwrap();
    tls.upstream.ca = Some(ca);
    let driven = Driven::new(&settings(vec![tls]));
    assert_eq!(driven.outcome(&get("/")), Outcome::Failed(Failure::Tls));
    driven.stop(PATIENCE);
}

#[test]
fn dead_and_then_alive_again() {
    let reserved = Reserved::new();
    let port = reserved.1;
    let driven = Driven::new(&settings(vec![shadow("next", port)]));
    assert_eq!(driven.outcome(&get("/")), Outcome::Failed(Failure::Connect));
    // From now on no request makes a connection attempt.
    let counts = || driven.counts.snapshot().shadows[0].clone();
    eventually("requests are dropped at once", || {
        !driven.ask(&get("/"), "x")
    });
    assert!(counts().dropped["unreachable"] >= 1);
    let alive = scripted_at(reserved.listen(), |_, stream| ok(stream, "x"));
    eventually("it is there again", || driven.ask(&get("/again"), "x"));
    eventually("it has answered", || counts().answered >= 1);
    assert_eq!(alive.got.lock().unwrap()[0].line, "GET /again HTTP/1.1");
    let ended = driven.stop(PATIENCE);
    assert_eq!(ended[0].failed.get("connect"), Some(&1));
}

#[test]
fn what_waits_for_too_long_is_never_sent() {
    let hung = scripted(|_, stream| hang(stream));
    let mut slow = shadow("slow", hung.port);
    (slow.connections, slow.queue, slow.deadline) = (1, 5, SHORT);
    let driven = Driven::new(&settings(vec![slow]));
    for _ in 0..3 {
        assert!(driven.ask(&get("/"), "x"));
    }
    let outcomes: Vec<Outcome> = (0..3)
        .map(|_| driven.pair().shadows[0].outcome.clone())
        .collect();
    assert!(
        outcomes.contains(&Outcome::Failed(Failure::Deadline)),
        "{outcomes:?}"
    );
    assert!(
        outcomes.contains(&Outcome::Dropped(Drop::Late)),
        "{outcomes:?}"
    );
    driven.stop(PATIENCE);
}

#[test]
fn a_stale_connection_is_tried_once_more_for_what_is_safe() {
    // The first connection says that it stays, and goes as the second request comes.
    let stale = scripted(|got, stream| {
        (got.connection > 1 || got.line.starts_with("GET /first")) && ok(stream, "x")
    });
    let mut next = shadow("next", stale.port);
    next.connections = 1;
    let driven = Driven::new(&settings(vec![next]));
    assert!(matches!(
        driven.outcome(&get("/first")),
        Outcome::Answered(_)
    ));
    assert!(matches!(
        driven.outcome(&get("/second")),
        Outcome::Answered(_)
    ));
    let got = stale.got.lock().unwrap().clone();
    let seen: Vec<(&str, usize)> = got
        .iter()
        .map(|got| (got.line.as_str(), got.connection))
        .collect();
    assert_eq!(
        seen,
        [
            ("GET /first HTTP/1.1", 1),
            ("GET /second HTTP/1.1", 1),
            ("GET /second HTTP/1.1", 2)
        ]
    );
    driven.stop(PATIENCE);
}
