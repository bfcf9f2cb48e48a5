//! Predictions of applications whose bursts are known, against what arithmetic and queueing theory say.

use crate::support::{Did, MS, Request, application, process, steady};
use flight::events::Mode;
use predict::{Application, Bench, Machine, OfferedLoad, Point, Prediction};

const MACHINE: Machine = Machine {
    cores: 8.0,
    quota: None,
    keep_alive: None,
};

fn bench(requests: &[Request]) -> Bench {
    let mut traced = application(vec![process(requests, 2, true)]).unwrap();
    traced = traced.with_process_cpu(0);
    Bench::new(traced, MACHINE).unwrap()
}

fn point(processes: u16, threads: u16) -> Point {
    Point { processes, threads }
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found / expected - 1.0).abs() <= tolerance,
        "{found} is not {expected}"
    );
}

fn closed(bench: &Bench, point: Point) -> Prediction {
    let connections = 2 * u32::from(point.processes) * u32::from(point.threads);
    let requests = 4_000;
    let offered = OfferedLoad::Closed {
        connections,
        requests,
    };
    bench.predict(point, &offered, 1).unwrap()
}

/// 2 + 2 ms held, 3 + 3 ms of I/O: one thread is busy for 10 ms with each.
fn four_and_six(n: u64) -> Vec<Did> {
    let _ = n;
    vec![
        Did::Held(2 * MS),
        Did::Io(3 * MS),
        Did::Held(2 * MS),
        Did::Io(3 * MS),
    ]
}

#[test]
fn saturated_servers_do_what_the_bounds_say() {
    let bench = bench(&steady(1_000, 40 * MS, four_and_six));
    // One thread: 1 / 10 ms. As many processes: as many times that.
    close(
        closed(&bench, point(1, 1)).figures.throughput_per_s,
        100.0,
        0.01,
    );
    close(
        closed(&bench, point(3, 1)).figures.throughput_per_s,
        300.0,
        0.01,
    );
    // The GVL lets 1 / 4 ms pass, however many threads there are.
    let many = closed(&bench, point(1, 12));
    close(many.figures.throughput_per_s, 250.0, 0.01);
    close(many.utilisation_gvl, 1.0, 0.01);
    assert!(many.is_saturated());
    // Two cores do 2 / 4 ms, however many processes there are.
    let narrow = bench.on(Machine {
        cores: 2.0,
        ..MACHINE
    });
    let wide = closed(&narrow, point(6, 3));
    close(wide.figures.throughput_per_s, 500.0, 0.01);
    close(wide.utilisation_cores, 1.0, 0.01);
    close(wide.cpu_ms, 4.0, 1e-9);
}

/// M/D/1: the mean wait is rho S / 2 (1 - rho), here 0.7 x 10 / 0.6 = 11.67 ms.
#[test]
fn one_thread_waits_as_pollaczek_and_khinchine_say() {
    let bench = bench(&steady(1_000, 40 * MS, four_and_six));
    let offered = OfferedLoad::Poisson {
        rate_per_s: 70.0,
        requests: 100_000,
    };
    let found = bench.predict(point(1, 1), &offered, 3).unwrap();
    close(found.queue_ms, 0.7 * 10.0 / 0.6, 0.04);
    close(found.figures.mean_ms, 10.0 + 0.7 * 10.0 / 0.6, 0.03);
    close(found.utilisation_threads, 0.7, 0.01);
    close(found.figures.throughput_per_s, 70.0, 0.01);
    assert!(!found.is_saturated());
}

/// Two requests at once on one GVL: A holds for 4 ms while B waits, then A's I/O passes while B holds.
#[test]
fn arrivals_that_are_given_are_taken() {
    let bench = bench(&steady(600, 40 * MS, |_| {
        vec![Did::Held(4 * MS), Did::Io(6 * MS)]
    }));
    let at_ns = |n: u64| [n * 100 * MS, n * 100 * MS];
    let arrivals_ns: Vec<u64> = (0..50).flat_map(at_ns).collect();
    let offered = OfferedLoad::Given { arrivals_ns };
    let found = bench.predict(point(1, 2), &offered, 1).unwrap();
    let pair = &found.response_ns[40..42];
    assert_eq!(pair, [10 * MS, 14 * MS]);
    assert_eq!(found.figures.mean_ms, 12.0);
}

/// What the old configuration did to the requests is no part of them: the same application traced with stalls of every kind
/// gives the same predictions as without.
#[test]
fn stalls_of_the_traced_configuration_leave_no_trace() {
    let own = |n: u64| (n % 7 + 1) * MS;
    let clean = steady(800, 300 * MS, |n| {
        vec![
            Did::Held(own(n)),
            Did::Io(5 * MS),
            Did::Held(96 * MS),
            Did::Held(3 * MS),
        ]
    });
    let mut stalled = steady(800, 300 * MS, |n| {
        vec![
            Did::Held(2 * own(n)),
            Did::Io(5 * MS),
            Did::GvlWait(own(n) * 2),
            Did::Held(2 * 96 * MS),
            Did::Preempted(30 * MS),
            Did::Held(2 * 3 * MS),
        ]
    });
    // On half a core: the thread had a processor for half of the time that it held the GVL.
    for (request, n) in stalled.iter_mut().zip(0..) {
        request.cpu_ns = Some(own(n) + 99 * MS);
    }
    let (clean, stalled) = (bench(&clean), bench(&stalled));
    assert_eq!(clean.application().work(), stalled.application().work());
    let offered = OfferedLoad::Poisson {
        rate_per_s: 12.0,
        requests: 3_000,
    };
    let of = |bench: &Bench| bench.predict(point(2, 2), &offered, 1).unwrap();
    assert_eq!(of(&clean), of(&stalled));
    // And the clean one was recorded as it does alone, which its self-check finds.
    let error = clean.self_check().error();
    assert!(error.values().iter().all(|e| e.abs() < 1e-9), "{error:?}");
    assert!(stalled.self_check().error().mean_ms < -0.3);
}

/// One thread, first come first served: each begins when it has come and the one before is done (Lindley).
#[test]
fn a_trace_of_a_queue_is_predicted_to_the_nanosecond() {
    let mut free_ns = 0;
    let mut requests = Vec::new();
    for n in 0..1_000_u64 {
        let arrival_ns = n * 10 * MS + (n * 7_919 % 13) * MS / 2;
        let held_ns = (n * 104_729 % 11) * MS;
        let began_ns = arrival_ns.max(free_ns);
        let did = [Did::Held(held_ns + 1), Did::Io(2 * MS)];
        free_ns = began_ns + held_ns + 1 + 2 * MS;
        requests.push(Request {
            queue_ns: Some(began_ns - arrival_ns),
            ..Request::new(arrival_ns, &did)
        });
    }
    requests.sort_by_key(|request| request.arrival_ns);
    let traced = application(vec![process(&requests, 1, true)]).unwrap();
    let bench = Bench::new(traced.with_process_cpu(0), MACHINE).unwrap();
    let check = bench.self_check();
    assert!(check.recorded.p99_ms > 15.0);
    let error = check.error();
    assert!(error.values().iter().all(|e| e.abs() < 1e-6), "{error:?}");
}

/// Parsing before and writing after are the serving thread's, and count like the request's own.
#[test]
fn the_servers_part_is_part_of_the_work() {
    let mut requests = steady(600, 40 * MS, |_| vec![Did::Held(2 * MS), Did::Io(6 * MS)]);
    for request in &mut requests {
        (request.parse_us, request.write_us) = (500, 1_500);
        request.queue_ns = Some(500_000);
    }
    let bench = bench(&requests);
    // 2 + 6 + 2 ms, and the 39 us in which Puma waits for system calls; its parsing, all of it held, waited for none.
    let found = closed(&bench, point(1, 1));
    close(found.figures.throughput_per_s, 1e3 / 10.039, 0.005);
    close(found.cpu_ms, 4.0, 1e-5);
    assert_eq!(bench.application().costs().server_ns, 2_000_000);
    // It gives the GVL up twice before the application, whose first step goes on from its third, and once after it.
    let steps = bench.application().work().steps(3);
    let held = steps.filter(|step| matches!(step, capacity::sim::Step::Held(_)));
    assert_eq!(held.count(), 3 + 2);
}

/// The acceptor's CPU is in no request. 4 ms of the process for each, of which its thread had 3.
#[test]
fn what_the_process_computes_beside_its_requests_is_the_acceptors() {
    let requests = steady(600, 40 * MS, |_| vec![Did::Held(3 * MS), Did::Io(MS)]);
    let traced = application(vec![process(&requests, 2, true)]).unwrap();
    let with = Bench::new(traced.clone().with_process_cpu(600 * 4 * MS), MACHINE).unwrap();
    let without = Bench::new(traced.with_process_cpu(0), MACHINE).unwrap();
    let of = |bench: &Bench| closed(bench, point(1, 8)).figures.throughput_per_s;
    close(of(&without), 1_000.0 / 3.0, 0.01);
    close(of(&with), 1_000.0 / 4.0, 0.01);
}

/// Numbers without an order (SplitMix64): a multiple of n would have neighbours make up for each other.
fn scattered(n: u64) -> u64 {
    let mut x = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// At hardly any load a response is the request's own time, so that the mean's interval is that of a mean of independent
/// times: 1.645 times their coefficient of variation over the root of their number.
#[test]
fn the_interval_of_a_mean_is_as_wide_as_its_standard_error() {
    let times = |n: u64| (scattered(n) % 1_000 + 1) * MS / 100;
    let requests = steady(2_000, 40 * MS, |n| vec![Did::Held(times(n))]);
    let bench = bench(&requests);
    let offered = OfferedLoad::Poisson {
        rate_per_s: 0.5,
        requests: 2_000,
    };
    let (found, within) = bench.predict_within(point(8, 1), &offered, 5, 80).unwrap();
    close(found.figures.mean_ms, 5.0, 0.05);
    let mean = (0..2_000).map(|n| times(n) as f64).sum::<f64>() / 2_000.0;
    let squares = (0..2_000).map(|n| (times(n) as f64 - mean).powi(2));
    let error = (squares.sum::<f64>() / 2_000.0).sqrt() / mean / 2_000_f64.sqrt();
    let model = bench.model_error().0.mean_ms;
    let half = (within.high.mean_ms / found.figures.mean_ms).ln();
    let drawn = ((half / 1.645).powi(2) - model * model).sqrt();
    assert!((0.6..1.5).contains(&(drawn / error)), "{drawn} {error}");
    assert!(within.low.p99_ms < found.figures.p99_ms && found.figures.p99_ms < within.high.p99_ms);
}

/// Totals alone: the same bounds at the ends, a documented course in between, wider intervals, and a word about it.
#[test]
fn without_bursts_totals_are_divided_and_intervals_are_wider() {
    let requests = steady(1_000, 40 * MS, four_and_six);
    let known = bench(&requests);
    let totals = application(vec![process(&requests, 2, false)]).unwrap();
    assert_eq!(
        (totals.patterns().own, totals.patterns().typical),
        (0, 1_000)
    );
    assert!(!totals.has_bursts());
    let said: Vec<String> = totals.assumptions().iter().map(|a| a.to_string()).collect();
    assert!(
        said.iter().any(|s| s.contains("POWERBAND_BURSTS")),
        "{said:?}"
    );
    let totals = Bench::new(totals.with_process_cpu(0), MACHINE).unwrap();
    for size in [point(1, 1), point(1, 12)] {
        let of = |bench: &Bench| closed(bench, size).figures.throughput_per_s;
        close(of(&totals), of(&known), 0.01);
    }
    let wider = totals
        .model_error()
        .0
        .zip(&known.model_error().0, |a, b| a / b);
    assert!(wider.values().iter().all(|x| *x > 1.5), "{wider:?}");
}

/// Where few requests have bursts, the remedy is for the server as it ran.
#[test]
fn bursts_are_not_advised_to_a_server_that_ran_with_them() {
    let said = |one_in: &[Option<u32>]| {
        let count = one_in.len() as u32;
        let processes = one_in.iter().zip(0_u32..).map(|(one_in, worker)| {
            let mut found = process(&steady(600, 40 * MS, four_and_six), 2, one_in.is_some());
            let server = &mut found.flight.header.server;
            if count > 1 {
                (server.workers, server.worker_index) = (Some(count), Some(worker));
            }
            if let (Some(events), Some(one_in)) = (&mut found.bursts, one_in) {
                events.header.mode = Mode::Sampling { one_in: *one_in };
                events.events.retain(|event| event.thread % 4 == 0);
            }
            found
        });
        let found = application(processes.collect()).unwrap();
        let said = found.assumptions().iter().map(ToString::to_string);
        said.filter(|s| s.contains("sequence of running"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let advice = "with POWERBAND_BURSTS=1 to record";
    assert!(said(&[None]).contains("start the server with POWERBAND_BURSTS=1 to record more"));
    let recorded = said(&[Some(1)]);
    assert!(
        recorded.contains("was recorded for 150 requests"),
        "{recorded}"
    );
    assert!(
        recorded.contains("ran with POWERBAND_BURSTS=1,") && !recorded.contains(advice),
        "{recorded}"
    );
    let sampled = said(&[Some(10)]);
    assert!(
        sampled.contains("ran with POWERBAND_BURSTS=10,") && sampled.contains(advice),
        "{sampled}"
    );
    // One of the workers was started without.
    assert!(said(&[Some(1), None]).contains(advice));
}

/// Half of the requests have bursts, of two shapes; the other half borrow theirs.
#[test]
fn requests_without_bursts_borrow_those_of_others() {
    let requests = steady(1_000, 40 * MS, |n| match n % 2 {
        0 => vec![Did::Held(MS), Did::Io(3 * MS), Did::Held(3 * MS)],
        _ => vec![Did::Held(2 * MS), Did::Io(9 * MS), Did::Held(6 * MS)],
    });
    let mut some = process(&requests, 2, true);
    let events = &mut some.bursts.as_mut().unwrap().events;
    events.retain(|event| event.thread % 4 < 2);
    let some: Application = application(vec![some]).unwrap();
    assert_eq!((some.patterns().own, some.patterns().borrowed), (500, 500));
    let whole = application(vec![process(&requests, 2, true)]).unwrap();
    let near = |a: u64, b: u64| a.abs_diff(b) <= b / 1_000;
    for n in 0..1_000 {
        let sums = |application: &Application| {
            application
                .work()
                .steps(n)
                .fold((0, 0), |(held, io), step| match step {
                    capacity::sim::Step::Held(ns) => (held + ns, io),
                    capacity::sim::Step::Io(ns) => (held, io + ns),
                    other => panic!("{other:?}"),
                })
        };
        let ((held, io), (all_held, all_io)) = (sums(&some), sums(&whole));
        assert!(near(held, all_held) && near(io, all_io), "{n}");
        assert!((2..=3).contains(&some.work().steps(n).count()));
    }
}
