//! Who closes first: a client that does so keeps its port in TIME_WAIT, and at
//! a connection a request it runs out of ports.

mod support;

use load::{Mode, Plan, Silent, Stop, Workload};
use support::sockets::{TIME_WAIT, sockets_to};
use support::{Server, assert_balanced};

const CLOSES: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

#[test]
fn a_connection_that_the_server_said_it_closes_is_left_to_it() {
    const REQUESTS: u64 = 600;
    let server = Server::new(|peer, _| {
        peer.request();
        peer.write(CLOSES);
        // The client has its answer by now, and the next request under way.
        std::thread::yield_now();
    });
    let mut plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        Mode::closed(1),
        Stop::requests(REQUESTS),
    );
    plan.keep_alive = false;
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, REQUESTS);
    assert_eq!(outcome.counts.connections, REQUESTS);
    // A server whose threads wait for a core closes late, and what still lingered was closed with the run; a client that
    // closes first has nearly all of them.
    let waiting = sockets_to(server.address.port(), TIME_WAIT) as u64;
    assert!(waiting < REQUESTS / 2, "{waiting}");
}
