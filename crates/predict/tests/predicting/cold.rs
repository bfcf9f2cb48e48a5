//! What it costs that the GVL moves between cores: found again from closed loops, and paid where a core is idle only.

use crate::support::{Did, MS, Request, application, process, steady};
use predict::{Application, Bench, Cold, ColdMeasured, Machine, OfferedLoad, Point, Prediction};

const TRUE: Cold = Cold {
    hand_over_ns: 400_000,
    wake_ns: 150_000,
};

fn machine(cores: f64) -> Machine {
    Machine {
        cores,
        quota: None,
        keep_alive: None,
    }
}

/// 10 ms with the GVL in five stretches, and 12 ms of I/O between them; two threads that meet now and then.
fn traced() -> Application {
    let requests: Vec<Request> = steady(1_000, 14 * MS, |n| {
        let mut did = vec![Did::Held(2 * MS)];
        for nth in 0..4 {
            did.push(Did::Io((2 + (n + nth) % 3) * MS));
            did.push(Did::Held(2 * MS));
        }
        did
    });
    application(vec![process(&requests, 2, true)])
        .unwrap()
        .with_process_cpu(0)
}

fn bench(cold: Cold, draws: &[Cold]) -> Bench {
    Bench::new(traced().with_cold(cold, draws.to_vec()), machine(2.0)).unwrap()
}

fn point(processes: u16, threads: u16) -> Point {
    Point { processes, threads }
}

fn closed(connections: u32) -> OfferedLoad {
    OfferedLoad::Closed {
        connections,
        requests: 4_000,
    }
}

fn in_loop(bench: &Bench, point: Point, connections: u32) -> Prediction {
    bench.predict(point, &closed(connections), 0).unwrap()
}

/// What a server with these costs would be seen to take beyond one that is kept on its core.
fn beyond_ns(cold: Cold) -> [f64; 2] {
    let bench = bench(cold, &[]);
    [4, 1].map(|connections| {
        let found = in_loop(&bench, point(1, 2), connections);
        found.cold_hand_overs * cold.hand_over_ns as f64 + found.cold_wakes * cold.wake_ns as f64
    })
}

#[test]
fn closed_loops_tell_the_costs_again() {
    let measured = ColdMeasured {
        connections: 4,
        crowded_on: machine(2.0),
        alone_on: machine(2.0),
        beyond_ns: vec![beyond_ns(TRUE)],
    };
    let found = traced()
        .with_cold_measured(machine(2.0), &measured)
        .unwrap();
    let cold = found.costs().cold.unwrap();
    let off = |found: u64, truth: u64| (found as f64 / truth as f64 - 1.0).abs();
    assert!(off(cold.hand_over_ns, TRUE.hand_over_ns) < 0.03, "{cold:?}");
    assert!(off(cold.wake_ns, TRUE.wake_ns) < 0.03, "{cold:?}");
    let said = |of: &Application| {
        let all = of.assumptions().iter();
        all.filter(|a| a.to_string().contains("move between cores"))
            .count()
    };
    assert_eq!((said(&traced()), said(&found)), (1, 0));
}

/// The trace holds the costs already: what it is predicted to do itself does not change with them.
#[test]
fn the_self_check_stays() {
    let (without, with) = (bench(Cold::default(), &[]), bench(TRUE, &[]));
    let mean = |bench: &Bench| bench.self_check().predicted.mean_ms;
    let off = mean(&with) / mean(&without) - 1.0;
    assert!(off.abs() < 0.02, "{off}");
}

/// Saturated workers on every core pay nothing, and do more than the trace's own steps would let them; one process pays as before.
#[test]
fn who_leaves_no_core_idle_does_more() {
    let (without, with) = (bench(Cold::default(), &[]), bench(TRUE, &[]));
    let gain = |point: Point, connections: u32| {
        let per_s = |bench| in_loop(bench, point, connections).figures.throughput_per_s;
        per_s(&with) / per_s(&without) - 1.0
    };
    let (one, two) = (gain(point(1, 2), 4), gain(point(2, 5), 20));
    assert!(two > 0.05 && two < 0.35, "{two}");
    assert!(one < 0.02, "{one}");
    let pinned = in_loop(&with.on(machine(1.0)), point(1, 2), 4);
    assert_eq!((pinned.cold_hand_overs, pinned.cold_wakes), (0.0, 0.0));
}

#[test]
fn costs_that_are_not_sure_make_the_interval_wider() {
    let less = Cold {
        hand_over_ns: 100_000,
        ..TRUE
    };
    let more = Cold {
        hand_over_ns: 700_000,
        ..TRUE
    };
    let width = |draws: &[Cold]| {
        let (_, within) = bench(TRUE, draws)
            .predict_within(point(2, 5), &closed(20), 0, 8)
            .unwrap();
        (within.high.throughput_per_s / within.low.throughput_per_s).ln()
    };
    let (sure, unsure) = (width(&[TRUE, TRUE]), width(&[less, more]));
    assert!(unsure > 1.5 * sure, "{sure} {unsure}");
}

#[test]
fn what_costs_nothing_changes_nothing() {
    let plain = Bench::new(traced(), machine(2.0)).unwrap();
    let free = bench(Cold::default(), &[Cold::default()]);
    let at = point(2, 3);
    let found = |bench: &Bench| bench.predict_within(at, &closed(6), 3, 4).unwrap();
    assert_eq!(found(&plain), found(&free));
}
