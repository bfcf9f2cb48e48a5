//! Measurements in addition to the response time: first bytes, classes of answers, the course of a run.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::support::{Gate, OK, Peer, Server, assert_balanced};
use hdrhistogram::Histogram;
use load::{
    Arrivals, Mode, Observer, Outcome, Plan, Progress, Silent, Slice, StatusClass, Stop, Workload,
};

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

/// Has a server write its answer part by part: each once the client is known to have read the one before.
#[derive(Default)]
struct Parts {
    allowed: Mutex<usize>,
    changed: Condvar,
    written: AtomicUsize,
}

impl Parts {
    fn allow(&self, parts: usize) {
        *self.allowed.lock().unwrap() = parts;
        self.changed.notify_all();
    }

    fn serve(&self, peer: &mut Peer, parts: &[&[u8]]) {
        while peer.request().is_some() {
            for (number, part) in parts.iter().enumerate() {
                let allowed = self.allowed.lock().unwrap();
                drop(
                    self.changed
                        .wait_while(allowed, |allowed| *allowed <= number)
                        .unwrap(),
                );
                peer.write(part);
                self.written.store(number + 1, Ordering::SeqCst);
            }
        }
    }
}

/// What the generator sees at its ticks, between which it reads whatever has come.
struct Releasing {
    parts: Arc<Parts>,
    /// Of each part: not before which instant it was written, and by when it was read.
    released: Vec<Instant>,
    read: Vec<Instant>,
    written_before: usize,
}

impl Observer for Releasing {
    fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        let (released, read) = (self.released.len(), self.read.len());
        if self.written_before > read {
            self.read.push(Instant::now());
        } else if released == read && progress.in_flight > 0 {
            self.released.push(Instant::now());
            self.parts.allow(released + 1);
        }
        self.written_before = self.parts.written.load(Ordering::SeqCst);
        ControlFlow::Continue(())
    }
}

/// An answer in parts: how long the client says that its first byte took, how long from there to its
/// last, and when each part was on its way.
fn in_parts(parts: &'static [&'static [u8]]) -> (Duration, Duration, Releasing) {
    let script = Arc::new(Parts::default());
    let server = Server::new({
        let script = script.clone();
        move |peer, _| script.serve(peer, parts)
    });
    let mut plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        Mode::closed(1),
        Stop::requests(1),
    );
    plan.slice = Duration::from_millis(10);
    let mut observer = Releasing {
        parts: script.clone(),
        released: Vec::new(),
        read: Vec::new(),
        written_before: 0,
    };
    let outcome = load::run(&plan, &mut observer).unwrap();
    script.allow(parts.len());
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 1, "{:?}", outcome.first_error);
    assert_eq!(outcome.first_byte.len(), 1);
    let first = Duration::from_micros(outcome.first_byte.max());
    let rest = Duration::from_micros(outcome.service.max()).saturating_sub(first);
    (first, rest, observer)
}

/// At least as long as that, but for the digits of a histogram.
fn lasts(found: Duration, at_least: Duration) {
    let exact = at_least.saturating_sub(at_least / 500);
    assert!(found >= exact, "{found:?} of {at_least:?}");
}

#[test]
fn the_first_byte_is_the_first_of_the_head() {
    let (_, rest, seen) = in_parts(&[b"H", b"TTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", b"ok"]);
    lasts(rest, seen.released[2] - seen.read[0]);
}

#[test]
fn interim_answers_have_no_first_byte() {
    let (first, rest, seen) = in_parts(&[
        b"HTTP/1.1 103 Early Hints\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\n",
        b"HTTP/1.1 20",
        b"0 OK\r\nContent-Length: 0\r\n\r\n",
    ]);
    lasts(first, seen.released[2] - seen.read[0]);
    lasts(rest, seen.released[3] - seen.read[2]);
    // The end of the hints and the beginning of the answer in one read.
    let (first, rest, seen) = in_parts(&[
        b"HTTP/1.1 103 Early",
        b" Hints\r\n\r\nHTTP/1.1 200 OK\r\n",
        b"Content-Length: 0\r\n\r\n",
    ]);
    lasts(first, seen.released[1] - seen.read[0]);
    lasts(rest, seen.released[2] - seen.read[1]);
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

/// While no answer comes, the rate asked goes on and the rate sent stops.
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

/// Keeps the generator from its work at the given ticks, and notes for how long.
struct Sluggish<T> {
    told: T,
    kept: Vec<Duration>,
}

impl<T: FnMut(&Progress<'_>, usize) -> ControlFlow<(), bool>> Observer for Sluggish<T> {
    fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        if (self.told)(progress, self.kept.len())? {
            let since = Instant::now();
            std::thread::sleep(Duration::from_millis(80));
            self.kept.push(since.elapsed());
        }
        ControlFlow::Continue(())
    }
}

fn kept_from_work(
    mode: Mode,
    slice_ms: u64,
    told: impl FnMut(&Progress<'_>, usize) -> ControlFlow<(), bool>,
) -> (Outcome, Vec<Duration>) {
    let server = Server::answering(OK);
    let workload = Workload::get("/").unwrap();
    let mut plan = Plan::new(server.address, workload, mode, Stop::when_told());
    plan.slice = Duration::from_millis(slice_ms);
    let kept = Vec::new();
    let mut sluggish = Sluggish { told, kept };
    let outcome = load::run(&plan, &mut sluggish).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.errors.total(), 0, "{:?}", outcome.first_error);
    (outcome, sluggish.kept)
}

fn sum_us(histogram: &Histogram<u64>) -> f64 {
    histogram.mean() * histogram.len() as f64
}

#[test]
fn the_generators_own_delay_is_distinguished_from_the_servers() {
    const RATE: f64 = 500.0;
    let mode = Mode::Open {
        arrivals: Arrivals::constant(RATE),
        // More than will be under way, so that none waits for one.
        max_connections: 1000,
    };
    let (open, kept) = kept_from_work(mode, 100, |progress, _| {
        if progress.elapsed < Duration::from_millis(600) {
            ControlFlow::Continue(true)
        } else {
            ControlFlow::Break(())
        }
    });
    // Requests due while the generator was kept were late by all of that time down to nothing.
    let requests = |kept: &Duration| RATE * kept.as_secs_f64() - 1.0;
    let of_kept = kept
        .iter()
        .map(|kept| requests(kept) * kept.as_micros() as f64 / 2.0);
    let (kept_us, late_us) = (of_kept.sum::<f64>(), sum_us(&open.lateness));
    assert!(late_us >= 0.9 * kept_us, "{late_us} of {kept_us} µs");
    // It is taken away from the responses, all but what is too little to matter.
    let late = open.late_answers.as_ref().unwrap();
    assert_eq!(late.counted.len(), late.without.len());
    let without = open.response_without_lateness().unwrap();
    assert_eq!(without.len(), open.response.len());
    let taken_us = sum_us(&open.response) - sum_us(&without);
    let left_us = load::LATE.as_micros() as f64 * open.counts.ok as f64;
    let digits_us = 0.002 * sum_us(&open.response);
    assert!(
        (late_us - left_us - digits_us..=late_us + digits_us).contains(&taken_us),
        "{taken_us} of {late_us} µs"
    );
    assert!(open.generator_ok().is_err());

    // What a closed loop begins late it also counts from later. It was kept once, from
    // a request that could have been begun.
    let (closed, kept) = kept_from_work(Mode::closed(2), 10, |progress, kept| {
        if kept > 0 {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(progress.counts.ok > 0 && progress.in_flight < 2)
    });
    assert!(u128::from(closed.lateness.max()) >= kept[0].as_micros());
    assert!(closed.late_answers.is_none());
}
