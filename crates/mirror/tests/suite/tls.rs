//! TLS on either side: all that passes in clear passes over it, and no host
//! passes for another.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

use crate::support::primary::{Scripted, ok};
use crate::support::tls::Authority;
use crate::support::{PATIENCE, Served, settings};
use mirror::proxy::Proxy;
use mirror::{Nobody, OpenFiles, Settings};
use rustls::{ClientConnection, ServerConnection, StreamOwned};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

type Client = StreamOwned<ClientConnection, TcpStream>;

fn client(served: &Served, authority: &Authority) -> Client {
    let socket = TcpStream::connect(served.address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    StreamOwned::new(authority.client("localhost"), socket)
}

/// Reads until this has come; everything until then.
fn until(stream: &mut impl Read, end: &str) -> String {
    let mut all = Vec::new();
    while !all.ends_with(end.as_bytes()) {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => all.push(byte[0]),
            other => panic!("{other:?} after {:?}", String::from_utf8_lossy(&all)),
        }
    }
    String::from_utf8(all).unwrap()
}

/// Serves requests without a body over TLS with what this says, and ends in an orderly way.
fn tls_primary(authority: &Authority, name: &str, answers: &'static [&'static str]) -> Scripted {
    let config = authority.server(name);
    Scripted::new(move |peer, _| {
        let session = ServerConnection::new(config.clone()).unwrap();
        let mut stream = rustls::Stream::new(Box::leak(Box::new(session)), &mut peer.stream);
        for answer in answers {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                match stream.read(&mut byte) {
                    Ok(1) => head.push(byte[0]),
                    _ => return,
                }
            }
            stream.write_all(answer.as_bytes()).unwrap();
            stream.flush().unwrap();
        }
        if !answers.last().is_some_and(|answer| answer.contains("torn")) {
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    })
}

fn towards(primary: &Scripted, ca: Option<PathBuf>) -> Settings {
    let mut settings = settings(&[primary.address]);
    settings.primaries[0].upstream.tls = true;
    settings.primaries[0].upstream.ca = ca;
    settings
}

#[test]
fn clients_come_in_over_tls() {
    let authority = Authority::new();
    let large = Box::leak("x".repeat(3 << 20).into_boxed_str());
    let primary = Scripted::answering(|request| match request.line.contains("large") {
        true => ok(large),
        false => ok(&request.text()),
    });
    let mut settings = settings(&[primary.address]);
    settings.listen.tls = Some(authority.files("localhost"));
    let served = Served::new(&settings, Arc::new(Nobody));
    let mut stream = client(&served, &authority);
    for word in ["one", "two"] {
        write!(
            stream,
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n{word}"
        )
        .unwrap();
        until(&mut stream, &format!("\r\n\r\n{word}"));
    }
    stream
        .write_all(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut all = String::new();
    // An orderly end, or this would be an error.
    stream.read_to_string(&mut all).unwrap();
    assert!(all.ends_with(&format!("\r\n\r\n{large}")));
    // In clear there is nothing to be had.
    let mut clear = served.client();
    clear.send(GET);
    let (all, _) = clear.rest();
    assert!(!all.starts_with(b"HTTP"));
    served.until(|s| (s.answered, s.received, s.open) == (3, 3, 0));
    let found = served.until(|s| s.refused == 1);
    assert_eq!(found.causes, [("tls_handshake", 1)].into_iter().collect());
}

#[test]
fn a_reload_reads_certificates_again() {
    let (old, new) = (Authority::new(), Authority::new());
    let primary = Scripted::answering(|_| ok("done"));
    let mut settings = settings(&[primary.address]);
    let files = old.files("localhost");
    settings.listen.tls = Some(files.clone());
    let served = Served::new(&settings, Arc::new(Nobody));
    let mut kept = client(&served, &old);
    kept.write_all(GET).unwrap();
    until(&mut kept, "done");
    let (chain, key) = new.files("localhost");
    std::fs::copy(chain, &files.0).unwrap();
    // The new certificate does not go with the old key: all stays as it was.
    let error = served
        .control
        .reload(&settings, Arc::new(Nobody))
        .unwrap_err();
    assert!(error.to_string().starts_with("key "), "{error}");
    std::fs::copy(key, &files.1).unwrap();
    served.control.reload(&settings, Arc::new(Nobody)).unwrap();
    let mut other = client(&served, &new);
    other.write_all(GET).unwrap();
    until(&mut other, "done");
    assert!(client(&served, &old).write_all(GET).is_err());
    kept.write_all(GET).unwrap();
    until(&mut kept, "done");
}

#[test]
fn the_primary_is_reached_over_tls() {
    let authority = Authority::new();
    let answers = &[
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none",
        "HTTP/1.1 200 OK\r\n\r\nuntil close",
    ];
    let primary = tls_primary(&authority, "127.0.0.1", answers);
    let served = Served::new(&towards(&primary, Some(authority.pem())), Arc::new(Nobody));
    let mut client = served.client();
    assert_eq!(client.ask(GET).text(), "one");
    assert_eq!(client.ask(GET).text(), "until close");
    client.assert_closed();
    assert_eq!(primary.connections(), 1);
    served.until(|s| s.answered == 2);
}

#[test]
fn an_end_without_a_word_is_no_end_of_an_answer() {
    let authority = Authority::new();
    let primary = tls_primary(&authority, "127.0.0.1", &["HTTP/1.1 200 OK\r\n\r\ntorn"]);
    let served = Served::new(&towards(&primary, Some(authority.pem())), Arc::new(Nobody));
    let mut client = served.client();
    client.send(GET);
    let (all, _) = client.rest();
    assert!(!String::from_utf8(all).unwrap().ends_with("0\r\n\r\n"));
    served.until(|s| s.failed == 1);
}

#[test]
fn a_primary_that_is_somebody_else_is_not_asked() {
    let authority = Authority::new();
    let answers = &["HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"];
    let other = tls_primary(&authority, "other.example", answers);
    let served = Served::new(&towards(&other, Some(authority.pem())), Arc::new(Nobody));
    assert_eq!(served.client().ask(GET).status(), 502);
    let stranger = Authority::new();
    let primary = tls_primary(&authority, "127.0.0.1", answers);
    let served = Served::new(&towards(&primary, Some(stranger.pem())), Arc::new(Nobody));
    assert_eq!(served.client().ask(GET).status(), 502);
}

#[test]
fn files_that_are_none_are_named() {
    let authority = Authority::new();
    let empty = tempfile::NamedTempFile::new().unwrap();
    let bind = |settings: &Settings| {
        Proxy::bind(
            settings,
            OpenFiles::raise(),
            Arc::default(),
            Arc::new(Nobody),
        )
        .unwrap_err()
        .to_string()
    };
    let primary = Scripted::echo();
    let (chain, key) = authority.files("localhost");
    let path = empty.path().to_owned();
    let shown = path.display().to_string();
    let mut settings_ = settings(&[primary.address]);
    settings_.listen.tls = Some((path.clone(), key));
    assert!(bind(&settings_).starts_with(&format!("certificate {shown}")));
    settings_.listen.tls = Some((chain, path.clone()));
    assert!(bind(&settings_).starts_with(&format!("key {shown}")));
    assert!(bind(&towards(&primary, Some(path))).starts_with(&format!("authority {shown}")));
}
