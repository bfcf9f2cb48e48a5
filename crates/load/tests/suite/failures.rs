//! Servers that misbehave: each failure is counted as what it is, none is
//! dropped, none ends the run.

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::support::sockets::{ESTABLISHED, sockets_to};
use crate::support::{OK, Peer, Refusing, Server, assert_balanced};
use load::{
    Arrivals, Errors, Mode, Observer, Outcome, Plan, Progress, Silent, Stop, Workload, quantile_us,
};
use proptest::prelude::*;

/// One request on one connection.
fn ask(server: &Server, method: &str) -> Outcome {
    let text = format!("[[request]]\nmethod = \"{method}\"\n");
    let plan = Plan::new(
        server.address,
        Workload::from_toml(&text).unwrap(),
        Mode::closed(1),
        Stop::requests(1),
    );
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    outcome
}

#[test]
fn every_kind_of_answer_is_counted_as_what_it_is() {
    let none = Errors::default();
    let cases: [(&'static [u8], Errors); 14] = [
        (OK, none),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            none,
        ),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", none),
        (b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", none),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n",
            none,
        ),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil close", none),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", none),
        (
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            Errors {
                status_4xx: 1,
                ..none
            },
        ),
        (
            b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
            Errors {
                status_5xx: 1,
                ..none
            },
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
            Errors {
                closed_early: 1,
                ..none
            },
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Le",
            Errors {
                closed_early: 1,
                ..none
            },
        ),
        (
            b"",
            Errors {
                closed_early: 1,
                ..none
            },
        ),
        (
            b"SSH-2.0-OpenSSH\r\n",
            Errors {
                malformed: 1,
                ..none
            },
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            Errors {
                malformed: 1,
                ..none
            },
        ),
    ];
    for (answer, expected) in cases {
        let text = String::from_utf8_lossy(answer);
        let whole = Server::new(move |peer, _| {
            peer.request();
            peer.write(answer);
        });
        assert_eq!(ask(&whole, "GET").errors, expected, "{text}");
        let bytes = Server::new(move |peer, _| {
            peer.request();
            peer.write_byte_by_byte(answer);
        });
        assert_eq!(ask(&bytes, "GET").errors, expected, "byte by byte: {text}");
    }
}

#[test]
fn an_answer_to_head_has_no_body() {
    let server = Server::new(|peer, _| {
        peer.request();
        peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n");
        peer.swallow();
    });
    assert_eq!(ask(&server, "HEAD").counts.ok, 1);
}

#[test]
fn bytes_after_the_announced_end_cost_the_connection_only() {
    let server = Server::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokSURPLUS");
    let plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        Mode::closed(1),
        Stop::requests(5),
    );
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 5);
    assert_eq!((outcome.counts.surplus, outcome.counts.connections), (5, 5));
}

#[test]
fn a_reset_in_the_middle_of_an_answer_is_a_reset() {
    let server = Server::new(|peer, _| {
        peer.request();
        peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort");
        peer.reset_on_close();
    });
    assert_eq!(ask(&server, "GET").errors.reset, 1);
}

/// Answers the first request on each connection and closes at the second.
fn forgetful() -> Server {
    Server::new(|peer, _| {
        peer.request();
        peer.write(OK);
        peer.request();
    })
}

#[test]
fn a_kept_connection_that_turns_out_closed_is_replaced_for_idempotent_requests() {
    let server = forgetful();
    let mut plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        Mode::closed(1),
        Stop::requests(9),
    );
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 9);
    // A retried request is the first on its connection, the next the second.
    assert_eq!(outcome.counts.reconnects, 8);

    plan.workload = Workload::from_toml("[[request]]\nmethod = \"POST\"\n").unwrap();
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.reconnects, 0);
    assert_eq!(outcome.errors.closed_early, 4);
    assert_eq!(outcome.counts.ok, 5);
}

#[test]
fn nobody_listening_is_refused_connections_in_both_loops() {
    let refusing = Refusing::new();
    let workload = Workload::get("/").unwrap();
    let arrivals = Arrivals::constant(1000.0);
    for mode in [
        Mode::closed(2),
        Mode::Open {
            arrivals,
            max_connections: 2,
        },
    ] {
        let mut plan = Plan::new(refusing.address, workload.clone(), mode, Stop::requests(20));
        plan.objective = Some(Duration::from_secs(1));
        let outcome = load::run(&plan, &mut Silent).unwrap();
        assert_balanced(&outcome);
        assert_eq!(outcome.errors.connect_refused, 20);
        assert_eq!((outcome.counts.sent, outcome.violations), (0, 20));
        assert_eq!(quantile_us(&outcome.response, 0.01), Some(None));
        let first = outcome.first_error.unwrap();
        assert_eq!(first, "GET /: connection refused");
    }
}

/// 10 ms, as the engine has it.
const FAILURE_PAUSE: Duration = Duration::from_millis(10);

/// No slot can have failed more often in the window than there are pauses in it.
fn failures_at_most(outcome: &Outcome, slots: u128) -> u128 {
    slots * (outcome.window().as_nanos() / FAILURE_PAUSE.as_nanos() + 1)
}

#[test]
fn a_server_that_accepts_only_to_hang_up_is_not_asked_without_pause() {
    let hang_up = |reset: bool| {
        Server::new(move |peer, _| {
            peer.request();
            if reset {
                peer.reset_on_close();
            }
        })
    };
    for reset in [false, true] {
        let server = hang_up(reset);
        let mode = Mode::closed(2);
        let stop = Stop::requests(40);
        let plan = Plan::new(server.address, Workload::get("/").unwrap(), mode, stop);
        let outcome = load::run(&plan, &mut Silent).unwrap();
        assert_balanced(&outcome);
        assert_eq!(outcome.errors.unanswered(), 40);
        let most = failures_at_most(&outcome, 2);
        assert!(most >= 40, "{most} in {:?}", outcome.window());
    }
}

/// Ends the window with so many requests unanswered.
struct UntilFailed(u64);

impl Observer for UntilFailed {
    fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        if progress.errors.unanswered() < self.0 {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(())
    }
}

#[test]
fn a_slot_that_pauses_holds_up_no_other() {
    // The first connection is served well, every other one hung up.
    let server = Server::new(|peer, number| {
        while peer.request().is_some() && number == 0 {
            peer.write(OK);
        }
    });
    let mode = Mode::closed(2);
    let workload = Workload::get("/").unwrap();
    let mut plan = Plan::new(server.address, workload, mode, Stop::when_told());
    plan.slice = FAILURE_PAUSE;
    let outcome = load::run(&plan, &mut UntilFailed(40)).unwrap();
    assert_balanced(&outcome);
    // Behind each pause a request would be started late by what is left of it, and few more would come in
    // between. A generator that is held up starts one late as well, but serves many before and after.
    let half = FAILURE_PAUSE.as_micros() as u64 / 2;
    let late = outcome.lateness.count_between(half, u64::MAX);
    let served = outcome.counts.ok;
    assert!(served > 100 * late, "{served} served, {late} late");
}

#[test]
fn a_server_that_never_answers_makes_timeouts() {
    let server = Server::new(|peer, _| peer.swallow());
    let workload = Workload::get("/").unwrap();
    for mode in [
        Mode::closed(3),
        // Fewer connections than requests: the others wait, and time out too.
        Mode::Open {
            arrivals: Arrivals::constant(200.0),
            max_connections: 4,
        },
    ] {
        let mut plan = Plan::new(server.address, workload.clone(), mode, Stop::requests(12));
        plan.timeout = Duration::from_millis(100);
        let outcome = load::run(&plan, &mut Silent).unwrap();
        assert_balanced(&outcome);
        assert_eq!(outcome.errors.timeout, 12);
        assert!((outcome.violation_rate()).abs() < 1e-12, "no objective");
    }
}

/// However fast it comes, it keeps the loop from nothing else.
#[test]
fn an_answer_without_end_is_a_timeout() {
    let server = Server::new(|peer, _| {
        peer.request();
        peer.write(b"HTTP/1.1 200 OK\r\n\r\n");
        while peer.write(&[b'x'; 1 << 20]) {}
    });
    let mut plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        Mode::closed(2),
        Stop::requests(2),
    );
    plan.timeout = Duration::from_millis(200);
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.errors.timeout, 2);
}

#[test]
fn a_long_answer_is_read_to_its_end_whatever_else_comes() {
    static ANSWER: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| {
        let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n".to_vec();
        answer.resize(answer.len() + 20_000_000, b'x');
        answer
    });
    let server = Server::answering(&ANSWER);
    let mut plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        Mode::closed(3),
        Stop::requests(12),
    );
    plan.timeout = Duration::from_secs(60);
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!((outcome.counts.ok, outcome.counts.connections), (12, 3));
}

/// The answer may be there before the client has seen that it is connected.
#[test]
fn what_a_server_says_as_soon_as_it_accepts_is_read() {
    let server = Server::new(|peer, _| {
        peer.write(OK);
        peer.swallow();
    });
    let mut plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        Mode::closed(200),
        Stop::requests(200),
    );
    plan.timeout = Duration::from_secs(10);
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 200, "{:?}", outcome.first_error);
}

/// A server that answers early reads on until the client closes: it waits for
/// no courtesy from there.
#[test]
fn an_answer_in_the_middle_of_a_request_ends_its_connection_at_once() {
    /// Connections begun, and the most that the client had open at a beginning.
    #[derive(Default)]
    struct Seen(Mutex<(usize, usize)>, Condvar);
    const REQUESTS: usize = 4;
    let seen = Arc::new(Seen::default());
    let server = Server::new({
        let seen = seen.clone();
        move |peer, number| {
            let open = sockets_to(peer.stream.local_addr().unwrap().port(), ESTABLISHED);
            let mut begun = seen.0.lock().unwrap();
            *begun = (begun.0 + 1, begun.1.max(open));
            seen.1.notify_all();
            peer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            // So that the client knows the answer before it has sent the whole.
            let to_begin = REQUESTS.min(number + 2);
            drop(seen.1.wait_while(begun, |begun| begun.0 < to_begin));
            peer.swallow();
        }
    });
    let body = "y".repeat(20_000_000);
    let text = format!("[[request]]\nmethod = \"POST\"\nbody = \"{body}\"\n");
    let plan = Plan::new(
        server.address,
        Workload::from_toml(&text).unwrap(),
        Mode::closed(1),
        Stop::requests(REQUESTS as u64),
    );
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(
        outcome.errors.status_4xx, REQUESTS as u64,
        "{:?}",
        outcome.first_error
    );
    // Each was closed before the next was opened.
    assert_eq!(*seen.0.lock().unwrap(), (REQUESTS, 1));
}

/// Ends the window with so many requests sent.
struct UntilSent(u64);

impl Observer for UntilSent {
    fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        if progress.counts.sent < self.0 {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(())
    }
}

#[test]
fn what_is_unanswered_after_the_drain_is_a_timeout() {
    let server = Server::new(|peer, _| peer.swallow());
    let mut plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        Mode::Open {
            arrivals: Arrivals::constant(1000.0),
            max_connections: 5,
        },
        Stop::when_told(),
    );
    plan.slice = Duration::from_millis(50);
    plan.drain = Duration::from_millis(50);
    let outcome = load::run(&plan, &mut UntilSent(5)).unwrap();
    assert_balanced(&outcome);
    // One a millisecond from the start on.
    let due = outcome.window().as_nanos().div_ceil(1_000_000) as u64;
    let counts = outcome.counts;
    assert!(counts.scheduled.abs_diff(due) <= 1, "{counts:?}, {due}");
    assert!(counts.sent == 5 && due > 40, "{counts:?}, {due}");
    assert_eq!(outcome.errors.timeout, counts.scheduled);
    let drained = Duration::from_nanos(outcome.finished_ns - outcome.ended_ns);
    assert!(drained >= plan.drain, "{drained:?}");
}

fn misbehave(peer: &mut Peer, how: u64) {
    while peer.request().is_some() {
        match how % 8 {
            0..=2 => {
                peer.write(OK);
            }
            3 => {
                peer.write(OK);
                return;
            }
            4 => return,
            5 => {
                peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
                peer.reset_on_close();
                return;
            }
            6 => {
                peer.write(b"nonsense");
            }
            _ => return peer.swallow(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_the_server_does_every_request_is_accounted_for(
        hows in prop::collection::vec(any::<u64>(), 1..12),
        seed: u64,
        closed: bool,
        keep_alive: bool,
        connections in 1usize..6,
    ) {
        let server = Server::new(move |peer, number| misbehave(peer, hows[number % hows.len()]));
        let mode = if closed {
            Mode::closed(connections)
        } else {
            Mode::Open {
                arrivals: Arrivals::poisson(2000.0, seed),
                max_connections: connections,
            }
        };
        let workload = Workload::from_toml(
            "[[request]]\npath = \"/a\"\n[[request]]\nmethod = \"POST\"\nbody = \"b\"\n",
        )
        .unwrap();
        let mut plan = Plan::new(server.address, workload, mode, Stop::requests(60));
        plan.seed = seed;
        plan.keep_alive = keep_alive;
        plan.timeout = Duration::from_millis(30);
        // What came too late, but in the socket while the generator was away, is no error.
        plan.objective = Some(Duration::from_secs(3_000));
        let outcome = load::run(&plan, &mut Silent).unwrap();
        assert_balanced(&outcome);
        prop_assert_eq!(outcome.counts.scheduled, 60);
        prop_assert_eq!(outcome.violations, outcome.errors.total());
    }
}
