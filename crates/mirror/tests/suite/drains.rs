//! What a drain waits for, what it closes and what it cuts.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::support::primary::{Scripted, ok};
use crate::support::{Memory, PATIENCE, Peer, Served, settings};
use mirror::{Nobody, OpenFiles};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
/// Short, and over in any case before the test is.
const SOON: Duration = Duration::from_millis(50);

#[test]
fn a_drain_waits_for_requests_and_for_nothing_else() {
    let (told, heard) = channel();
    let (gate, pass) = channel::<()>();
    let pass = std::sync::Mutex::new(pass);
    let primary = Scripted::new(move |peer, _| {
        while let Some(request) = peer.request() {
            if request.line.contains("wait") {
                told.send(()).unwrap();
                pass.lock().unwrap().recv().unwrap();
            }
            peer.send(ok("done"));
        }
    });
    let mut settings = settings(&[primary.address]);
    settings.client.head_timeout = 3 * PATIENCE;
    let served = Served::new(&settings, Arc::new(Nobody));
    let (mut idle, mut half, mut busy) = (served.client(), served.client(), served.client());
    assert_eq!(idle.ask(GET).text(), "done");
    assert_eq!(half.ask(GET).text(), "done");
    let mut first = served.client();
    for client in [&mut half, &mut first] {
        client.send("GET / HTTP/1.1\r\nHo");
    }
    served.until(|s| s.open == 4);
    busy.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    heard.recv_timeout(PATIENCE).unwrap();
    served.control.drain();
    // None of them waits for the rest of its head: that takes longer than a test.
    for client in [&mut idle, &mut half, &mut first] {
        client.assert_closed();
    }
    gate.send(()).unwrap();
    let answer = busy.answer().unwrap();
    assert_eq!(
        (answer.text().as_str(), answer.field("connection")),
        ("done", Some("close"))
    );
    busy.assert_closed();
    assert!(std::net::TcpStream::connect(served.address).is_err());
    let drained = served.drained();
    assert_eq!((drained.connections, drained.requests), (0, 0));
}

#[test]
fn a_client_that_connected_just_before_a_drain_is_answered() {
    let primary = Scripted::answering(|_| ok("done"));
    let served = Served::plain(primary.address);
    let began = Instant::now();
    let mut client = served.client();
    served.until(|s| s.open == 1);
    served.control.drain();
    assert!(client.send(GET));
    // Later than a second after it was accepted it is closed like any other idle connection.
    if began.elapsed() < Duration::from_millis(900) {
        let answer = client.answer().unwrap();
        assert_eq!(
            (answer.status(), answer.field("connection")),
            (200, Some("close"))
        );
    }
    client.assert_closed();
}

#[test]
fn every_client_that_waits_to_be_accepted_when_a_drain_begins_is_answered() {
    // More than tokio's cooperative budget.
    const CLIENTS: usize = 200;
    let primary = Scripted::answering(|_| ok("done"));
    let settings = settings(&[primary.address]);
    let (files, counts) = (OpenFiles::raise(), Arc::default());
    let proxy = mirror::proxy::Proxy::bind(&settings, files, counts, Arc::new(Nobody)).unwrap();
    let mirror::Address::Tcp(address) = *proxy.address() else {
        panic!("{:?}", proxy.address());
    };
    let connect = |_| {
        let mut client = Peer::new(std::net::TcpStream::connect(address).unwrap());
        assert!(client.send(GET));
        client
    };
    let mut clients: Vec<Peer> = (0..CLIENTS).map(connect).collect();
    proxy.control().drain();
    let thread = std::thread::spawn(move || proxy.serve().unwrap());
    for client in &mut clients {
        assert_eq!(client.answer().unwrap().text(), "done");
    }
    assert_eq!(thread.join().unwrap().connections, 0);
}

#[test]
fn a_request_whose_head_is_arriving_when_a_drain_begins_is_answered() {
    let primary = Scripted::answering(|_| ok("done"));
    let served = Served::plain(primary.address);
    let mut client = served.client();
    assert_eq!(client.ask(GET).text(), "done");
    // A drain closes only connections that are older than a second.
    std::thread::sleep(Duration::from_millis(1100));
    served.until(|s| s.idle == 1);
    let (first, rest) = GET.split_at(10);
    let began = Instant::now();
    client.send(first);
    served.until(|s| s.idle == 0);
    served.control.drain();
    client.send(rest);
    // Later than a second after it began it is closed like any other incomplete head.
    if began.elapsed() < Duration::from_millis(900) {
        let answer = client.answer().unwrap();
        assert_eq!(
            (answer.status(), answer.field("connection")),
            (200, Some("close"))
        );
    }
    client.assert_closed();
}

#[test]
fn a_drain_ends_after_its_time_and_says_what_it_cut() {
    let (told, heard) = channel();
    let primary = Scripted::new(move |peer, _| {
        let request = peer.request().unwrap();
        if request.line.contains("cable") {
            peer.send("HTTP/1.1 101 Go\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n");
        }
        told.send(()).unwrap();
        peer.rest();
    });
    let tap = Arc::new(Memory::default());
    let mut settings = settings(&[primary.address]);
    settings.client.drain = SOON;
    let served = Served::new(&settings, tap.clone());
    let counts = served.counts.clone();
    let (mut busy, mut tunnel) = (served.client(), served.client());
    busy.send(GET);
    tunnel.send("GET /cable HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
    assert_eq!(tunnel.head().unwrap().status(), 101);
    heard.recv_timeout(PATIENCE).unwrap();
    heard.recv_timeout(PATIENCE).unwrap();
    let drained = served.drained();
    assert_eq!((drained.connections, drained.requests), (2, 1));
    let s = counts.snapshot();
    assert_eq!((s.received, s.answered, s.aborted, s.open), (2, 1, 1, 0));
    assert_eq!(tap.answered.lock().unwrap().len(), 1);
    busy.assert_closed();
}
