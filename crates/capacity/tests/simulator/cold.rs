//! Stretches that begin on a core which their process did not just run on, worked out by hand in the comments.

use super::{MS, responses_ms, run, work};
use capacity::sim::{Arrivals, Outcome, Overheads, Scenario, Step, Work, simulate};

const COLD: Overheads = Overheads {
    hand_over_cpu_ns: 2 * MS,
    wake_cpu_ns: MS,
    ..FREE
};

const FREE: Overheads = Overheads {
    accept_ns: 0,
    parse_ns: 0,
    write_ns: 0,
    reactor_ns: 0,
    wake_ns: 0,
    hand_over_ns: 0,
    hand_over_cpu_ns: 0,
    wake_cpu_ns: 0,
    network_ns: 0,
};

const fn held(ms: u64) -> Step {
    Step::Held(ms * MS)
}

const fn io(ms: u64) -> Step {
    Step::Io(ms * MS)
}

fn two_threads(requests: &[&[Step]], cores: f64) -> Outcome {
    let scenario = Scenario {
        overheads: COLD,
        ..Scenario::new(1, 2, cores)
    };
    let at = Arrivals::Given(vec![0; requests.len()]);
    run(&work(requests), &scenario, &at)
}

fn counts(outcome: &Outcome) -> (f64, f64, u64) {
    (
        outcome.cold_hand_overs,
        outcome.cold_wakes,
        outcome.cold_ns / MS,
    )
}

/// A wakes at 1 and finds the GVL free: 1 more, until 12. B has waited from 2 and has it handed over: 2 more, 12 to 24.
const TAKEN_IN_TURN: [&[Step]; 2] = [&[io(1), held(10)], &[io(2), held(10)]];

#[test]
fn who_waited_and_who_woke_are_slower_while_another_core_is_idle() {
    let outcome = two_threads(&TAKEN_IN_TURN, 2.0);
    assert_eq!(responses_ms(&outcome), [12.0, 24.0]);
    assert_eq!(counts(&outcome), (1.0, 1.0, 3));
    assert_eq!(outcome.cpu_ns, 23 * MS);
}

#[test]
fn on_one_core_nothing_moves() {
    let outcome = two_threads(&TAKEN_IN_TURN, 1.0);
    assert_eq!(responses_ms(&outcome), [11.0, 21.0]);
    assert_eq!(counts(&outcome), (0.0, 0.0, 0));
}

/// Half of a core is left while one thread computes: half of each.
#[test]
fn what_the_generator_takes_of_the_other_core_is_not_idle() {
    let outcome = two_threads(&TAKEN_IN_TURN, 1.5);
    assert_eq!(responses_ms(&outcome), [11.5, 22.5]);
    assert_eq!(counts(&outcome), (0.5, 0.5, 1));
}

/// Two cores: from 5 on A computes without the GVL on one of them, so that B, which wakes at 6 and takes the other, leaves
/// none idle. At 16 B is done; A, which has computed all along, gets the GVL at 25 without a wait, and its last stretch,
/// too, is as long as it was.
#[test]
fn a_busy_second_core_keeps_things_where_they_are() {
    let requests: [&[Step]; 2] = [&[Step::Native(25 * MS), held(5)], &[io(6), held(10)]];
    let outcome = two_threads(&requests, 2.0);
    assert_eq!(responses_ms(&outcome), [30.0, 16.0]);
    assert_eq!(counts(&outcome), (0.0, 0.0, 0));
}

/// 100 ms are a quantum: A from 1, with 1 more; B waits from 2 and gets the GVL at 100, with 2 more; then A again, which has
/// 52 left and 2 more: 200 to 254; then B, which has 4 left and 2 more: until 260.
#[test]
fn who_was_interrupted_is_handed_the_gvl_as_well() {
    let requests: [&[Step]; 2] = [&[io(1), held(150)], &[io(2), held(102)]];
    let outcome = two_threads(&requests, 2.0);
    assert_eq!(responses_ms(&outcome), [254.0, 260.0]);
    assert_eq!(counts(&outcome), (3.0, 1.0, 7));
}

/// Counts are of what would be lengthened, whatever it costs, and cost nothing where nothing is charged.
#[test]
fn what_costs_nothing_is_counted_all_the_same() {
    let scenario = Scenario {
        overheads: FREE,
        ..Scenario::new(1, 2, 2.0)
    };
    let outcome = run(
        &work(&TAKEN_IN_TURN),
        &scenario,
        &Arrivals::Given(vec![0, 0]),
    );
    assert_eq!(responses_ms(&outcome), [11.0, 21.0]);
    assert_eq!(counts(&outcome), (1.0, 1.0, 0));
}

/// Two workers leave no core idle, but for the moments in which one waits for a less busy one to accept; one does all the time.
#[test]
fn a_saturated_second_worker_saves_cpu_time() {
    let mut all = Work::new();
    // Of 4 ms each, in odd nanoseconds, so that the two workers are seldom done at the same instant.
    for n in 0..97_u64 {
        let first_ns = n * 37_919 % 3_000_001;
        let rest_ns = 4 * MS - first_ns;
        all.push(0, [Step::Held(first_ns), io(2), Step::Held(rest_ns)]);
    }
    let closed = |processes: u16| {
        let scenario = Scenario {
            overheads: COLD,
            ..Scenario::new(processes, 5, 2.0)
        };
        let arrivals = Arrivals::Closed {
            connections: u32::from(processes) * 10,
            think_ns: 0,
            requests: 6_000,
        };
        let outcome = simulate(&all, &scenario, &arrivals, 1).expect("simulated");
        outcome.cpu_ns as f64 / 6e9
    };
    let (one_ms, two_ms) = (closed(1), closed(2));
    assert!(two_ms < 4.5 && one_ms > 5.5, "{one_ms} {two_ms}");
}

#[test]
fn costs_that_a_quantum_could_not_pay_are_refused() {
    let scenario = Scenario {
        overheads: Overheads {
            wake_cpu_ns: 51 * MS,
            ..COLD
        },
        ..Scenario::new(1, 2, 2.0)
    };
    let found = simulate(
        &work(&TAKEN_IN_TURN),
        &scenario,
        &Arrivals::Given(vec![0]),
        1,
    );
    assert!(found.is_err_and(|why| why.to_string().contains("at most half the quantum")));
}
