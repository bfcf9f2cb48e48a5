//! Both loops against a well-behaved server: what is sent, when it ends.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::{OK, Server, assert_balanced};
use load::{Arrivals, LoadError, Mode, Observer, Plan, Progress, Sequence, Silent, Stop, Workload};

fn closed(server: &Server, connections: usize, stop: Stop) -> Plan {
    let workload = Workload::get("/").unwrap();
    Plan::new(server.address, workload, Mode::closed(connections), stop)
}

fn open(server: &Server, rate: f64, stop: Stop) -> Plan {
    let mode = Mode::Open {
        arrivals: Arrivals::poisson(rate, 7),
        max_connections: 64,
    };
    Plan::new(server.address, Workload::get("/").unwrap(), mode, stop)
}

#[test]
fn closed_loop_sends_exactly_what_is_asked() {
    let server = Server::answering(OK);
    let outcome = load::run(&closed(&server, 4, Stop::requests(1000)), &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 1000, "{:?}", outcome.first_error);
    assert_eq!(outcome.counts.connections, 4);
    assert!(outcome.throughput_per_s() > 0.0);
    assert!(outcome.asked_rate.is_none());
}

#[test]
fn without_keep_alive_each_request_has_its_connection() {
    let server = Server::new(|peer, _| {
        let (head, _) = peer.request().unwrap();
        assert!(head.contains("\r\nConnection: close\r\n"));
        peer.write(OK);
        peer.swallow();
    });
    let mut plan = closed(&server, 2, Stop::requests(50));
    plan.keep_alive = false;
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 50);
    assert_eq!(outcome.counts.connections, 50);
    assert_eq!(outcome.connect.len(), 50);
}

#[test]
fn open_loop_sends_every_arrival_of_the_window() {
    let server = Server::answering(OK);
    let plan = open(&server, 1000.0, Stop::after(Duration::from_millis(500)));
    let Mode::Open { arrivals, .. } = &plan.mode else {
        unreachable!()
    };
    let due: Vec<u64> = arrivals
        .offsets_ns()
        .take_while(|at| *at < 500_000_000)
        .collect();
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.scheduled, due.len() as u64);
    assert_eq!(outcome.counts.ok, due.len() as u64);
    assert_eq!(outcome.lateness.len(), due.len() as u64);
    assert_eq!(
        outcome.first_arrivals_ns,
        due[..outcome.first_arrivals_ns.len()]
    );
    assert_eq!(outcome.window(), Duration::from_millis(500));
}

#[test]
fn whichever_end_comes_first_counts() {
    let server = Server::answering(OK);
    let both = Stop {
        after: Some(Duration::from_secs(3600)),
        requests: Some(30),
    };
    let outcome = load::run(&open(&server, 2000.0, both), &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 30);
    let both = Stop {
        after: Some(Duration::from_millis(50)),
        requests: Some(u64::MAX),
    };
    let outcome = load::run(&closed(&server, 2, both), &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.window(), Duration::from_millis(50));
    assert_eq!(outcome.errors.total(), 0, "{:?}", outcome.first_error);
}

#[test]
fn requests_come_in_the_sequence_order_with_their_bytes() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let server = Server::new({
        let seen = seen.clone();
        move |peer, _| {
            while let Some(request) = peer.request() {
                seen.lock().unwrap().push(request);
                peer.write(OK);
            }
        }
    });
    let big = "x".repeat(3_000_000);
    let workload = Workload::from_toml(&format!(
        "[[request]]\npath = \"/a\"\nweight = 3\nheaders = {{ Cookie = \"k=v\" }}\n\
         [[request]]\nmethod = \"POST\"\npath = \"/b\"\nbody = \"{big}\"\n"
    ))
    .unwrap();
    let mut plan = closed(&server, 1, Stop::requests(12));
    plan.workload = workload;
    plan.seed = 5;
    plan.target = plan.target.with_host("shop.example");
    let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let outcome = load::run(&plan, &mut Silent).unwrap();
    let after = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 12);
    let seen = seen.lock().unwrap();
    let expected = Sequence::new(&plan.workload, 5).take(12);
    for ((head, body), index) in seen.iter().zip(expected) {
        let line = ["GET /a HTTP/1.1\r\n", "POST /b HTTP/1.1\r\n"][index];
        assert!(head.starts_with(line), "{head}");
        assert!(head.contains("\r\nHost: shop.example\r\n"));
        assert_eq!(head.contains("\r\nCookie: k=v\r\n"), index == 0);
        assert_eq!(body.len(), [0, big.len()][index]);
        let stamp = head
            .split_once("\r\nX-Request-Start: t=")
            .unwrap()
            .1
            .split_once("\r\n")
            .unwrap()
            .0;
        let at = Duration::from_micros(stamp.parse().unwrap());
        let slack = Duration::from_millis(5);
        assert!(before <= at + slack && at <= after + slack);
    }
    let names: Vec<&str> = outcome.endpoints.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["GET /a", "POST /b"]);
}

/// As `ab` does it: else N clients asked for N requests would have had no throughput at all.
#[test]
fn a_closed_loop_of_n_requests_ends_with_the_last_answer() {
    let server = Server::answering(OK);
    let outcome = load::run(&closed(&server, 8, Stop::requests(8)), &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!((outcome.counts.ok, outcome.counts.ok_in_window), (8, 8));
    assert!(outcome.throughput_per_s() > 0.0);
    let slowest = Duration::from_micros(outcome.response.min());
    assert!(outcome.window() >= slowest.mul_f64(0.9));
    // One that gets no answer is given up after the drain.
    let server = Server::new(|peer, _| peer.swallow());
    let mut plan = closed(&server, 2, Stop::requests(2));
    plan.drain = Duration::from_millis(50);
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.errors.timeout, 2);
    assert!(outcome.window() >= plan.drain);
}

struct StopAt(u32);

impl Observer for StopAt {
    fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        // Once more at the end of the run, when the answer means nothing.
        self.0 = self.0.saturating_sub(1);
        assert!(progress.counts.scheduled >= progress.counts.ok);
        if self.0 == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[test]
fn the_observer_ends_the_window() {
    let server = Server::answering(OK);
    for mut plan in [
        closed(&server, 2, Stop::when_told()),
        open(&server, 500.0, Stop::when_told()),
    ] {
        plan.slice = Duration::from_millis(20);
        let outcome = load::run(&plan, &mut StopAt(4)).unwrap();
        assert_balanced(&outcome);
        assert!(!outcome.cancelled);
        assert!(outcome.counts.ok > 0 && outcome.errors.total() == 0);
        assert!(outcome.slices.len() >= 4, "{:?}", outcome.slices);
    }
}

#[derive(Default)]
struct CancelWhenBusy(u64);

impl Observer for CancelWhenBusy {
    fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        self.0 = progress.in_flight as u64;
        ControlFlow::Continue(())
    }

    fn cancelled(&mut self) -> bool {
        self.0 > 0
    }
}

#[test]
fn cancelling_waits_for_nothing_and_counts_no_failure() {
    let server = Server::new(|peer, _| peer.swallow());
    let mut plan = closed(&server, 3, Stop::when_told());
    plan.slice = Duration::from_millis(10);
    let outcome = load::run(&plan, &mut CancelWhenBusy::default()).unwrap();
    assert_balanced(&outcome);
    assert!(outcome.cancelled);
    assert_eq!((outcome.counts.cut, outcome.errors.total()), (3, 0));
}

#[test]
fn plans_that_cannot_be_run_are_refused_with_a_remedy() {
    let server = Server::answering(OK);
    let good = closed(&server, 1, Stop::requests(1));
    let mut remote = good.clone();
    remote.target = "192.0.2.1:80".parse::<SocketAddr>().unwrap().into();
    let error = load::run(&remote, &mut Silent).unwrap_err();
    assert!(matches!(error, LoadError::Remote(_)));
    assert!(error.to_string().contains("192.0.2.1:80"));
    assert!(error.to_string().contains("--allow-remote"));
    type Change = (&'static str, fn(&mut Plan));
    let changes: [Change; 8] = [
        ("connections", |p| p.mode = Mode::closed(0)),
        ("timeout", |p| p.timeout = Duration::ZERO),
        ("slice", |p| p.slice = Duration::ZERO),
        ("objective", |p| p.objective = Some(Duration::ZERO)),
        ("stop", |p| p.stop = Stop::requests(0)),
        ("host", |p| {
            p.target = p.target.clone().with_host("a\r\nX: y")
        }),
        ("drain", |p| p.drain = Duration::MAX),
        ("rate", |p| {
            p.mode = Mode::Open {
                arrivals: Arrivals::constant(f64::NAN),
                max_connections: 1,
            }
        }),
    ];
    for (expected, change) in changes {
        let mut plan = good.clone();
        change(&mut plan);
        match load::run(&plan, &mut Silent) {
            Err(LoadError::Plan { key, .. }) => assert_eq!(key, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
}
