//! A server that freezes: what the loops report against what arithmetic says.

mod support;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use load::{Arrivals, HIGHEST_US, Mode, Observer, Outcome, Plan, Progress, Stop, Workload};
use support::{Gate, OK, Server, assert_balanced};

const SLICE: Duration = Duration::from_millis(50);
const RATE: f64 = 200.0;

/// Closes the server's gate at the 10th tick and opens it at the 22nd.
struct Freezer {
    gate: Arc<Gate>,
    ticks: u32,
    closed: Option<Instant>,
    frozen: Duration,
}

impl Observer for Freezer {
    fn tick(&mut self, _: &Progress<'_>) -> ControlFlow<()> {
        self.ticks += 1;
        if self.ticks == 10 {
            self.gate.set_closed(true);
            self.closed = Some(Instant::now());
        } else if self.ticks == 22 {
            self.gate.set_closed(false);
            self.frozen = self.closed.unwrap().elapsed();
        }
        ControlFlow::Continue(())
    }
}

/// The outcome, and how long the server was frozen.
fn through_a_freeze(mode: Mode) -> (Outcome, Duration) {
    let gate = Arc::new(Gate::default());
    let server = Server::gated(&gate);
    let mut plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        mode,
        Stop::after(40 * SLICE),
    );
    plan.slice = SLICE;
    let mut freezer = Freezer {
        gate,
        ticks: 0,
        closed: None,
        frozen: Duration::ZERO,
    };
    let outcome = load::run(&plan, &mut freezer).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.errors.total(), 0, "{:?}", outcome.first_error);
    (outcome, freezer.frozen)
}

/// Requests that took longer than a share of the freeze.
fn longer_than(outcome: &Outcome, frozen: Duration, share: f64) -> u64 {
    let limit = u64::try_from(frozen.mul_f64(share).as_micros()).unwrap();
    outcome.response.count_between(limit, HIGHEST_US)
}

/// Requests due in a freeze of length F wait for its end: of rate x F, the
/// share 1 - s waits longer than s x F.
fn follows_the_arithmetic(outcome: &Outcome, frozen: Duration) {
    for share in [0.2, 0.5, 0.8] {
        let exact = RATE * frozen.as_secs_f64() * (1.0 - share);
        let found = longer_than(outcome, frozen, share) as f64;
        let tolerance = 0.1 * RATE * frozen.as_secs_f64();
        assert!(
            (found - exact).abs() <= tolerance,
            "{found} requests waited over {share} of {frozen:?}; {exact} should have"
        );
    }
}

#[test]
fn the_open_loop_reports_a_freeze_as_users_would_feel_it() {
    let (outcome, frozen) = through_a_freeze(Mode::Open {
        arrivals: Arrivals::constant(RATE),
        max_connections: 1000,
    });
    follows_the_arithmetic(&outcome, frozen);
    assert_eq!(outcome.counts.waited, 0);
}

#[test]
fn waiting_for_a_connection_is_response_time_and_not_the_generators_fault() {
    let (outcome, frozen) = through_a_freeze(Mode::Open {
        arrivals: Arrivals::constant(RATE),
        max_connections: 4,
    });
    follows_the_arithmetic(&outcome, frozen);
    assert!(outcome.counts.connections <= 4);
    let stalled = RATE * frozen.as_secs_f64();
    assert!(outcome.counts.waited as f64 > 0.8 * stalled);
    assert_eq!(outcome.connection_wait.len(), outcome.counts.waited);
    // Nine in ten starts within a small part of what the requests waited.
    let wait = outcome.connection_wait.value_at_quantile(0.5);
    assert!(outcome.lateness.value_at_quantile(0.9) < wait / 5);
}

/// Ctrl-C in a freeze: exactly then the backlog holds the longest waits.
#[test]
fn cancelling_in_a_freeze_cuts_the_backlog_and_says_how_old_it_is() {
    struct CancelAfter(Duration, bool, Duration);
    impl Observer for CancelAfter {
        fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
            self.1 |= progress.elapsed >= self.0;
            self.2 = self.2.max(progress.behind);
            ControlFlow::Continue(())
        }
        fn cancelled(&mut self) -> bool {
            self.1
        }
    }
    let server = Server::new(|peer, _| peer.swallow());
    let session = "[[session]]\nusers = 1\n[[session.request]]\npath = \"/a\"\n";
    for (text, slice) in [
        ("[[request]]\n", 10),
        (session, 10),
        // The only slice is the one that the cancellation ends.
        ("[[request]]\n", 60_000),
    ] {
        let mut plan = Plan::new(
            server.address,
            Workload::from_toml(text).unwrap(),
            Mode::Open {
                arrivals: Arrivals::constant(RATE),
                max_connections: 2,
            },
            Stop::when_told(),
        );
        plan.slice = Duration::from_millis(slice);
        let cancelled_at_once = slice > 1_000;
        let mut observer = CancelAfter(SLICE * 2, false, Duration::ZERO);
        let outcome = if cancelled_at_once {
            struct After(Instant);
            impl Observer for After {
                fn cancelled(&mut self) -> bool {
                    self.0.elapsed() > 2 * SLICE
                }
            }
            load::run(&plan, &mut After(Instant::now())).unwrap()
        } else {
            load::run(&plan, &mut observer).unwrap()
        };
        assert_balanced(&outcome);
        let due = (outcome.window().as_secs_f64() * RATE).ceil() as u64;
        let counts = outcome.counts;
        assert!(counts.scheduled.abs_diff(due) <= 1, "{counts:?}, {due}");
        assert!(counts.cut == counts.scheduled && counts.sent <= 2);
        let of_slices: u64 = outcome.slices.iter().map(|slice| slice.due).sum();
        assert_eq!(of_slices, counts.scheduled);
        // The first was due at the start.
        assert!(outcome.oldest_cut.unwrap() >= outcome.window());
        // All but the two under way, or the one, the oldest being the next.
        let waits = outcome.window().saturating_sub(SLICE);
        assert!(cancelled_at_once || observer.2 >= waits, "{:?}", observer.2);
    }
}

/// What `ab` and `wrk` do, and why the open loop exists.
#[test]
fn the_closed_loop_hides_a_freeze() {
    let (outcome, frozen) = through_a_freeze(Mode::closed(2));
    assert_eq!(longer_than(&outcome, frozen, 0.5), 2);
}

/// Holds the generator's thread for as long, once.
struct HoldUp(Duration, u32);

impl Observer for HoldUp {
    fn tick(&mut self, _: &Progress<'_>) -> ControlFlow<()> {
        self.1 += 1;
        if self.1 == 2 {
            std::thread::sleep(self.0);
        }
        ControlFlow::Continue(())
    }
}

/// The server answers at once; it is the generator that is away for longer than the timeout.
#[test]
fn a_stalled_generator_owns_up_to_the_timeouts() {
    let server = Server::answering(OK);
    let session = "[[session]]\nusers = 100\n[[session.request]]\npath = \"/a\"\n";
    for text in ["[[request]]\n", session] {
        let mut plan = Plan::new(
            server.address,
            Workload::from_toml(text).unwrap(),
            Mode::Open {
                arrivals: Arrivals::constant(RATE),
                max_connections: 100,
            },
            Stop::after(20 * SLICE),
        );
        plan.slice = SLICE;
        plan.timeout = 4 * SLICE;
        let outcome = load::run(&plan, &mut HoldUp(8 * SLICE, 0)).unwrap();
        assert_balanced(&outcome);
        // Due in the first half of the stall.
        assert!(outcome.errors.timeout > 20, "{:?}", outcome.errors);
        // All that were never begun, but for one whose time was up as the
        // generator came back; those begun with little time left may run out of it.
        let (stalled, counts) = (outcome.stalled, outcome.counts);
        let unsent = counts.scheduled - counts.sent;
        assert!(unsent > 20, "{counts:?}");
        assert!(
            (unsent - 2..=unsent).contains(&stalled),
            "{stalled}, {counts:?}"
        );
        assert_eq!(outcome.counts.waited, 0);
        assert_eq!(outcome.lateness.len(), outcome.counts.scheduled);
        let trouble = outcome.generator_ok().unwrap_err();
        assert!(trouble.to_string().contains("stood still"), "{trouble}");
    }
}

/// An answer that came while the generator was away is read before its deadline is looked at.
#[test]
fn an_answer_in_the_socket_is_no_timeout() {
    struct LetPassAndHoldUp(Arc<Gate>, HoldUp);
    impl Observer for LetPassAndHoldUp {
        fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
            self.0.set_closed(self.1.1 == 0);
            self.1.tick(progress)
        }
    }
    let gate = Arc::new(Gate::default());
    gate.set_closed(true);
    let server = Server::new({
        let gate = gate.clone();
        move |peer, _| {
            peer.request();
            gate.pass();
            peer.write(OK);
            peer.swallow();
        }
    });
    let mut plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        Mode::Open {
            arrivals: Arrivals::constant(RATE),
            max_connections: 1,
        },
        Stop::requests(1),
    );
    plan.slice = SLICE;
    plan.timeout = 4 * SLICE;
    let hold_up = HoldUp(8 * SLICE, 0);
    let outcome = load::run(&plan, &mut LetPassAndHoldUp(gate, hold_up)).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 1, "{:?}", outcome.errors);
}
