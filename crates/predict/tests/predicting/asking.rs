//! Surveys of configurations, questions of what if, and I/O that grows, against arithmetic.

use predict::{
    Application, Bench, Machine, Objective, OfferedLoad, Point, PredictError, Question, WhatIf,
    smallest_enough,
};

use crate::support::{Did, MS, application, process, steady};

const MACHINE: Machine = Machine {
    cores: 4.0,
    quota: None,
    keep_alive: None,
};

fn traced(apart_ms: u64, held_ms: u64, io_ms: u64) -> Application {
    let requests = steady(1_000, apart_ms * MS, |_| {
        vec![Did::Held(held_ms * MS), Did::Io(io_ms * MS)]
    });
    let traced = application(vec![process(&requests, 4, true)]).unwrap();
    traced.with_process_cpu(0)
}

fn bench() -> Bench {
    Bench::new(traced(40, 4, 6), MACHINE).unwrap()
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

#[test]
fn what_if_changes_what_it_says() {
    let most = |bench: &Bench, point| {
        let offered = OfferedLoad::Closed {
            connections: 64,
            requests: 3_000,
        };
        let found = bench.predict(point, &offered, 1).unwrap();
        found.figures.throughput_per_s
    };
    let asked = |question: WhatIf, point| most(&bench().what_if(question), point);
    let same = WhatIf::default();
    close(asked(same, point(1, 1)), 1e3 / 10.0, 0.01);
    close(
        asked(WhatIf { io: 2.0, ..same }, point(1, 1)),
        1e3 / 16.0,
        0.01,
    );
    close(
        asked(WhatIf { cpu: 0.5, ..same }, point(1, 1)),
        1e3 / 8.0,
        0.01,
    );
    close(
        asked(WhatIf { cpu: 0.5, ..same }, point(1, 9)),
        1e3 / 2.0,
        0.01,
    );
    close(asked(same, point(8, 4)), 4.0 * 1e3 / 4.0, 0.01);
    close(
        asked(
            WhatIf {
                cores: -2.0,
                ..same
            },
            point(8, 4),
        ),
        2.0 * 1e3 / 4.0,
        0.01,
    );
}

/// M/D/1 with S = 10 ms: the mean is S + rho S / 2 (1 - rho). It is twice that of rho = 0.05 at rho = 0.678.
#[test]
fn the_knee_and_the_objective_of_one_thread() {
    let question = Question {
        points: vec![point(1, 1), point(1, 3)],
        rates_per_s: vec![50.0, 120.0],
        objective: Some(Objective {
            percentile: 50.0,
            limit_ms: 10.001,
        }),
        requests: 20_000,
        draws: 4,
        seed: 1,
    };
    let heard = std::sync::atomic::AtomicUsize::new(0);
    let hear = || {
        heard.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    let found = bench().survey(&question, 2, hear).unwrap();
    assert_eq!(heard.into_inner(), 2);
    let one = &found[0];
    close(one.most_per_s, 100.0, 0.01);
    close(one.knee_per_s, 67.8, 0.05);
    // More than half find an idle server up to rho = 0.5, which the ladder has looked at.
    let objective = one.objective.unwrap();
    close(objective.rate_per_s, 50.0, 0.1);
    assert!(objective.low_per_s <= objective.rate_per_s);
    assert!(objective.rate_per_s <= objective.high_per_s);
    close(one.add_at_per_s, 0.8 * objective.rate_per_s, 1e-9);
    let (at_50, within) = one.rates[0].answer.as_ref().unwrap();
    close(at_50.figures.mean_ms, 15.0, 0.03);
    assert!(within.low.mean_ms < 15.0 && within.high.mean_ms > 15.0);
    // 120 a second are more than it can do: no number.
    assert!(one.rates[1].answer.is_none() && one.rates[1].meets == Some(false));
    assert!(found[1].rates[1].answer.is_some());
    // On as many threads as may be: the same.
    assert_eq!(bench().survey(&question, 1, || ()).unwrap(), found);
    let chosen = smallest_enough(&found, false, |_| true).unwrap();
    assert_eq!(chosen.point, point(1, 3));
}

/// The highest rate that meets an objective, and its interval, say of the rates that were asked what their own p99 says: for limits
/// just above and just below that p99 and the ends of its interval.
#[test]
fn the_highest_rate_agrees_with_the_rates_that_were_asked() {
    let rates_per_s = vec![50.0, 85.0, 93.0];
    let surveyed = |limit_ms: Option<f64>| {
        let question = Question {
            points: vec![point(1, 1)],
            rates_per_s: rates_per_s.clone(),
            objective: limit_ms.map(|limit_ms| Objective {
                percentile: 99.0,
                limit_ms,
            }),
            requests: 2_000,
            draws: 3,
            seed: 7,
        };
        bench().survey(&question, 1, || ()).unwrap().remove(0)
    };
    for at in surveyed(None).rates {
        let (found, within) = at.answer.unwrap();
        let ends = [within.high, found.figures, within.low];
        for (end, ms) in ends.map(|figures| figures.p99_ms).into_iter().enumerate() {
            for (factor, kept) in [(1.001, true), (0.999, false)] {
                let found = surveyed(Some(ms * factor));
                let objective = found.objective.unwrap();
                let rate_per_s = match end {
                    0 => objective.low_per_s,
                    1 => objective.rate_per_s,
                    _ => objective.high_per_s,
                };
                let case = format!("{}/s, end {end}, {factor}: {objective:?}", at.rate_per_s);
                assert_eq!(at.rate_per_s <= rate_per_s, kept, "{case}");
                let same = found.rates.iter().find(|r| r.rate_per_s == at.rate_per_s);
                let meets = at.rate_per_s <= objective.rate_per_s;
                assert_eq!(same.unwrap().meets, Some(meets), "{case}");
            }
        }
    }
}

#[test]
fn the_usual_configurations() {
    let bench = bench();
    // T* = 1 + 6 / 4 = 2.5; twice that is 5. The traced 4 are among them.
    assert_eq!(bench.usual_threads(), [1, 2, 3, 4, 5]);
    assert_eq!(bench.usual_processes(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(bench.points(&[1, 2], &[3, 5]).len(), 4);
    assert_eq!(bench.points(&[2], &[3, 5])[1], point(2, 5));
}

/// io (1 + g n) through both traces: 10 ms at n = 0.275, 16 ms at n = 1.7.
#[test]
fn io_that_grows_is_a_line_through_both() {
    let (few, many) = (traced(40, 1, 10), traced(10, 1, 16));
    let (n_few, n_many) = (few.traced().in_service, many.traced().in_service);
    close(n_few, 11.0 / 40.0, 0.01);
    close(n_many, 17.0 / 10.0, 0.01);
    // Two equations, solved by determinants.
    let determinant = n_many - n_few;
    let io = (10.0 * n_many - 16.0 * n_few) / determinant;
    let growth = (16.0 - 10.0) / determinant / io;
    for grown in [
        few.clone().with_growth_from(&many).unwrap(),
        many.clone().with_growth_from(&few).unwrap(),
    ] {
        let bench = Bench::new(grown, MACHINE).unwrap();
        close(bench.scenario(point(1, 1)).io_growth, growth, 1e-9);
        let mut steps = bench.application().work().steps(7);
        let Some(capacity::sim::Step::Io(alone_ns)) = steps.nth(1) else {
            panic!("its second step is I/O")
        };
        close(alone_ns as f64 / 1e6, io, 1e-6);
        // One thread has one request in service: no growth. Three have two others.
        let saturated = |threads: u16| {
            let offered = OfferedLoad::Closed {
                connections: 64,
                requests: 3_000,
            };
            let found = bench.predict(point(threads, 1), &offered, 1).unwrap();
            found.figures.throughput_per_s
        };
        close(saturated(1), 1e3 / (1.0 + io), 0.01);
        close(saturated(3), 3e3 / (1.0 + io * (1.0 + 2.0 * growth)), 0.01);
    }
    let said = few.clone().with_growth_from(&many).unwrap();
    let said = said.assumptions()[0].to_string();
    assert!(
        said.contains("a straight line through the two traces"),
        "{said}"
    );
    let near = few.clone().with_growth_from(&traced(38, 1, 10));
    assert!(matches!(near, Err(PredictError::SameLevel { .. })));
    let steep = traced(40, 1, 2).with_growth_from(&traced(38, 1, 60));
    assert!(matches!(steep, Err(PredictError::SteepIo { .. })));
    // Shorter under more is noise.
    let flat = few.with_growth_from(&traced(10, 1, 9)).unwrap();
    assert_eq!(
        Bench::new(flat, MACHINE)
            .unwrap()
            .scenario(point(1, 1))
            .io_growth,
        0.0
    );
}
