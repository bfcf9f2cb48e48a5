//! Fleets before and after a change, with a daily cycle and noise that stays for hours.

use super::*;
use crate::interrupted::hour_queries;
use crate::series::{Answered, Series};
use rand::SeedableRng;
use rand_distr::{Distribution, StudentT};
use rand_pcg::Pcg64;
use std::collections::BTreeMap;
use std::f64::consts::TAU;

const DAYS: &str = "2026-11-13/2026-11-16 2026-11-20/2026-11-23";
const WEEKS: &str = "2026-11-09/2026-11-16 2026-11-16/2026-11-23";

fn periods(text: &str) -> Periods {
    let (before, after) = text.split_once(' ').unwrap();
    Periods::parse(before, after).unwrap()
}

fn read_of(periods: &Periods, hours: &Hours) -> Document {
    let asked = BeforeAfterAsked {
        now_s: periods.after.to_s,
        version: "0.1.0".to_owned(),
        prometheus: "http://127.0.0.1:9090".to_owned(),
        matchers: "job=\"shop\"".to_owned(),
    };
    compared(periods, hours, &asked)
}

/// The hours of a fleet: `figure` gives a number of an hour, or none.
fn hours_of(periods: &Periods, figure: &dyn Fn(Side, Family, usize) -> Option<f64>) -> Hours {
    let mut hours = Hours::of(periods);
    for (side, query) in hour_queries(periods, "") {
        let first = (query.span.from_s - periods.of(side).from_s) as usize / 3_600 - 1;
        let points =
            (0..24).filter_map(|step| Some((step, figure(side, query.family, first + step)?)));
        let series = Series {
            labels: BTreeMap::from([("le".to_owned(), "0.1".to_owned())]),
            points: points.collect(),
        };
        let answer = Answered {
            series: vec![series],
            warnings: Vec::new(),
        };
        hours.add(side, &query, answer);
    }
    hours
}

/// Noise of the hours: heavy tails, of which an hour keeps a half, and days with different levels.
fn noise(random: &mut Pcg64, hours: usize, of_days: f64) -> Vec<f64> {
    let heavy = StudentT::new(3.0).unwrap();
    let mut kept = 0.0;
    let mut day = 0.0;
    (0..hours)
        .map(|hour| {
            if hour % 24 == 0 {
                let drawn: f64 = heavy.sample(random);
                day = of_days * drawn;
            }
            let drawn: f64 = heavy.sample(random);
            kept = 0.5 * kept + 0.02 * drawn;
            kept + day
        })
        .collect()
}

fn simulated(periods: &Periods, seed: u64, change: f64, of_days: f64) -> Document {
    simulated_in(periods, seed, change, of_days, |_, _| true)
}

/// `is_there` says whether there are requests in an hour of so many.
fn simulated_in(
    periods: &Periods,
    seed: u64,
    change: f64,
    of_days: f64,
    is_there: fn(usize, usize) -> bool,
) -> Document {
    let mut random = Pcg64::seed_from_u64(seed);
    let noise = Side::BOTH.map(|_| noise(&mut random, periods.hours(), of_days));
    let hours = hours_of(periods, &|side, family, hour| {
        if !is_there(hour, periods.hours()) {
            return None;
        }
        let daily = (TAU * hour as f64 / 24.0).sin();
        let requests = 50_000.0 * (0.7 * daily).exp();
        let changed = if side == Side::After {
            change.ln_1p()
        } else {
            0.0
        };
        let time_s = 0.05 * (0.3 * daily + noise[side as usize][hour] + changed).exp();
        match family {
            Family::Requests | Family::Buckets => Some(requests),
            Family::Duration => Some(requests * time_s),
            Family::Arms => Some(20.0),
            _ => None,
        }
    });
    read_of(periods, &hours)
}

const SERIES: u32 = 400;

fn count(periods: &Periods, change: f64, of_days: f64, outcome: Outcome) -> u32 {
    let found = (0..u64::from(SERIES))
        .filter(|seed| simulated(periods, *seed, change, of_days).outcome == outcome);
    found.count() as u32
}

/// As elsewhere, a rate is not significantly above 5 % if the binomial distribution gives so many with a probability of 1 % or more.
#[test]
fn a_false_verdict_is_not_significantly_more_frequent_than_one_in_twenty() {
    for (text, of_days) in [(DAYS, 0.0), (DAYS, 0.02), (WEEKS, 0.0), (WEEKS, 0.02)] {
        let wrong = SERIES - count(&periods(text), 0.0, of_days, Outcome::NoDifference);
        let p = stats::binomial_at_least(wrong, SERIES, 0.05);
        assert!(p >= 0.01, "{text} {of_days}: {wrong} of {SERIES}");
    }
}

/// Without the last quarter of the hours, and without six hours of each night.
#[test]
fn a_false_verdict_is_not_more_frequent_where_hours_are_missing() {
    let begins: fn(usize, usize) -> bool = |hour, hours| 4 * hour < 3 * hours;
    let daytime: fn(usize, usize) -> bool = |hour, _| hour % 24 >= 6;
    for (text, is_there) in [
        (DAYS, begins),
        (WEEKS, begins),
        (DAYS, daytime),
        (WEEKS, daytime),
    ] {
        for of_days in [0.0, 0.02] {
            let periods = periods(text);
            let wrong = (0..u64::from(SERIES)).filter(|seed| {
                let read = simulated_in(&periods, *seed, 0.0, of_days, is_there);
                assert_eq!(read.hours as usize, periods.hours() * 3 / 4);
                read.outcome != Outcome::NoDifference
            });
            let wrong = wrong.count() as u32;
            let p = stats::binomial_at_least(wrong, SERIES, 0.05);
            assert!(p >= 0.01, "{text} {of_days}: {wrong} of {SERIES}");
        }
    }
}

#[test]
fn planted_changes_are_found() {
    for (text, of_days, change) in [(DAYS, 0.0, 0.15), (WEEKS, 0.0, 0.05), (WEEKS, 0.02, 0.10)] {
        let periods = periods(text);
        let longer = count(&periods, change, of_days, Outcome::Longer);
        let shorter = count(&periods, -change, of_days, Outcome::Shorter);
        assert!(
            longer.min(shorter) >= SERIES * 9 / 10,
            "{text} {of_days} {change}: {longer} longer, {shorter} shorter"
        );
    }
}

/// The table in docs/method.md, to a thousandth.
#[test]
#[ignore = "takes a minute"]
fn the_table_of_the_method() {
    const OF_TABLE: u64 = 4_000;
    // No seed of the tests, by which the method was chosen.
    let share = |counts: &dyn Fn(u64) -> bool| {
        let counted = (7_000_000..7_000_000 + OF_TABLE).filter(|seed| counts(*seed));
        counted.count() as f64 / OF_TABLE as f64
    };
    let table = [
        (DAYS, 0.0, [0.0395, 0.575, 0.945, 0.9605]),
        (DAYS, 0.02, [0.0435, 0.198, 0.498, 0.9565]),
        (WEEKS, 0.0, [0.0428, 0.986, 0.999, 0.9573]),
        (WEEKS, 0.02, [0.0385, 0.555, 0.934, 0.9615]),
    ];
    for (text, of_days, expected) in table {
        let periods = periods(text);
        let read = |seed, change| simulated(&periods, seed, change, of_days);
        let longer = |change| share(&|seed| read(seed, change).outcome == Outcome::Longer);
        let holds = |seed| {
            let change = read(seed, 0.05).response_time;
            change.is_some_and(|change| (change.low..=change.high).contains(&1.05))
        };
        let found = [
            share(&|seed| read(seed, 0.0).outcome != Outcome::NoDifference),
            longer(0.05),
            longer(0.10),
            share(&holds),
        ];
        let is_alike = |(a, b): (f64, f64)| (a - b).abs() < 0.001;
        assert!(
            found.into_iter().zip(expected).all(is_alike),
            "{text} {of_days}: {found:?}"
        );
    }
}

#[test]
fn the_page_promises_what_is_found() {
    let periods = periods(WEEKS);
    let promised: f64 = (0..u64::from(SERIES))
        .map(|seed| simulated(&periods, seed, 0.0, 0.0).detectable.unwrap())
        .sum::<f64>()
        / f64::from(SERIES);
    let found = count(&periods, promised, 0.0, Outcome::Longer);
    assert!(
        (SERIES * 7 / 10..=SERIES * 9 / 10).contains(&found),
        "{promised}: {found} of {SERIES}"
    );
}

#[test]
fn a_change_is_said_with_what_it_cannot_show() {
    let week = simulated(&periods(WEEKS), 3, 0.2, 0.0);
    assert_eq!(week.outcome, Outcome::Longer);
    assert!(
        week.sentence
            .starts_with("Longer after the change: mean response time +"),
        "{}",
        week.sentence
    );
    assert!(
        week.sentence.ends_with("without an experiment."),
        "{}",
        week.sentence
    );
    assert!(week.promise.starts_with("Weaker than an experiment:"));
    assert_eq!(
        (week.hours, week.before.hours, week.before.instances),
        (168, 168, Some(20.0))
    );
    assert_eq!(week.response_time.unwrap().freedom, 4);
    assert!(week.alike.iter().all(|check| check.passed == Some(true)));
    assert!(week.notes.is_empty(), "{:?}", week.notes);

    let other_days = simulated(
        &periods("2026-11-17/2026-11-20 2026-11-20/2026-11-23"),
        3,
        0.5,
        0.0,
    );
    assert!(
        other_days
            .sentence
            .ends_with("The periods also differ in weekdays, which may be the reason."),
        "{}",
        other_days.sentence
    );
    let day = simulated(
        &periods("2026-11-13/2026-11-14 2026-11-20/2026-11-21"),
        3,
        0.5,
        0.0,
    );
    assert_eq!((day.outcome, day.response_time), (Outcome::NotEnough, None));
    assert_eq!(
        day.sentence,
        "Not enough for an answer: 1 day before and after do not show how much days differ from one another; give 3 or more, best seven."
    );
    assert_eq!(day.before.hours, 24);
}

#[test]
fn other_traffic_and_a_queue_on_one_side_are_said() {
    let periods = periods(DAYS);
    let hours = hours_of(&periods, &|side, family, hour| {
        Some(match family {
            Family::Requests | Family::Buckets => [100.0, 150.0][side as usize],
            Family::Duration => 1.0 + 0.1 * (hour % 5) as f64,
            Family::Queue => side as usize as f64,
            _ => 3.0,
        })
    });
    let document = read_of(&periods, &hours);
    assert!(
        document.sentence.contains("also differ in requests"),
        "{}",
        document.sentence
    );
    // Without the queue: two thirds.
    assert!((document.response_time.unwrap().estimate - 2.0 / 3.0).abs() < 0.05);
    assert!(document.notes[0].contains("in one of the periods alone"));
    assert_eq!(
        (document.before.queue_ms, document.after.queue_ms),
        (None, Some(1e3 / 150.0))
    );
    assert_eq!(document.after.memory_bytes, Some(3.0));
}

#[test]
fn hours_without_a_partner_are_left_out_and_too_many_give_no_answer() {
    let periods = periods(DAYS);
    let until = |end: usize| {
        let hours = hours_of(&periods, &|side, family, hour| {
            let served = side == Side::Before || hour < end;
            let seconds = 1.0 + (hour % 5 * (1 + side as usize)) as f64;
            match family {
                Family::Queue => None,
                Family::Duration => served.then_some(seconds),
                _ => served.then_some(20.0),
            }
        });
        read_of(&periods, &hours)
    };
    let most = until(54);
    assert_eq!((most.hours, most.after.hours), (54, 54));
    assert!(most.response_time.is_some());
    assert!(
        most.notes[0].starts_with("18 hours left out"),
        "{:?}",
        most.notes
    );
    let few = until(53);
    assert_eq!((few.outcome, few.response_time), (Outcome::NotEnough, None));
    assert!(
        few.sentence
            .starts_with("Not enough for an answer: 53 of 72 hours have 20 requests"),
        "{}",
        few.sentence
    );
}
