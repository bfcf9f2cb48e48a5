//! What is measured beside the response time: first bytes, classes of answers, the course of a run.

mod support;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use load::{
    Arrivals, Mode, Observer, Outcome, Plan, Progress, Silent, Slice, StatusClass, Stop, Workload,
};
use support::{Gate, OK, Server, assert_balanced};

fn one_by_one(server: &Server, workload: &str, requests: u64) -> Outcome {
    let plan = Plan::new(
        server.address,
        Workload::from_toml(workload).unwrap(),
        Mode::closed(1),
        Stop::requests(requests),
    );
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    outcome
}

/// Serves one answer in parts, with the pause before each, and returns how long the client says that
/// passed from the first byte to the last, and how long the server spent writing, in µs.
fn in_parts(parts: &'static [(u64, &'static [u8])]) -> (u64, u64) {
    let took = Arc::new(AtomicU64::new(0));
    let server = Server::new({
        let took = took.clone();
        move |peer, _| {
            while peer.request().is_some() {
                let began = Instant::now();
                for (pause_ms, part) in parts {
                    std::thread::sleep(Duration::from_millis(*pause_ms));
                    took.store(
                        u64::try_from(began.elapsed().as_micros()).unwrap(),
                        Ordering::SeqCst,
                    );
                    peer.write(part);
                }
            }
        }
    });
    let outcome = one_by_one(&server, "[[request]]\n", 1);
    assert_eq!(outcome.counts.ok, 1, "{:?}", outcome.first_error);
    assert_eq!(outcome.first_byte.len(), 1);
    let seen = outcome.service.max() - outcome.first_byte.max();
    (seen, took.load(Ordering::SeqCst))
}

#[test]
fn the_first_byte_is_the_first_of_the_head() {
    let (seen, took) = in_parts(&[
        (0, b"H"),
        (60, b"TTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"),
        (60, b"ok"),
    ]);
    assert!(seen > took * 3 / 4, "{seen} µs of {took} µs");
}

#[test]
fn interim_answers_have_no_first_byte() {
    let (seen, took) = in_parts(&[
        (0, b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (60, b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (60, b"HTTP/1.1 20"),
        (10, b"0 OK\r\nContent-Length: 0\r\n\r\n"),
    ]);
    assert!(seen < took / 2, "{seen} µs of {took} µs");
    // The end of the hints and the beginning of the answer in one read.
    let (seen, took) = in_parts(&[
        (0, b"HTTP/1.1 103 Early"),
        (60, b" Hints\r\n\r\nHTTP/1.1 200 OK\r\n"),
        (10, b"Content-Length: 0\r\n\r\n"),
    ]);
    assert!(seen < took / 2, "{seen} µs of {took} µs");
}

#[test]
fn answers_are_told_apart_by_class_and_endpoint() {
    let server = Server::new(|peer, _| {
        while let Some((head, _)) = peer.request() {
            let path = head.split(' ').nth(1).unwrap();
            match path {
                "/moved" => peer.write(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"),
                "/none" => return,
                "/broken" => peer.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"),
                _ => peer.write(OK),
            };
        }
    });
    let workload = "[[request]]\nname = \"fine\"\n[[request]]\npath = \"/moved\"\nname = \"fine\"\n\
                    [[request]]\npath = \"/broken\"\n[[request]]\npath = \"/none\"\n";
    let outcome = one_by_one(&server, workload, 400);
    let counts = |classes: &load::ByClass| -> Vec<(&str, u64)> {
        classes
            .iter()
            .map(|(class, h)| (class.label(), h.len()))
            .collect()
    };
    assert_eq!(
        counts(&outcome.classes),
        [("2xx", 100), ("3xx", 100), ("5xx", 100), ("none", 100)]
    );
    let endpoints: Vec<_> = outcome
        .endpoints
        .iter()
        .map(|e| counts(&e.classes))
        .collect();
    assert_eq!(
        endpoints,
        [
            vec![("2xx", 100), ("3xx", 100)],
            vec![("5xx", 100)],
            vec![("none", 100)]
        ]
    );
    // Infinite in the response, but with its own time in its class.
    assert_eq!(
        load::quantile_us(&outcome.endpoints[1].response, 0.01),
        Some(None)
    );
    let busy = outcome.classes.get(StatusClass::ServerError).unwrap();
    assert!(busy.max() < load::HIGHEST_US / 2);
    let fine = &outcome.endpoints[0];
    assert_eq!(fine.response.len(), 200);
    assert!(load::quantile_us(&fine.response, 1.0).unwrap().is_some());
}

/// Sums up what it is shown.
#[derive(Default)]
struct Follower {
    slices: Vec<Slice>,
    responses: u64,
    services: u64,
    gate: Option<Arc<Gate>>,
}

impl Observer for Follower {
    fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        self.slices.push(*progress.slice);
        let interval = progress.interval;
        assert_eq!(
            interval.response.len(),
            progress.slice.ok + progress.slice.errors
        );
        self.responses += interval.response.len();
        self.services += interval.service.len();
        assert_eq!(progress.response.len(), self.responses);
        if self.slices.len() == 12
            && let Some(gate) = self.gate.take()
        {
            gate.set_closed(false);
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn intervals_add_up_to_the_run() {
    let server = Server::answering(OK);
    let mut plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        Mode::closed(2),
        Stop::requests(3_000),
    );
    plan.slice = Duration::from_millis(10);
    let mut follower = Follower::default();
    let outcome = load::run(&plan, &mut follower).unwrap();
    assert_balanced(&outcome);
    // What came after the last tick is in the outcome alone.
    let last = outcome.slices.last().unwrap();
    let unseen = if outcome.slices.len() > follower.slices.len() {
        last.ok
    } else {
        0
    };
    assert_eq!(follower.responses + unseen, outcome.response.len());
    assert_eq!(follower.services + unseen, outcome.service.len());
    let sum = |of: fn(&Slice) -> u64| outcome.slices.iter().map(of).sum::<u64>();
    assert_eq!((sum(|s| s.due), sum(|s| s.sent)), (3_000, 3_000));
    assert!(outcome.generator_cpu_per_request().unwrap() > Duration::ZERO);
}

/// While nobody answers, the rate asked goes on and the rate sent stops.
#[test]
fn what_is_due_counts_though_it_cannot_be_sent() {
    let gate = Arc::new(Gate::default());
    gate.set_closed(true);
    let server = Server::gated(&gate);
    let mut plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        Mode::Open {
            arrivals: Arrivals::poisson(1_000.0, 3),
            max_connections: 3,
        },
        Stop::after(Duration::from_millis(300)),
    );
    plan.slice = Duration::from_millis(20);
    let mut follower = Follower {
        gate: Some(gate),
        ..Follower::default()
    };
    let outcome = load::run(&plan, &mut follower).unwrap();
    assert_balanced(&outcome);
    let Mode::Open { arrivals, .. } = &plan.mode else {
        unreachable!()
    };
    let due_by = |ns: u64| arrivals.offsets_ns().take_while(|at| *at <= ns).count() as u64;
    let mut due = 0;
    let mut sent = 0;
    for slice in &follower.slices {
        due += slice.due;
        sent += slice.sent;
        let end_ns = slice.start_ns + slice.length_ns;
        if end_ns < 300_000_000 {
            assert!(due.abs_diff(due_by(end_ns)) <= 1, "at {end_ns} ns");
        }
        assert!(sent <= due);
    }
    assert_eq!(follower.slices[..11].iter().map(|s| s.sent).sum::<u64>(), 3);
    let sum = |of: fn(&Slice) -> u64| outcome.slices.iter().map(of).sum::<u64>();
    assert_eq!(sum(|s| s.due), outcome.counts.scheduled);
    assert_eq!(sum(|s| s.sent), outcome.counts.sent);
}

/// Keeps the generator from its work.
struct Sluggish;

impl Observer for Sluggish {
    fn tick(&mut self, _: &Progress<'_>) -> ControlFlow<()> {
        std::thread::sleep(Duration::from_millis(40));
        ControlFlow::Continue(())
    }
}

#[test]
fn the_generators_own_delay_is_told_apart_from_the_servers() {
    let server = Server::answering(OK);
    let run = |mode| {
        let mut plan = Plan::new(
            server.address,
            Workload::get("/").unwrap(),
            mode,
            Stop::after(Duration::from_millis(500)),
        );
        plan.slice = Duration::from_millis(100);
        load::run(&plan, &mut Sluggish).unwrap()
    };
    let open = run(Mode::Open {
        arrivals: Arrivals::constant(500.0),
        max_connections: 64,
    });
    assert_balanced(&open);
    let late = open.late_answers.as_ref().unwrap();
    // Four of five slices lose 40 of their 100 ms.
    assert!(late.counted.len() > open.counts.ok / 5);
    assert_eq!(late.counted.len(), late.without.len());
    let without = open.response_without_lateness().unwrap();
    assert_eq!(without.len(), open.response.len());
    assert!(without.mean() < open.response.mean() * 0.8);
    assert!(open.generator_ok().is_err());
    // What a closed loop begins late it also counts from later.
    let closed = run(Mode::Closed {
        connections: 2,
        think: load::Think::None,
    });
    assert!(closed.lateness.max() > 30_000);
    assert!(closed.late_answers.is_none());
}
