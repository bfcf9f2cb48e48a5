//! Bodies stream: whatever their size, little of them is held, and an end that
//! does not read what it gets is not given more.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::primary::{Scripted, ok};
use crate::support::{Memory, PATIENCE, Peer, Served, settings};
use xxhash_rust::xxh3::xxh3_64;

const LARGE: usize = 50 << 20;
/// Far more than sockets and the proxy hold.
const HUGE: u64 = 1 << 30;

/// Writes until nothing more is taken for a while; how much that was.
fn stuff(peer: &mut Peer, written: &AtomicU64) -> u64 {
    peer.stream
        .set_write_timeout(Some(Duration::from_millis(700)))
        .unwrap();
    let block = vec![b'x'; 64 << 10];
    while written.load(Ordering::SeqCst) < HUGE {
        match peer.stream.write(&block) {
            Ok(count) => written.fetch_add(count as u64, Ordering::SeqCst),
            Err(_) => break,
        };
    }
    written.load(Ordering::SeqCst)
}

#[test]
fn large_bodies_pass_both_ways() {
    let primary = Scripted::answering(|request| {
        let digest = xxh3_64(&request.body);
        let head = format!(
            "HTTP/1.1 200 OK\r\nX-Digest: {digest}\r\nContent-Length: {}\r\n\r\n",
            request.body.len()
        );
        [head.as_bytes(), &request.body].concat()
    });
    let tap = Arc::new(Memory::default());
    let served = Served::new(&settings(&[primary.address]), tap.clone());
    let body: Vec<u8> = (0..LARGE).map(|n| ((n * 31) >> 5) as u8).collect();
    let digest = xxh3_64(&body).to_string();
    let mut client = served.client();
    for chunked in [false, true] {
        let framing = match chunked {
            true => "Transfer-Encoding: chunked".to_owned(),
            false => format!("Content-Length: {LARGE}"),
        };
        client.send(format!("PUT / HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n"));
        let mut other = Peer::new(client.stream.try_clone().unwrap());
        let sending = std::thread::spawn({
            let body = body.clone();
            move || {
                if chunked {
                    for part in body.chunks(100_000) {
                        other.send(format!("{:x}\r\n", part.len()));
                        other.send(part);
                        other.send("\r\n");
                    }
                    other.send("0\r\n\r\n");
                } else {
                    other.send(&body);
                }
            }
        });
        let answer = client.answer().unwrap();
        sending.join().unwrap();
        assert_eq!(answer.field("x-digest"), Some(digest.as_str()));
        assert!(answer.body == body);
    }
    served.until(|s| s.answered == 2);
    let answered = tap.answered.lock().unwrap();
    for (_, answer) in answered.iter() {
        let figures = answer.answer.as_ref().unwrap();
        assert_eq!(
            (figures.body_bytes, figures.digest),
            (LARGE as u64, xxh3_64(&body))
        );
        assert_eq!(answer.body.len(), 1 << 20);
    }
}

#[test]
fn a_client_that_does_not_read_stops_its_primary() {
    for chunked in [false, true] {
        let written = Arc::new(AtomicU64::new(0));
        let (told, stopped) = channel();
        let primary = Scripted::new({
            let written = written.clone();
            move |peer, _| {
                peer.request();
                if chunked {
                    // One chunk of all of it.
                    peer.send(format!(
                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{HUGE:x}\r\n"
                    ));
                } else {
                    peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {HUGE}\r\n\r\n"));
                }
                told.send(stuff(peer, &written)).unwrap();
            }
        });
        let served = Served::plain(primary.address);
        let mut client = served.client();
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        let stuffed = stopped.recv_timeout(PATIENCE).unwrap();
        assert!(stuffed < HUGE / 4, "{stuffed} bytes");
        // What had been written comes all the same, and then the end, which came too early.
        assert_eq!(client.head().unwrap().status(), 200);
        let (rest, _) = client.rest();
        assert!(rest.len() as u64 >= stuffed, "{} of {stuffed}", rest.len());
        served.until(|s| s.failed == 1);
    }
}

#[test]
fn a_primary_that_does_not_read_stops_its_client() {
    let (done, waits) = channel::<()>();
    let waits = Mutex::new(waits);
    let primary = Scripted::new(move |peer, _| {
        peer.head().unwrap();
        waits.lock().unwrap().recv().unwrap();
    });
    let served = Served::plain(primary.address);
    let mut client = served.client();
    client.send(format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {HUGE}\r\n\r\n"
    ));
    let stuffed = stuff(&mut client, &AtomicU64::new(0));
    assert!(stuffed < HUGE / 4, "{stuffed} bytes");
    done.send(()).unwrap();
}

#[test]
fn no_more_is_kept_for_the_tap_than_allowed() {
    let primary = Scripted::answering(|_| ok("done"));
    let tap = Arc::new(Memory::default());
    let mut settings = settings(&[primary.address]);
    settings.limits.bytes = 1000;
    let served = Served::new(&settings, tap.clone());
    let mut client = served.client();
    let body = "x".repeat(5000);
    client.ask(format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n{body}"
    ));
    served.until(|s| s.answered == 1);
    let taken = tap.taken.lock().unwrap();
    assert!(taken[0].body.len() <= 1000);
    assert_eq!(taken[0].body_bytes, 5000);
}
