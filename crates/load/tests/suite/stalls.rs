//! A server that freezes: what the loops report against what arithmetic says.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::watch::{HeldUp, Watch};
use crate::support::{Gate, OK, Server, assert_balanced};
use load::{Arrivals, HIGHEST_US, Mode, Observer, Outcome, Plan, Progress, Stop, Workload};

const SLICE: Duration = Duration::from_millis(50);
const RATE: f64 = 200.0;

/// Closes the server's gate at the 10th tick, opens it at the 22nd and ends the
/// window at the 40th. By ticks rather than by the time: a generator that is held
/// up has looked in between all the same.
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
        } else if self.ticks == 40 {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// The outcome, how long the server was frozen, and what else held up all of us.
fn through_a_freeze(mode: Mode) -> (Outcome, Duration, HeldUp) {
    let gate = Arc::new(Gate::default());
    let server = Server::gated(&gate);
    let mut plan = Plan::new(
        server.address,
        Workload::get("/").unwrap(),
        mode,
        Stop::when_told(),
    );
    plan.slice = SLICE;
    let watch = Watch::begin();
    let mut freezer = Freezer {
        gate,
        ticks: 0,
        closed: None,
        frozen: Duration::ZERO,
    };
    let outcome = load::run(&plan, &mut freezer).unwrap();
    let held_up = watch.end();
    assert_balanced(&outcome);
    assert_eq!(outcome.errors.total(), 0, "{:?}", outcome.first_error);
    (outcome, freezer.frozen, held_up)
}

/// Requests that took longer than a share of the freeze.
fn longer_than(outcome: &Outcome, frozen: Duration, share: f64) -> u64 {
    let limit = u64::try_from(frozen.mul_f64(share).as_micros()).unwrap();
    outcome.response.count_between(limit, HIGHEST_US)
}

/// Requests due in a freeze of length F wait for its end: of rate x F, the
/// share 1 - s waits longer than s x F. Those due while all of us were held up
/// may have waited as long, and come on top.
fn follows_the_arithmetic(outcome: &Outcome, frozen: Duration, held_up: &HeldUp) {
    let others = RATE * held_up.total().as_secs_f64();
    for share in [0.2, 0.5, 0.8] {
        let exact = RATE * frozen.as_secs_f64() * (1.0 - share);
        let found = longer_than(outcome, frozen, share) as f64;
        let tolerance = 0.1 * RATE * frozen.as_secs_f64();
        assert!(
            (exact - tolerance..=exact + tolerance + others).contains(&found),
            "{found} requests waited over {share} of {frozen:?}; {exact} should have, {others} may"
        );
    }
}

#[test]
fn the_open_loop_reports_a_freeze_as_users_would_feel_it() {
    let (outcome, frozen, held_up) = through_a_freeze(Mode::Open {
        arrivals: Arrivals::constant(RATE),
        max_connections: 1000,
    });
    follows_the_arithmetic(&outcome, frozen, &held_up);
    assert_eq!(outcome.counts.waited, 0);
}

#[test]
fn waiting_for_a_connection_is_response_time_and_not_the_generators_fault() {
    let (outcome, frozen, held_up) = through_a_freeze(Mode::Open {
        arrivals: Arrivals::constant(RATE),
        max_connections: 4,
    });
    follows_the_arithmetic(&outcome, frozen, &held_up);
    assert!(outcome.counts.connections <= 4);
    let stalled = RATE * frozen.as_secs_f64();
    assert!(outcome.counts.waited as f64 > 0.8 * stalled);
    assert_eq!(outcome.connection_wait.len(), outcome.counts.waited);
    // Nine in ten starts within a small part of what the requests waited, but
    // for those due while the generator itself was held up.
    let wait = outcome.connection_wait.value_at_quantile(0.5);
    let late = outcome.lateness.count_between(wait / 5, HIGHEST_US) as f64;
    let others = RATE * held_up.total().as_secs_f64();
    let tenth = outcome.counts.scheduled as f64 / 10.0;
    assert!(late <= tenth + others, "{late}, {tenth} and {others}");
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

/// What `ab` and `wrk` do, and why the open loop exists: one request of each
/// connection feels the freeze, as it does whatever else takes as long.
#[test]
fn the_closed_loop_hides_a_freeze() {
    let (outcome, frozen, held_up) = through_a_freeze(Mode::closed(2));
    let others = held_up.longer_than(frozen / 4) as u64;
    let found = longer_than(&outcome, frozen, 0.5);
    assert!((2..=2 + 2 * others).contains(&found), "{found}, {others}");
}

/// Holds the generator's thread for as long, once, and ends the window soon after.
struct HoldUp(Duration, u32);

impl Observer for HoldUp {
    fn tick(&mut self, _: &Progress<'_>) -> ControlFlow<()> {
        self.1 += 1;
        if self.1 == 2 {
            std::thread::sleep(self.0);
        } else if self.1 == 12 {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// The server answers at once; it is the generator that is away for longer than the timeout.
#[test]
fn a_stalled_generator_owns_up_to_the_timeouts() {
    let server = Server::answering(OK);
    // So many users that none has two requests due in one stall.
    let session = "[[session]]\nusers = 400\n[[session.request]]\npath = \"/a\"\n";
    for text in ["[[request]]\n", session] {
        let mut plan = Plan::new(
            server.address,
            Workload::from_toml(text).unwrap(),
            Mode::Open {
                arrivals: Arrivals::constant(RATE),
                max_connections: 100,
            },
            Stop::when_told(),
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
    /// Has the request under way answered, and stays away until its time is over.
    struct AnsweredMeanwhile {
        asked: Arc<Gate>,
        answered: Arc<Gate>,
        timeout: Duration,
    }
    impl Observer for AnsweredMeanwhile {
        fn tick(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
            if progress.in_flight == 1 {
                self.asked.set_closed(false);
                self.answered.pass();
                std::thread::sleep(self.timeout.saturating_sub(progress.elapsed) + SLICE);
            }
            ControlFlow::Continue(())
        }
    }
    let [asked, answered] = [(); 2].map(|()| Arc::new(Gate::default()));
    asked.set_closed(true);
    answered.set_closed(true);
    let server = Server::new({
        let (asked, answered) = (asked.clone(), answered.clone());
        move |peer, _| {
            peer.request();
            asked.pass();
            peer.write(OK);
            answered.set_closed(false);
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
    plan.timeout = 40 * SLICE;
    let mut observer = AnsweredMeanwhile {
        asked,
        answered,
        timeout: plan.timeout,
    };
    let outcome = load::run(&plan, &mut observer).unwrap();
    observer.asked.set_closed(false);
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 1, "{:?}", outcome.errors);
    assert!(u128::from(outcome.response.max()) >= plan.timeout.as_micros());
}

/// One request at a time, and after `/report` none any more; what comes later waits in the queue.
fn one_thread_that_hangs() -> Server {
    let hung = std::sync::Mutex::new(false);
    Server::new(move |peer, _| {
        while let Some((head, _)) = peer.request() {
            let mut hung = hung.lock().unwrap();
            *hung |= head.starts_with("GET /report ");
            if *hung {
                drop(hung);
                return peer.swallow();
            }
            peer.write(OK);
        }
    })
}

#[test]
fn a_page_that_never_answers_is_named_and_not_the_pages_in_the_queue_behind_it() {
    let text =
        "[[request]]\npath = \"/\"\nweight = 19\n[[request]]\npath = \"/report\"\nweight = 1\n";
    let workload = Workload::from_toml(text).unwrap();
    let first_report = |seed| load::Sequence::new(&workload, seed).position(|request| request == 1);
    // Some answers come before, and after it a request on every connection waits.
    let early_enough = |seed: &u64| first_report(*seed).is_some_and(|at| (9..20).contains(&at));
    let seed = (0..).find(early_enough).unwrap();
    for connections in [1, 3] {
        let server = one_thread_that_hangs();
        let mut plan = Plan::new(
            server.address,
            workload.clone(),
            Mode::closed(connections),
            Stop::requests(40),
        );
        plan.seed = seed;
        plan.timeout = Duration::from_millis(200);
        let outcome = load::run(&plan, &mut load::Silent).unwrap();
        assert_balanced(&outcome);
        let page = outcome.hanging.as_ref().unwrap();
        assert_eq!((page.name.as_str(), page.answered), ("GET /report", 0));
        assert_eq!(page.hanging + page.queued, outcome.errors.timeout);
        assert_eq!(outcome.broken_pages(Some(page)), []);
    }
}

#[test]
fn a_server_that_was_frozen_and_answers_again_has_no_hanging_page() {
    let (outcome, ..) = through_a_freeze(Mode::closed(4));
    assert_eq!(outcome.hanging, None);
}
