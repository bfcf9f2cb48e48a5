//! Unix sockets on either side of the mirror.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;

use crate::support::primary::{Scripted, ok};
use crate::support::{Served, settings};
use mirror::http1::Forwarding;
use mirror::proxy_protocol::Version;
use mirror::{Cause, Destination, ListenAt, Nobody, Settings};

const CLOSING: &str =
    "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.9\r\nConnection: close\r\n\r\n";

fn listening(settings: &mut Settings, path: &Path) {
    settings.listen.at = ListenAt::Unix {
        path: path.to_owned(),
        mode: 0o600,
    };
}

/// What comes back on a connection that ends with its answer.
fn ask(path: &Path, beginning: &str) -> String {
    let mut socket = UnixStream::connect(path).unwrap();
    socket
        .set_read_timeout(Some(crate::support::PATIENCE))
        .unwrap();
    write!(socket, "{beginning}{CLOSING}").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_client_of_a_unix_socket_has_no_address_unless_a_proxy_announces_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mirror.sock");
    let primary = Scripted::echo();
    let mut settings = settings(&[primary.address]);
    listening(&mut settings, &path);
    for mode in [Forwarding::Off, Forwarding::Append, Forwarding::Replace] {
        settings.client.forwarded = mode;
        let served = Served::new(&settings, Arc::new(Nobody));
        let answer = ask(&path, "");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let kept = answer.contains("\nX-Forwarded-For=192.0.2.9\n");
        assert_eq!(kept, mode != Forwarding::Replace, "{answer}");
        assert_eq!(answer.contains("For="), kept, "{answer}");
        let written = answer.contains("\nForwarded=proto=http;host=a\n");
        assert_eq!(written, mode == Forwarding::Replace, "{answer}");
        assert_eq!(served.drained().connections, 0);
        assert!(!path.exists());
    }
    settings.listen.proxy_protocol = true;
    let _served = Served::new(&settings, Arc::new(Nobody));
    let answer = ask(&path, "PROXY TCP4 192.0.2.7 192.0.2.1 5 80\r\n");
    assert!(answer.contains("\nX-Forwarded-For=192.0.2.7\n"), "{answer}");
    assert!(ask(&path, "").starts_with("HTTP/1.1 400 "));
}

#[test]
fn a_primary_on_a_unix_socket_answers_and_its_header_names_no_address() {
    let folder = tempfile::tempdir().unwrap();
    let (front, back) = (folder.path().join("front"), folder.path().join("back"));
    let primary = UnixListener::bind(&back).unwrap();
    let mut settings = settings(&[([127, 0, 0, 1], 1).into()]);
    settings.primaries[0].upstream.at = Destination::Unix(back.clone());
    listening(&mut settings, &front);
    for (version, expected) in [
        (None, &b""[..]),
        (Some(Version::V1), b"PROXY UNKNOWN\r\n"),
        (Some(Version::V2), b"\r\n\r\n\0\r\nQUIT\n\x21\0\0\0"),
    ] {
        settings.primaries[0].proxy_protocol = version;
        let served = Served::new(&settings, Arc::new(Nobody));
        let asked = std::thread::scope(|scope| {
            let asked = scope.spawn(|| {
                let mut socket = primary.accept().unwrap().0;
                let mut bytes = vec![0; expected.len()];
                socket.read_exact(&mut bytes).unwrap();
                let mut head = [0; 1024];
                assert!(socket.read(&mut head).unwrap() > 0);
                socket.write_all(&ok("by file")).unwrap();
                bytes
            });
            assert!(ask(&front, "").ends_with("by file"));
            asked.join().unwrap()
        });
        assert_eq!(asked, expected);
        served.until(|s| s.answered == 1);
    }
    drop(primary);
    // The file is there, without a listener.
    let served = Served::new(&settings, Arc::new(Nobody));
    assert!(ask(&front, "").contains("the primary cannot be reached"));
    let causes = &served.counts.client.causes;
    let trouble = causes.take_example(Cause::Unreachable).unwrap();
    assert!(
        trouble.starts_with(&format!("unix:{}: ", back.display())),
        "{trouble}"
    );
}

#[test]
fn a_primary_whose_queue_is_full_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (front, back) = (folder.path().join("front"), folder.path().join("back"));
    let primary = UnixListener::bind(&back).unwrap();
    rustix::net::listen(&primary, 0).unwrap();
    // The kernel queues one connection more than it was asked to.
    let queued = UnixStream::connect(&back).unwrap();
    let mut settings = settings(&[([127, 0, 0, 1], 1).into()]);
    settings.primaries[0].upstream.at = Destination::Unix(back);
    listening(&mut settings, &front);
    let served = Served::new(&settings, Arc::new(Nobody));
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask(&front, ""));
        served.until(|s| s.received == 1);
        // The proxy serves on one thread: once it has answered this it has tried to connect for the first client.
        assert!(ask(&front, "\0").starts_with("HTTP/1.1 400 "));
        drop((primary.accept().unwrap(), queued));
        let mut socket = primary.accept().unwrap().0;
        assert!(socket.read(&mut [0; 1024]).unwrap() > 0);
        socket.write_all(&ok("after all")).unwrap();
        let answer = asked.join().unwrap();
        assert!(answer.ends_with("after all"), "{answer}");
    });
    let causes = served.until(|s| s.answered == 1).causes;
    assert_eq!(causes.into_keys().collect::<Vec<_>>(), ["malformed"]);
}
