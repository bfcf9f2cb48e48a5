//! A process without a free descriptor. A file of its own, because the limit is the whole process's.

mod support;

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use mirror::{Cause, Nobody};
use rustix::net::{AddressFamily, SocketType, connect, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::primary::ok;
use support::{Peer, Served, settings};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn where_no_descriptor_is_left_idle_connections_make_room() {
    let primary = TcpListener::bind("127.0.0.1:0").unwrap();
    let answered = |client: &mut Peer| {
        let mut peer = Peer::new(primary.accept().unwrap().0);
        peer.request().unwrap();
        peer.send(ok("done"));
        assert_eq!(client.answer().unwrap().text(), "done");
        peer
    };
    let settings = settings(&[primary.local_addr().unwrap()]);
    let served = Served::new(&settings, Arc::new(Nobody));
    let (mut idle, mut new) = (served.client(), served.client());
    served.until(|s| s.open == 2);
    idle.send(GET);
    let _kept = answered(&mut idle);

    let limit = Rlimit {
        current: Some(256),
        maximum: getrlimit(Resource::Nofile).maximum,
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    let exhaust = || -> Vec<File> { std::iter::from_fn(|| File::open("/dev/null").ok()).collect() };
    // For a connection to the primary.
    let taken = exhaust();
    new.send(GET);
    idle.assert_closed();
    drop(taken);
    let _kept = answered(&mut new);
    served.until(|s| (s.open, s.answered, s.failed, s.idle_closed) == (1, 2, 0, 1));
    // For a client's connection.
    let late = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    let taken = exhaust();
    connect(&late, &served.address).unwrap();
    new.assert_closed();
    drop(taken);
    let mut late = Peer::new(TcpStream::from(late));
    late.send(GET);
    let _kept = answered(&mut late);
    served.until(|s| (s.open, s.answered, s.failed, s.idle_closed) == (1, 3, 0, 2));
    let trouble = served
        .counts
        .client
        .causes
        .take_example(Cause::NoDescriptor)
        .unwrap();
    assert!(trouble.contains("Too many open files"), "{trouble}");
}
