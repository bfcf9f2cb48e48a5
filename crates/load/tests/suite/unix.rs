//! Unix sockets: loaded as TCP is, and refused with as clear words.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use crate::support::{OK, assert_balanced};
use load::{Mode, Plan, Silent, Stop, Target, TlsOptions, Workload};

fn plan(socket: &Path, connections: usize, requests: u64) -> Plan {
    let tls = TlsOptions::default();
    let (target, path) = Target::over_unix_socket(socket, "http://shop.test/up?x=1", &tls).unwrap();
    assert_eq!(path, "/up?x=1");
    let workload = Workload::get(&path).unwrap();
    Plan::new(
        target,
        workload,
        Mode::closed(connections),
        Stop::requests(requests),
    )
}

/// Answers until the client has gone; returns the first request's head.
fn serve(stream: UnixStream) -> Vec<String> {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut first = Vec::new();
    while let Some(Ok(line)) = lines.next() {
        if line.is_empty() && (&stream).write_all(OK).is_err() {
            break;
        }
        first.push(line);
    }
    first
}

#[test]
fn a_unix_socket_is_loaded_with_and_without_kept_connections() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("app.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let server = std::thread::spawn(move || {
        let serve = |_| serve(listener.accept().unwrap().0);
        (0..1 + 5).map(serve).collect::<Vec<_>>()
    });
    let mut plan = plan(&socket, 1, 5);
    let kept = load::run(&plan, &mut Silent).unwrap();
    plan.keep_alive = false;
    let anew = load::run(&plan, &mut Silent).unwrap();
    for (outcome, connections) in [(kept, 1), (anew, 5)] {
        assert_balanced(&outcome);
        assert_eq!(
            (outcome.counts.ok, outcome.counts.connections),
            (5, connections)
        );
    }
    let heads = server.join().unwrap();
    assert_eq!(heads[0][..2], ["GET /up?x=1 HTTP/1.1", "Host: shop.test"]);
}

#[test]
fn a_socket_that_nobody_serves_is_counted_as_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("app.sock");
    let outcome = load::run(&plan(&socket, 1, 3), &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.errors.connect_failed, 3);
    assert!(outcome.first_error.unwrap().contains("No such file"));

    // A socket file that outlived its server.
    drop(UnixListener::bind(&socket).unwrap());
    let outcome = load::run(&plan(&socket, 1, 3), &mut Silent).unwrap();
    assert_eq!(outcome.errors.connect_refused, 3);
}

#[test]
fn a_full_listen_queue_is_an_error_that_says_so() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    let listener = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&listener, 0).unwrap();
    let mut plan = plan(&path, 8, 8);
    plan.timeout = std::time::Duration::from_millis(100);
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert!(outcome.errors.connect_failed > 0);
    assert_eq!(outcome.errors.connect_failed + outcome.errors.timeout, 8);
    assert!(
        outcome
            .first_error
            .unwrap()
            .contains("listen queue is full")
    );
}
