//! Who gets a connection: Puma by version, kept connections, other servers.

use super::{MS, at_ms, responses_ms, run, work};
use capacity::sim::{Arrivals, Discipline, Overheads, PumaVersion, REFUSED_NS, Scenario, Step};

fn io(ms: u64) -> Step {
    Step::Io(ms * MS)
}

fn puma(version: PumaVersion, processes: u16, threads: u16) -> Scenario {
    Scenario {
        discipline: Discipline::Puma { version },
        ..Scenario::new(processes, threads, 8.0)
    }
}

/// A worker of a cluster of one, with a request in service: 6.6 lets 5 ms pass
/// before it accepts the second (10 -> 15), and no more than it takes the first
/// to end (10 -> 12).
#[test]
fn six_waits_five_milliseconds_when_busy_and_less_when_told() {
    let cluster = Scenario {
        cluster: true,
        ..puma(PumaVersion::V6, 1, 2)
    };
    let both = work(&[&[io(100)], &[io(20)]]);
    let arrivals = at_ms(&[0.0, 10.0]);
    assert_eq!(
        responses_ms(&run(&both, &cluster, &arrivals)),
        [100.0, 25.0]
    );
    let short = work(&[&[io(12)], &[io(20)]]);
    assert_eq!(
        responses_ms(&run(&short, &cluster, &arrivals)),
        [12.0, 22.0]
    );
    let single = puma(PumaVersion::V6, 1, 2);
    assert_eq!(responses_ms(&run(&both, &single, &arrivals)), [100.0, 20.0]);
}

/// One of two workers has a request of a second: 6.6 leaves the short ones to the
/// other, 7 and later accept some into the queue behind the long one, or not, by
/// who wakes first; over many short ones some are.
#[test]
fn six_refuses_when_full_and_seven_hoards() {
    let short: &[Step] = &[io(10)];
    let mut requests: Vec<&[Step]> = vec![short; 41];
    let long = [io(1_000)];
    requests[0] = &long;
    let times: Vec<f64> = (0..41).map(|n| f64::from(n) * 8.0).collect();
    let slowest = |version| {
        let outcome = run(&work(&requests), &puma(version, 2, 1), &at_ms(&times));
        let responses = responses_ms(&outcome);
        responses[1..].iter().copied().fold(0.0, f64::max)
    };
    let six = slowest(PumaVersion::V6);
    let seven = slowest(PumaVersion::V7);
    assert!(six < 150.0 && seven > 600.0, "{six} {seven}");
}

/// Both workers have one request on one thread each, so each sleeps
/// 5 ms x 1 / 25 before it accepts the third.
#[test]
fn seven_sleeps_in_proportion_to_its_load() {
    let requests = work(&[&[io(100)], &[io(100)], &[io(10)]]);
    let arrivals = at_ms(&[0.0, 1.0, 50.0]);
    let outcome = run(&requests, &puma(PumaVersion::V7, 2, 1), &arrivals);
    let third = responses_ms(&outcome)[2];
    assert!(third == 60.0 || third == 61.0, "{third}");
    // With two threads each it is accepted 50.1 and served at once.
    let outcome = run(&requests, &puma(PumaVersion::V7, 2, 2), &arrivals);
    assert_eq!(responses_ms(&outcome)[2], 10.1);
    // A cluster of one does not sleep.
    let outcome = run(&requests, &puma(PumaVersion::V7, 1, 3), &arrivals);
    assert_eq!(responses_ms(&outcome)[2], 10.0);
}

#[test]
fn a_backlog_that_is_full_refuses() {
    let scenario = Scenario {
        backlog: 2,
        ..puma(PumaVersion::V6, 1, 1)
    };
    let requests = work(&[&[io(10)]]);
    let outcome = run(&requests, &scenario, &at_ms(&[0.0, 1.0, 2.0, 3.0, 4.0]));
    assert_eq!((outcome.answered, outcome.refused), (3, 2));
    let refused = outcome.response_ns.iter().map(|&ns| ns == REFUSED_NS);
    assert_eq!(
        refused.collect::<Vec<_>>(),
        [false, false, false, true, true]
    );
    let closed = Arrivals::Closed {
        connections: 5,
        think_ns: 0,
        requests: 20,
    };
    let outcome = run(&requests, &scenario, &closed);
    assert_eq!(outcome.answered + outcome.refused, 20);
}

/// The thread of 6.6 waits 200 ms for the connection's next request: one that
/// comes on it at 50 is served at once by the only thread, one of another
/// connection waits for the end of the 200.
#[test]
fn a_thread_of_six_lingers_on_its_connection() {
    let kept = Scenario {
        keep_alive: true,
        ..puma(PumaVersion::V6, 1, 1)
    };
    let requests = work(&[&[io(10)]]);
    let same = run(&requests, &kept, &at_ms(&[0.0, 50.0]));
    assert_eq!(responses_ms(&same), [10.0, 10.0]);
    // Two connections, since both requests are under way at once: the second
    // waits from 5 until the thread stops lingering, at 210.
    let other = run(&requests, &kept, &at_ms(&[0.0, 5.0]));
    assert_eq!(responses_ms(&other), [10.0, 215.0]);
    let reactor = Scenario {
        keep_alive: true,
        ..puma(PumaVersion::V7, 1, 1)
    };
    let other = run(&requests, &reactor, &at_ms(&[0.0, 5.0]));
    assert_eq!(responses_ms(&other), [10.0, 15.0]);
}

/// The second connection is accepted when the thread stops lingering on the
/// first, at 210, which is the reactor's from then on: a request on that one, at
/// 300, waits in the pool's queue while the thread serves the second. With the
/// tenth in a row on that, 413 to 423, its turn has come.
#[test]
fn a_thread_of_six_lingers_no_more_after_ten_in_a_row_while_others_wait() {
    let kept = Scenario {
        keep_alive: true,
        ..puma(PumaVersion::V6, 1, 1)
    };
    let in_a_row = (0..9).map(|nth| 301.0 + 14.0 * f64::from(nth));
    let times: Vec<f64> = [0.0, 5.0, 300.0].into_iter().chain(in_a_row).collect();
    let outcome = run(&work(&[&[io(10)]]), &kept, &at_ms(&times));
    let mut expected = vec![10.0; 12];
    expected[1] = 215.0;
    expected[2] = 133.0;
    assert_eq!(responses_ms(&outcome), expected);
}

/// After 200 ms, or at once from 7 on, the connection is the reactor's, whose
/// thread reads the request (1 ms under the GVL) and passes it on.
#[test]
fn the_reactor_reads_what_comes_on_idle_connections() {
    let overheads = Overheads {
        reactor_ns: MS,
        ..Overheads::default()
    };
    let requests = work(&[&[io(10)]]);
    for (version, second_ms) in [(PumaVersion::V6, 300.0), (PumaVersion::V7, 50.0)] {
        let scenario = Scenario {
            keep_alive: true,
            overheads,
            ..puma(version, 1, 2)
        };
        let outcome = run(&requests, &scenario, &at_ms(&[0.0, second_ms]));
        assert_eq!(responses_ms(&outcome), [10.0, 11.0]);
    }
}

/// Three requests for two processes: a shared queue gives the third to the
/// process that is free first, own queues to the one whose turn it is.
#[test]
fn one_per_process_with_a_shared_queue_and_with_own_ones() {
    let requests = work(&[&[io(100)], &[io(10)], &[io(10)]]);
    let arrivals = at_ms(&[0.0, 0.0, 0.0]);
    let of = |discipline| {
        let scenario = Scenario {
            discipline,
            ..Scenario::new(2, 16, 2.0)
        };
        responses_ms(&run(&requests, &scenario, &arrivals))
    };
    assert_eq!(of(Discipline::OnePerProcess), [100.0, 10.0, 20.0]);
    assert_eq!(of(Discipline::OnePerProcessOwnQueue), [100.0, 10.0, 110.0]);
}
