//! Schedules on one GVL, worked out by hand in the comments.

use super::{MS, at_ms, responses_ms, run, work};
use capacity::CapacityError;
use capacity::sim::{
    Arrivals, Discipline, Overheads, PumaVersion, Quota, Scenario, Station, Step, Work, simulate,
};

fn held(ms: f64) -> Step {
    Step::Held((ms * 1e6) as u64)
}

fn io(ms: f64) -> Step {
    Step::Io((ms * 1e6) as u64)
}

fn responses(requests: &[&[Step]], at: &[f64], scenario: &Scenario) -> Vec<f64> {
    responses_ms(&run(&work(requests), scenario, &at_ms(at)))
}

fn puma(threads: u16) -> Scenario {
    Scenario::new(1, threads, 8.0)
}

/// A has its answer at 5, and its thread closes the connection and looks for work until 9; then B is begun.
#[test]
fn an_answer_is_out_before_the_thread_is_done() {
    let steps: &[Step] = &[held(5.0), Step::Answer, io(1.0), held(3.0)];
    let outcome = run(&work(&[steps, steps]), &puma(1), &at_ms(&[0.0, 0.0]));
    assert_eq!(responses_ms(&outcome), [5.0, 14.0]);
    assert_eq!(outcome.span_ns, 14 * MS);
}

#[test]
fn alone_nobody_is_preempted() {
    let steps = [held(350.0), io(5.0), held(0.5)];
    assert_eq!(responses(&[&steps], &[3.0], &puma(5)), [355.5]);
}

/// Requests that begin with I/O are all accepted at 0. As the acceptor notifies
/// the first thread of its work, that one waits for the GVL, for no time: the
/// timer is on from 0 and ticks at 10, 20, …, as long as ticks find somebody
/// waiting. A holds from 1, B waits from 2; the tenth tick, at 100, ends A's
/// quantum. B 100-200, A 200-300, B 300-400 with 50 left, A 400-451 and is done;
/// B ends at 501.
#[test]
fn two_threads_take_turns_of_a_quantum() {
    let requests: [&[Step]; 2] = [&[io(1.0), held(250.0)], &[io(2.0), held(250.0)]];
    assert_eq!(responses(&requests, &[0.0, 0.0], &puma(2)), [451.0, 501.0]);
}

/// The second connection comes while A computes: the acceptor stands in the line
/// for the GVL and gets it after a quantum, at 100, for no time; A, which went
/// to the end of the line, is ahead of B, which the acceptor has just notified.
/// A 100-200, B 200-300, A 300-350, B 350-500.
#[test]
fn the_acceptor_needs_the_gvl_too() {
    let requests: [&[Step]; 2] = [&[held(250.0)], &[held(250.0)]];
    assert_eq!(responses(&requests, &[0.0, 0.0], &puma(2)), [350.0, 500.0]);
}

/// A holds from 1, B waits from 2, C, which needs 1 ms, from 3. A until 100, B
/// until 200, then C: two quanta less what had passed of the first. A, with 52
/// left, until 253, B until 303.
#[test]
fn a_short_return_waits_for_the_quanta_of_all_others() {
    let requests: [&[Step]; 3] = [
        &[io(1.0), held(151.0)],
        &[io(2.0), held(150.0)],
        &[io(3.0), held(1.0)],
    ];
    let expected = [253.0, 303.0, 201.0];
    assert_eq!(responses(&requests, &[0.0; 3], &puma(3)), expected);
}

/// B waits from 2 until A lets go at 51; the tick at 60 finds no thread
/// waiting. A is back at 63 and waits: the timer starts anew, 73 to 163, and B,
/// which has run from 51, has 88 left when its tenth tick comes.
#[test]
fn the_timer_ticks_only_while_somebody_waits() {
    let requests: [&[Step]; 2] = [
        &[io(1.0), held(50.0), io(12.0), held(1.0)],
        &[io(2.0), held(200.0)],
    ];
    assert_eq!(responses(&requests, &[0.0; 2], &puma(2)), [164.0, 252.0]);
}

/// The timer goes on at 60, 70, … when a new wait begins before it has found the
/// line empty: A returns at 51.5. B owns from 51 and is preempted at its tenth
/// tick, 150.
#[test]
fn a_wait_that_begins_between_two_ticks_is_counted_at_the_next() {
    let requests: [&[Step]; 2] = [
        &[io(1.0), held(50.0), io(0.5), held(1.0)],
        &[io(2.0), held(200.0)],
    ];
    assert_eq!(responses(&requests, &[0.0; 2], &puma(2)), [151.0, 252.0]);
}

/// A quantum of 20 ms, as `RUBY_THREAD_TIMESLICE=20` gives it: A 1-20, B 20-40,
/// A 40-52 and is done, B goes on to 72.
#[test]
fn a_shorter_quantum_switches_earlier() {
    let requests: [&[Step]; 2] = [&[io(1.0), held(31.0)], &[io(2.0), held(40.0)]];
    let scenario = Scenario {
        quantum_ns: 20 * MS,
        ..puma(2)
    };
    assert_eq!(responses(&requests, &[0.0; 2], &scenario), [52.0, 72.0]);
}

/// Bursts of 4 ms and I/O of 10 on one thread each: the three meet at the GVL at
/// first and never again.
#[test]
fn bursts_that_have_met_once_keep_out_of_each_others_way() {
    let steps = [io(10.0), held(4.0), io(10.0), held(4.0)];
    // 10-14 and 24-28; 14-18 and 28-32; 18-22 and 32-36.
    let expected = [28.0, 32.0, 36.0];
    assert_eq!(
        responses(&[&steps as &[Step]; 3], &[0.0; 3], &puma(3)),
        expected
    );
}

#[test]
fn every_overhead_has_its_place() {
    let overheads = Overheads {
        accept_ns: MS,
        parse_ns: 2 * MS,
        write_ns: 3 * MS,
        reactor_ns: 0,
        wake_ns: MS / 2,
        hand_over_ns: MS / 4,
        network_ns: 7 * MS,
        ..Overheads::default()
    };
    let scenario = Scenario {
        overheads,
        ..puma(2)
    };
    // The acceptor wakes (0.5) and accepts (1); the thread it notified has the
    // GVL handed over (0.25), parses (2), holds (10), waits (20) and wakes
    // (0.5), writes (3); the network takes 7.
    let alone = responses(&[&[held(10.0), io(20.0)]], &[0.0], &scenario);
    assert_eq!(
        alone,
        [0.5 + 1.0 + 0.25 + 2.0 + 10.0 + 20.0 + 0.5 + 3.0 + 7.0]
    );
    let unicorn = Scenario {
        discipline: Discipline::OnePerProcess,
        ..scenario
    };
    let alone = responses(&[&[held(10.0), io(20.0)]], &[0.0], &unicorn);
    assert_eq!(alone, [0.5 + 1.0 + 2.0 + 10.0 + 20.0 + 0.5 + 3.0 + 7.0]);
}

/// One core: A computes without the GVL from 0, B with it from 1: each at half
/// speed until B has its 4 at 9; A has then 10 - 1 - 4 left and ends at 14.
#[test]
fn native_work_shares_the_core_and_leaves_the_gvl() {
    let native = Step::Native(10 * MS);
    let requests: [&[Step]; 2] = [&[native], &[io(1.0), held(4.0)]];
    let scenario = Scenario::new(1, 2, 1.0);
    assert_eq!(responses(&requests, &[0.0; 2], &scenario), [14.0, 9.0]);
    let two = Scenario::new(1, 2, 2.0);
    assert_eq!(responses(&requests, &[0.0; 2], &two), [10.0, 5.0]);
}

/// 20 ms of each 100, one core: 0-20, 100-120, 200-205.
#[test]
fn a_quota_throttles() {
    let scenario = Scenario {
        quota: Some(Quota {
            quota_ns: 20 * MS,
            period_ns: 100 * MS,
        }),
        ..puma(1)
    };
    assert_eq!(responses(&[&[held(45.0)]], &[0.0], &scenario), [205.0]);
}

/// One place: A 0-10, B 10-20, C 20-30, in the order in which they came to it,
/// while D, which needs no place, holds the GVL when it likes.
#[test]
fn a_lock_is_a_line_of_its_own_and_waits_without_the_gvl() {
    let lock = Station(0);
    let locked = [Step::Acquire(lock), io(10.0), Step::Release(lock)];
    let free = [io(1.0), held(5.0)];
    let requests: [&[Step]; 4] = [&locked, &locked, &locked, &free];
    let scenario = Scenario {
        stations: vec![1],
        ..puma(4)
    };
    let expected = [10.0, 20.0, 30.0, 6.0];
    assert_eq!(responses(&requests, &[0.0; 4], &scenario), expected);
    // Two places: A and B until 10, C until 20. What is never released goes
    // back with the answer.
    let kept = [Step::Acquire(lock), Step::Acquire(lock), io(10.0)];
    let pool = Scenario {
        stations: vec![2],
        ..puma(4)
    };
    let requests: [&[Step]; 3] = [&kept, &kept, &kept];
    let expected = [10.0, 10.0, 20.0];
    assert_eq!(responses(&requests, &[0.0; 3], &pool), expected);
}

#[test]
fn requests_that_wait_for_each_other_are_told_and_not_waited_for() {
    let (a, b) = (Station(0), Station(1));
    let one = [Step::Acquire(a), io(1.0), Step::Acquire(b)];
    let other = [Step::Acquire(b), io(1.0), Step::Acquire(a)];
    let scenario = Scenario {
        stations: vec![1, 1],
        ..puma(2)
    };
    let outcome = simulate(&work(&[&one, &other]), &scenario, &at_ms(&[0.0; 2]), 1);
    assert_eq!(outcome, Err(CapacityError::Deadlock { waiting: 2 }));
}

/// I/O that is 10 % longer for each other request in flight as it begins.
#[test]
fn io_lengthens_with_the_requests_in_flight() {
    let scenario = Scenario {
        io_growth: 0.1,
        ..puma(3)
    };
    let steps = [io(10.0)];
    let requests: [&[Step]; 3] = [&steps; 3];
    let expected = [10.0, 11.0, 12.0];
    assert_eq!(responses(&requests, &[0.0; 3], &scenario), expected);
}

/// Two users who think 0: each sends as soon as it is answered.
#[test]
fn a_closed_loop_sends_after_the_answer() {
    let arrivals = Arrivals::Closed {
        connections: 2,
        think_ns: 0,
        requests: 6,
    };
    for keep_alive in [false, true] {
        for version in [PumaVersion::V6, PumaVersion::V7] {
            let scenario = Scenario {
                keep_alive,
                discipline: Discipline::Puma { version },
                ..puma(1)
            };
            let outcome = run(&work(&[&[io(10.0)]]), &scenario, &arrivals);
            assert_eq!(outcome.answered, 6);
            let sum: f64 = responses_ms(&outcome).iter().sum();
            // They take turns; but a thread of 6.6 that lingers on one connection
            // serves it alone, and the other waits until that one has sent all
            // of its five and the 200 ms are over: until 50 + 200 + 10.
            let lingers = keep_alive && version == PumaVersion::V6;
            let expected = if lingers {
                5.0 * 10.0 + 260.0
            } else {
                10.0 + 5.0 * 20.0
            };
            assert_eq!(sum, expected);
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let one = work(&[&[held(1.0)]]);
    let at = at_ms(&[0.0]);
    let refused = |scenario: &Scenario, arrivals: &Arrivals| {
        let error = simulate(&one, scenario, arrivals, 1).expect_err("refused");
        error.to_string()
    };
    let odd: [(Scenario, &str); 6] = [
        (Scenario::new(0, 1, 1.0), "the number of processes is 0"),
        (Scenario::new(1, 0, 1.0), "the number of threads is 0"),
        (Scenario::new(1, 1, 0.0), "the number of cores is 0"),
        (Scenario::new(1, 1, f64::NAN), "the number of cores is NaN"),
        (
            Scenario {
                io_growth: -0.5,
                ..puma(1)
            },
            "the growth of I/O with concurrency is -0.5",
        ),
        (
            Scenario {
                stations: vec![0],
                ..puma(1)
            },
            "the places of a station is 0",
        ),
    ];
    for (scenario, expected) in odd {
        let told = refused(&scenario, &at);
        assert!(told.starts_with(expected), "{told}");
    }
    let rate = |per_s| Arrivals::Poisson { per_s, requests: 9 };
    assert!(refused(&puma(1), &rate(0.0)).contains("the rate per second is 0"));
    assert!(refused(&puma(1), &at_ms(&[2.0, 1.0])).contains("before the one ahead"));
    assert!(refused(&puma(1), &at_ms(&[])).contains("the number of requests is 0"));
    let speed = Arrivals::Recorded { speed: -1.0 };
    assert!(refused(&puma(1), &speed).contains("the speed of the recorded arrivals is -1"));
    let none = simulate(&Work::new(), &puma(1), &at, 1);
    assert_eq!(none, Err(CapacityError::NoRequests));
    let locked = work(&[&[Step::Acquire(Station(2))]]);
    let unknown = simulate(&locked, &puma(1), &at, 1).expect_err("refused");
    assert!(
        unknown.to_string().contains("takes station 2 of 0"),
        "{unknown}"
    );
    let long = work(&[&[Step::Io(u64::MAX)]]);
    let unending = simulate(&long, &puma(1), &at, 1).expect_err("refused");
    assert!(unending.to_string().contains("years"), "{unending}");
}
