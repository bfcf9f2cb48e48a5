//! Restarts, holes, stragglers and resets, as Prometheus shows them.

use super::*;
use crate::query::{Query, queries};
use crate::series::{Answered, Series};

const FILE: &str = "name = 'a'\nstarts = 2026-12-01T00:00:00Z\nlasts = '1h'\nperiod = '10m'\nlooks = 2\nslice = '1m'\n\
                    [[arm]]\nname = 'x'\n[[arm]]\nname = 'y'\nshare = '50%'\nenvironment = { A = 1 }\n";

fn experiment() -> Experiment {
    crate::read(FILE).unwrap()
}

fn label(arm: &str, period: u64) -> String {
    let digest = experiment().short_digest();
    format!("{arm}:{digest}:{period}")
}

/// With a warning.
fn answered(series: Vec<Series>) -> Answered {
    Answered {
        series,
        warnings: vec!["a store did not answer".to_owned()],
    }
}

fn series(labels: &[(&str, &str)], points: &[(usize, f64)]) -> Series {
    Series {
        labels: labels
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        points: points.to_vec(),
    }
}

/// Counters that grow by ten requests and a second in each slice, where the values are not given.
fn fleet(
    experiment: &Experiment,
    arms: &[(String, Vec<usize>)],
    requests: &[(usize, f64)],
) -> Fleet {
    with_queue(experiment, arms, requests, &[])
}

fn with_queue(
    experiment: &Experiment,
    arms: &[(String, Vec<usize>)],
    requests: &[(usize, f64)],
    queue: &[(usize, f64)],
) -> Fleet {
    let mut gathered = Gathered::of(experiment);
    let asked: Vec<Query> = queries(experiment, 20, "");
    for query in &asked {
        let answer = match query.family {
            Family::Arms => arms
                .iter()
                .map(|(arm, seen)| {
                    let points: Vec<(usize, f64)> = seen.iter().map(|step| (*step, 1.0)).collect();
                    series(&[("instance", "a:1"), ("arm", arm)], &points)
                })
                .collect(),
            Family::Requests => vec![series(&[("instance", "a:1")], requests)],
            Family::Buckets => ["0.1", "+Inf", "0.01"]
                .iter()
                .zip([0.75, 1.0, 0.5])
                .map(|(le, part)| {
                    let points: Vec<(usize, f64)> = requests
                        .iter()
                        .map(|(step, count)| (*step, count * part))
                        .collect();
                    series(&[("instance", "a:1"), ("le", le)], &points)
                })
                .collect(),
            Family::Queue if !queue.is_empty() => vec![series(&[("instance", "a:1")], queue)],
            Family::GvlWait | Family::Queue => Vec::new(),
            _ => {
                let points: Vec<(usize, f64)> = requests
                    .iter()
                    .map(|(step, _)| (*step, *step as f64))
                    .collect();
                vec![series(&[("instance", "a:1")], &points)]
            }
        };
        gathered.add(query, answered(answer));
    }
    join(experiment, gathered, 20)
}

fn steady(steps: std::ops::RangeInclusive<usize>) -> Vec<(usize, f64)> {
    steps.map(|step| (step, 10.0 * step as f64)).collect()
}

#[test]
fn a_unit_that_restarts_with_another_arm_is_two() {
    let arms = [
        (label("x", 0), (0..=8).collect()),
        (label("y", 1), (10..=20).collect()),
    ];
    let fleet = fleet(&experiment(), &arms, &steady(0..=20));
    assert_eq!(fleet.units.len(), 2);
    let [x, y] = &fleet.units[..] else { panic!() };
    assert_eq!(
        (x.arm, x.slices.len(), y.arm, y.slices.len()),
        (0, 8, 1, 10)
    );
    assert_eq!(y.from, 10);
    let slice = x.slices[3];
    assert_eq!(
        (slice.index, slice.requests, slice.response_s, slice.queue_s),
        (3, 10.0, 1.0, None)
    );
    assert_eq!((slice.gvl_wait_s, slice.memory_bytes), (None, Some(4.0)));
    // Neither 8 to 9 nor 9 to 10.
    assert_eq!(
        fleet.left_out,
        LeftOut {
            holes: 2,
            ..LeftOut::default()
        }
    );
    assert_eq!((&x.left_out[..], &y.left_out[..]), (&[8, 9][..], &[][..]));
    assert_eq!(fleet.bounds, [0.01, 0.1, f64::INFINITY]);
    assert_eq!(x.tails.len(), 8);
    assert_eq!(x.tails[0].counts, [5.0, 2.5, 2.5]);
}

#[test]
fn the_arm_that_was_there_first_keeps_a_whole_unit() {
    let arms = [
        (label("x", 0), (0..=8).collect()),
        (label("y", 1), (5..=20).collect()),
    ];
    let kept = fleet(&experiment(), &arms, &steady(0..=20));
    assert_eq!(
        kept.units
            .iter()
            .map(|unit| unit.slices.len())
            .collect::<Vec<_>>(),
        [8, 11]
    );
    assert_eq!((kept.left_out.stragglers, kept.left_out.restarts), (4, 1));
    assert!(kept.left_out.instances_with_two.contains("a:1"));

    let processes = crate::read(&FILE.replace("lasts", "unit = 'process'\nlasts")).unwrap();
    let digest = processes.short_digest();
    let arms = [
        (format!("x:{digest}:0"), (0..=8).collect()),
        (format!("y:{digest}:1"), (5..=20).collect()),
    ];
    let apart = fleet(&processes, &arms, &steady(0..=20));
    assert_eq!(
        apart
            .units
            .iter()
            .map(|unit| unit.slices.len())
            .collect::<Vec<_>>(),
        [4, 11]
    );
    assert_eq!((apart.left_out.mixed, apart.left_out.stragglers), (4, 0));
}

#[test]
fn holes_resets_and_idle_slices_are_counted() {
    let arms = [(label("y", 0), (0..=20).filter(|step| *step != 4).collect())];
    let mut requests = steady(0..=20);
    // Not scraped at the end of 10, reset within 12, idle in 15.
    requests.retain(|(step, _)| *step != 10);
    for (step, count) in &mut requests {
        *count = match *step {
            13.. => (*count - 130.0).max(0.0),
            _ => *count,
        };
    }
    for (step, count) in &mut requests {
        if *step >= 16 {
            *count -= 10.0;
        }
    }
    let fleet = fleet(&experiment(), &arms, &requests);
    let left_out = &fleet.left_out;
    assert_eq!((left_out.holes, left_out.resets, left_out.idle), (4, 1, 1));
    assert_eq!(fleet.units[0].slices.len(), 20 - 6);
    assert_eq!(fleet.units[0].left_out, [3, 4, 9, 10, 12, 15]);
}

#[test]
fn a_response_time_is_with_the_queue_or_the_slice_is_left_out() {
    let arms = [(label("y", 0), (0..=20).collect())];
    let mut queue: Vec<(usize, f64)> = (0..=20).map(|step| (step, step as f64 * 0.5)).collect();
    queue.retain(|(step, _)| *step != 7);
    let fleet = with_queue(&experiment(), &arms, &steady(0..=20), &queue);
    let [unit] = &fleet.units[..] else { panic!() };
    assert_eq!((fleet.left_out.holes, &unit.left_out[..]), (2, &[6, 7][..]));
    assert_eq!(unit.slices.len(), 18);
    for slice in &unit.slices {
        assert_eq!((slice.response_s, slice.queue_s), (1.5, Some(0.5)));
    }
}

#[test]
fn counts_are_those_of_the_fleets_bounds() {
    let experiment = experiment();
    let mut gathered = Gathered::of(&experiment);
    let asked = queries(&experiment, 20, "");
    let buckets = asked.iter().find(|query| query.family == Family::Buckets);
    let of = |instance: &str, le: &str, steps: &[usize], grows: f64| {
        let points: Vec<(usize, f64)> = steps
            .iter()
            .map(|step| (*step, *step as f64 * grows))
            .collect();
        series(&[("instance", instance), ("le", le)], &points)
    };
    let answer = vec![
        // Another Prometheus since the second step.
        of("a:1", "1", &[0, 1], 3.0),
        of("a:1", "1.0", &[2], 3.0),
        of("a:1", "0.5", &[0, 1, 2], 1.0),
        of("a:1", "+Inf", &[0, 1, 2], 7.0),
        of("a:1", "NaN", &[0, 1, 2], 9.0),
        of("a:1", "", &[0, 1, 2], 9.0),
        of("b:1", "1", &[0, 1, 2], 3.0),
        of("b:1", "+Inf", &[0, 1, 2], 7.0),
    ];
    gathered.add(buckets.unwrap(), answered(answer));
    let bounds = gathered.bounds();
    assert_eq!(bounds, [0.5, 1.0, f64::INFINITY]);
    let fleet = join(&experiment, gathered.clone(), 20);
    assert_eq!(fleet.warnings.len(), 1);
    let [ours, others] = ["a:1", "b:1"].map(|instance| gathered.take(instance));
    for index in [0, 1] {
        let counts = ours.counts(index, &bounds);
        assert_eq!(counts.unwrap(), [1.0, 2.0, 4.0], "{index}");
        assert_eq!(others.counts(index, &bounds), None);
    }
    assert_eq!(ours.counts(2, &bounds), None);
}

/// Two workers; a third process begins in slice 4, both again in a hole, and once more in another flight folder.
#[test]
fn processes_that_begin_again_are_restarts_of_the_arm_that_stays() {
    let experiment = experiment();
    let seen = |ends: std::ops::RangeInclusive<usize>| -> Vec<(usize, f64)> {
        ends.filter(|end| *end != 8).map(|end| (end, 1.0)).collect()
    };
    let mut gathered = Gathered::of(&experiment);
    for query in queries(&experiment, 20, "") {
        let of = |labels: &[(&str, &str)], points: &[(usize, f64)]| {
            let labels = [&[("instance", "a:1")], labels].concat();
            series(&labels, points)
        };
        let began = |end: usize| match end {
            0 => 1.0,
            1..=4 => 2.0,
            5..=7 => 3.0,
            9..=12 => 5.0,
            13..=15 => 2.0,
            _ => 4.0,
        };
        let answer = match query.family {
            Family::Arms => vec![
                of(&[("arm", &label("x", 0))], &seen(0..=15)),
                of(&[("arm", &label("y", 1))], &seen(16..=20)),
            ],
            Family::Starts => {
                let points: Vec<(usize, f64)> = (0..=20).map(|end| (end, began(end))).collect();
                vec![of(&[], &points)]
            }
            _ => Vec::new(),
        };
        gathered.add(&query, answered(answer));
    }
    let fleet = join(&experiment, gathered.clone(), 20);
    let [x, y] = &fleet.units[..] else { panic!() };
    assert_eq!(x.restarts, [(5, 1.0), (9, 2.0), (13, 2.0)]);
    assert_eq!(y.restarts, []);
    let until_ten = join(&experiment, gathered, 10);
    assert_eq!(until_ten.units[0].restarts, [(5, 1.0), (9, 2.0)]);
}

/// Two processes each time. The requests of end 12 are unknown.
#[test]
fn a_container_that_starts_again_with_as_many_processes_has_fewer_requests() {
    let experiment = experiment();
    let mut gathered = Gathered::of(&experiment);
    let requests = |end: usize| match end {
        0..=6 => Some(100.0 * end as f64),
        7..=11 => Some(100.0 * (end - 7) as f64),
        12 => None,
        _ => Some(1_000.0 * end as f64),
    };
    for query in queries(&experiment, 20, "") {
        let of = |labels: &[(&str, &str)], number: &dyn Fn(usize) -> Option<f64>| {
            let points = (0..=20).filter_map(|end| Some((end, number(end)?)));
            let points: Vec<(usize, f64)> = points.collect();
            series(&[&[("instance", "a:1")], labels].concat(), &points)
        };
        let answer = match query.family {
            Family::Arms => vec![of(&[("arm", &label("x", 0))], &|_| Some(1.0))],
            Family::Starts => vec![of(&[], &|_| Some(2.0))],
            Family::Requests => vec![of(&[], &requests)],
            _ => Vec::new(),
        };
        gathered.add(&query, answered(answer));
    }
    let fleet = join(&experiment, gathered, 20);
    assert_eq!(fleet.units[0].restarts, [(7, 2.0)]);
}

#[test]
fn other_experiments_and_halted_arms() {
    let arms = [
        ("y:00000000:0".to_owned(), vec![0, 1]),
        (label("z", 0), vec![0, 1]),
        (format!("{}:y", label("x", 0)), (0..=20).collect()),
    ];
    let fleet = fleet(&experiment(), &arms, &steady(0..=20));
    let [unit] = &fleet.units[..] else {
        panic!("{:?}", fleet.units)
    };
    assert_eq!((unit.arm, unit.label.halted.as_deref()), (1, Some("y")));
    assert_eq!(fleet.left_out.strangers.len(), 1);
}
