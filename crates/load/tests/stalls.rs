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
    let server = Server::new({
        let gate = gate.clone();
        move |peer, _| {
            while peer.request().is_some() {
                gate.pass();
                peer.write(OK);
            }
        }
    });
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
        arrivals: Arrivals::Constant { rate: RATE },
        max_connections: 1000,
    });
    follows_the_arithmetic(&outcome, frozen);
    assert_eq!(outcome.counts.waited, 0);
}

#[test]
fn waiting_for_a_connection_is_response_time_and_not_the_generators_fault() {
    let (outcome, frozen) = through_a_freeze(Mode::Open {
        arrivals: Arrivals::Constant { rate: RATE },
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

/// What `ab` and `wrk` do, and why the open loop exists.
#[test]
fn the_closed_loop_hides_a_freeze() {
    let (outcome, frozen) = through_a_freeze(Mode::Closed { connections: 2 });
    assert_eq!(longer_than(&outcome, frozen, 0.5), 2);
}
