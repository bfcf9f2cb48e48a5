//! Schedules and think times against a well-behaved server.

use std::time::Duration;

use crate::support::{OK, Server, assert_balanced};
use load::{Arrivals, Mode, Outcome, Part, Plan, Profile, Silent, Stop, Think, Workload};

fn open(server: &Server, arrivals: Arrivals, stop: Stop) -> Plan {
    let mode = Mode::Open {
        arrivals,
        max_connections: 64,
    };
    Plan::new(server.address, Workload::get("/").unwrap(), mode, stop)
}

fn closed(server: &Server, connections: usize, think: Think, stop: Stop) -> Plan {
    let mode = Mode::Closed { connections, think };
    Plan::new(server.address, Workload::get("/").unwrap(), mode, stop)
}

#[test]
fn a_ramp_sends_its_integral_and_says_so() {
    let server = Server::answering(OK);
    let length = Duration::from_millis(400);
    let profile = Profile::holding(&[Part::ramp(0.0, 1000.0, length)]);
    let plan = open(&server, Arrivals::even(profile), Stop::after(length));
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.scheduled, 200);
    assert!((outcome.asked_rate.unwrap() - 500.0).abs() < 1e-6);
}

#[test]
fn a_recording_ends_the_window_a_mean_gap_after_its_last_instant() {
    let server = Server::answering(OK);
    let arrivals = Arrivals::Recorded {
        offsets: [0, 0, 30_000_000, 60_000_000].into(),
        speed: 2.0,
    };
    for stop in [Stop::when_told(), Stop::after(Duration::from_secs(3600))] {
        let plan = open(&server, arrivals.clone(), stop);
        let outcome = load::run(&plan, &mut Silent).unwrap();
        assert_balanced(&outcome);
        assert_eq!(outcome.counts.ok, 4);
        assert_eq!(outcome.first_arrivals_ns, [0, 0, 15_000_000, 30_000_000]);
        assert_eq!(outcome.window(), Duration::from_millis(40));
        assert!((outcome.asked_rate.unwrap() - 100.0).abs() < 1e-6);
    }
}

#[test]
fn a_profile_that_falls_to_nothing_ends_the_window() {
    let server = Server::answering(OK);
    let part = |rate| Part::steady(rate, Duration::from_millis(50));
    let profile = Profile::holding(&[part(0.0), part(400.0), part(0.0)]);
    let plan = open(&server, Arrivals::even(profile), Stop::when_told());
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 20);
    assert_eq!(outcome.first_arrivals_ns[0], 50_000_000);
    assert_eq!(outcome.window(), Duration::from_millis(150));
}

#[test]
fn a_number_of_requests_is_exact_also_when_they_fail() {
    let broken = Server::new(|peer, _| {
        peer.request();
        peer.write(b"not HTTP\r\n\r\n");
    });
    let mode = [
        closed(&broken, 7, Think::None, Stop::requests(50)),
        open(&broken, Arrivals::poisson(5_000.0, 3), Stop::requests(50)),
    ];
    for plan in mode {
        let outcome = load::run(&plan, &mut Silent).unwrap();
        assert_balanced(&outcome);
        assert_eq!(outcome.counts.scheduled, 50);
        assert_eq!(outcome.errors.total(), 50);
    }
}

/// By counting: users who think for T begin at most one request, and one more,
/// in every T; without thinking they would begin many times as many. Whatever
/// holds them up only makes the window longer.
#[test]
fn users_who_think_send_no_more_than_their_thinking_allows() {
    let server = Server::answering(OK);
    let think = Duration::from_millis(20);
    let stop = Stop::requests(150);
    let thoughts = |outcome: &Outcome| 10.0 * outcome.window().as_secs_f64() / 0.02;
    let plan = closed(&server, 10, Think::Constant(think), stop);
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!((outcome.counts.ok, outcome.counts.connections), (150, 10));
    let most = thoughts(&outcome) + 10.0;
    assert!(most >= 150.0, "{most}");

    let mean = think;
    let plan = closed(&server, 10, Think::Exponential { mean }, stop);
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    // So many are expected of users whose answers take no time; six deviations.
    let expected = thoughts(&outcome);
    let most = expected + 6.0 * expected.sqrt();
    assert!(most >= 150.0, "{most}");
}

/// The response of a user who thinks counts from the end of the think time,
/// so that the generator's delay is within it.
#[test]
fn responses_of_users_who_think_contain_the_generators_delay() {
    let server = Server::answering(OK);
    let think = Think::Constant(Duration::from_millis(5));
    let plan = closed(&server, 50, think, Stop::requests(500));
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 500);
    let parts = outcome.lateness.mean() + outcome.service.mean();
    let response = outcome.response.mean();
    assert!(response >= 0.99 * parts, "{response} µs, {parts} µs");
}

/// Waking early and polling until a request is due starts none before it is.
#[test]
fn spinning_changes_no_count_and_starts_nothing_early() {
    let server = Server::answering(OK);
    let stop = Stop::after(Duration::from_millis(200));
    let mut plan = open(&server, Arrivals::constant(2_000.0), stop);
    plan.spin = Duration::from_micros(200);
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 400);
    assert_eq!(outcome.lateness.len(), 400);
    // The response of a request that started early would lack a part of its service time.
    let (response, service) = (outcome.response.mean(), outcome.service.mean());
    assert!(response >= 0.99 * service, "{response} µs, {service} µs");
}

/// Works at every tick, on the generator's thread, until just before the next.
struct Toil {
    slice: Duration,
    window: Duration,
    toiled: Duration,
}

impl load::Observer for Toil {
    fn tick(&mut self, progress: &load::Progress<'_>) -> std::ops::ControlFlow<()> {
        let (since, elapsed) = (std::time::Instant::now(), progress.elapsed);
        let slices = elapsed.as_nanos() / self.slice.as_nanos() + 1;
        let next = self.slice * slices as u32;
        let left = next.saturating_sub(elapsed + self.slice / 100);
        while since.elapsed() < left {}
        self.toiled += since.elapsed().min(self.window.saturating_sub(elapsed));
        std::ops::ControlFlow::Continue(())
    }
}

/// Its CPU time is a whole core's in both cases.
#[test]
fn a_spinning_generator_knows_whether_it_had_time() {
    let server = Server::answering(OK);
    let stop = Stop::after(Duration::from_millis(400));
    let mut plan = open(&server, Arrivals::constant(200.0), stop);
    plan.slice = Duration::from_millis(10);
    plan.spin = Duration::from_millis(10);
    let idle = load::run(&plan, &mut Silent).unwrap();
    // A neighbour may have taken its time: as much as requests were late for.
    let late = idle.lateness.count_between(500, u64::MAX) as f64 / idle.lateness.len() as f64;
    let share = idle.generator_busy_share();
    assert!(
        share < 0.5 + late,
        "{share}, of which {late} were not its own"
    );

    let mut toil = Toil {
        slice: plan.slice,
        window: Duration::from_millis(400),
        toiled: Duration::ZERO,
    };
    let busy = load::run(&plan, &mut toil).unwrap();
    let share = busy.generator_busy_share();
    // It knows of all that it did, and that is nearly all that it could do.
    let toiled = toil.toiled.as_secs_f64() / toil.window.as_secs_f64();
    assert!(
        share > 0.98 * toiled && share > load::MAX_CPU_SHARE,
        "{share}, {toiled}"
    );
}

/// The seed gives the due time of each answer's request.
#[test]
fn answers_are_kept_in_the_order_in_which_they_were_due() {
    let server = Server::answering(OK);
    let arrivals = Arrivals::poisson(2_000.0, 5);
    let mut plan = open(&server, arrivals.clone(), Stop::requests(100));
    assert!(load::run(&plan, &mut Silent).unwrap().answers.is_empty());
    plan.keep_answers = true;
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    let due: Vec<u64> = outcome.answers.iter().map(|answer| answer.due_ns).collect();
    assert_eq!(due, arrivals.offsets_ns().take(100).collect::<Vec<u64>>());
    let slowest = outcome.answers.iter().map(|answer| answer.took_ns).max();
    let slowest_us = slowest.unwrap() as f64 / 1e3;
    assert!((outcome.response.max() as f64 / slowest_us - 1.0).abs() < 0.01);
}
