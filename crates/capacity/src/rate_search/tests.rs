use super::*;
use proptest::prelude::*;

const GOAL: RateGoal = RateGoal {
    allowed: 0.01,
    width: 0.05,
    start_per_s: 60.0,
    least_per_s: 5.0,
    most_per_s: 500.0,
    short_s: 2.0,
    full_s: 10.0,
};

/// Sure of whatever it sees.
fn point(trials: &[(u64, u64)]) -> (f64, f64) {
    let (v, n) = trials.iter().fold((0, 0), |(v, n), t| (v + t.0, n + t.1));
    let rate = v as f64 / n as f64;
    (rate, rate)
}

/// Runs a search on a server that gives these violations per thousand; the bounds and the trials it took.
fn search(
    goal: RateGoal,
    mut budget_s: f64,
    mut per_mille: impl FnMut(f64, usize) -> u64,
) -> (RateBounds, Vec<(f64, f64)>) {
    let mut search = RateSearch::new(goal, point);
    let mut offered = Vec::new();
    loop {
        match search.next(budget_s) {
            RateStep::Done(bounds) => return (bounds, offered),
            RateStep::Offer { per_s, seconds, .. } => {
                assert!(offered.len() < 200, "never ends: {offered:?}");
                budget_s -= seconds;
                offered.push((per_s, seconds));
                search.record(RateTrial {
                    per_s,
                    seconds,
                    requests: 1000,
                    violations: per_mille(per_s, offered.len()),
                });
            }
        }
    }
}

fn knee(at: f64) -> impl FnMut(f64, usize) -> u64 {
    move |rate, _| if rate <= at { 2 } else { 200 }
}

#[test]
fn finds_the_knee_wherever_it_is() {
    for at in [7.0, 23.0, 60.0, 77.0, 123.0, 480.0] {
        let (bounds, offered) = search(GOAL, 1e9, knee(at));
        let (met, broke) = (bounds.met_per_s.unwrap(), bounds.broke_per_s.unwrap());
        assert_eq!(bounds.ending, Ending::Found, "{at}: {bounds:?}");
        assert!(met <= at && at < broke, "{at}: {bounds:?}");
        assert!(broke / met <= 1.05 + 1e-9, "{at}: {bounds:?}");
        assert!(bounds.low_per_s.unwrap() <= at && at < bounds.high_per_s.unwrap());
        assert!(offered.len() < 30, "{at}: {offered:?}");
    }
}

#[test]
fn short_trials_come_first_and_decide_nothing() {
    let (_, offered) = search(GOAL, 1e9, knee(77.0));
    let full = offered.iter().position(|(_, s)| *s == GOAL.full_s).unwrap();
    assert!(full > 0 && offered[..full].iter().all(|(_, s)| *s == GOAL.short_s));
    assert!(offered[full..].iter().all(|(_, s)| *s == GOAL.full_s));
}

/// Whichever trial it hits, one stall at a rate that otherwise meets the objective is outvoted by its repetitions.
#[test]
fn one_stall_does_not_decide() {
    for stalled in 1..20 {
        let mut steady = knee(77.0);
        let (bounds, offered) = search(GOAL, 1e9, |rate, trial| {
            if trial == stalled {
                100
            } else {
                steady(rate, trial)
            }
        });
        let met = bounds.met_per_s.unwrap();
        assert!(
            (73.0..=77.0).contains(&met),
            "{stalled}: {bounds:?} {offered:?}"
        );
    }
}

/// A rate below the answer that failed in one window is measured until its majority speaks.
#[test]
fn no_rate_below_the_answer_stays_in_doubt() {
    // From the eighth trial on, lower rates fail: the first such window may be chance, and their majority counts.
    for failing in [1, usize::MAX] {
        let mut failed = 0;
        let mut steady = knee(77.0);
        let mut highest_failed = 0.0_f64;
        let (bounds, offered) = search(GOAL, 1e9, |rate, trial| {
            if trial > 8 && rate < 75.0 && failed < failing {
                failed += 1;
                highest_failed = highest_failed.max(rate);
                return 200;
            }
            steady(rate, trial)
        });
        assert!(failed > 0, "no lower rate was offered: {offered:?}");
        assert_eq!(bounds.doubted_per_s, None, "{failing}: {bounds:?}");
        let met = bounds.met_per_s;
        if failing == 1 {
            assert!(met.unwrap() >= 75.0, "one window is outvoted: {bounds:?}");
        } else {
            assert!(met.is_none_or(|met| met < highest_failed), "{bounds:?}");
        }
    }
}

#[test]
fn a_doubt_for_which_no_time_is_left_is_reported() {
    let mut search = RateSearch::new(GOAL, point);
    let mut record = |per_s, violations| {
        search.record(RateTrial {
            per_s,
            seconds: GOAL.full_s,
            requests: 1000,
            violations,
        });
    };
    for (per_s, violations) in [(77.0, 2), (77.0, 2), (80.0, 200), (80.0, 200), (20.0, 30)] {
        record(per_s, violations);
    }
    let RateStep::Done(bounds) = search.next(0.0) else {
        panic!("there is no time");
    };
    assert_eq!(bounds.ending, Ending::Found, "{bounds:?}");
    assert_eq!(bounds.met_per_s, Some(77.0));
    assert_eq!(bounds.doubted_per_s, Some(20.0));
    let wanted = RateStep::Offer {
        per_s: 20.0,
        seconds: GOAL.full_s,
        purpose: Purpose::Decide,
    };
    assert_eq!(search.next(1e9), wanted);
}

#[test]
fn a_rate_is_sure_by_its_own_trials_and_those_beyond() {
    let mut search = RateSearch::new(GOAL, point);
    let mut record = |per_s, requests, violations| {
        let seconds = GOAL.full_s;
        search.record(RateTrial {
            per_s,
            seconds,
            requests,
            violations,
        });
        [60.0, 80.0, 90.0].map(|per_s| search.surely(per_s, point))
    };
    let few = record(80.0, 1000, 2);
    assert_eq!(few, [None, None, None], "1000 requests say too little");
    assert_eq!(record(80.0, 2000, 4), [Some(true), Some(true), None]);
    let stalled = record(85.0, 1000, 200);
    assert_eq!(stalled, [Some(true), Some(true), None], "one window");
    let broken = record(85.0, 1000, 200);
    assert_eq!(broken, [Some(true), Some(true), Some(false)]);
}

/// A rate that the server's throughput does not reach cannot be the answer, however good its windows were.
#[test]
fn the_answer_stays_below_a_cap() {
    let mut search = RateSearch::new(GOAL, point);
    let mut capped = false;
    let mut offered = Vec::new();
    let bounds = loop {
        match search.next(1e9) {
            RateStep::Done(_) if !capped => {
                search.cap(75.0);
                capped = true;
            }
            RateStep::Done(bounds) => break bounds,
            RateStep::Offer { per_s, seconds, .. } => {
                offered.push(per_s);
                search.record(RateTrial {
                    per_s,
                    seconds,
                    requests: 1000,
                    violations: if per_s <= 77.0 { 2 } else { 200 },
                });
            }
        }
    };
    let (met, broke) = (bounds.met_per_s.unwrap(), bounds.broke_per_s.unwrap());
    assert_eq!(bounds.ending, Ending::Found, "{bounds:?}");
    assert!(met < 75.0 && 75.0 / met <= 1.05 + 1e-9, "{bounds:?}");
    // The cap is no measured rate.
    assert!(
        broke > 77.0 && offered.contains(&broke),
        "{bounds:?} {offered:?}"
    );
}

#[test]
fn an_objective_that_nothing_meets() {
    let (bounds, offered) = search(GOAL, 1e9, knee(0.0));
    assert_eq!((bounds.ending, bounds.met_per_s), (Ending::NotEven, None));
    assert_eq!(bounds.broke_per_s, Some(GOAL.least_per_s));
    assert!(offered.len() < 20, "{offered:?}");
}

#[test]
fn a_server_that_carries_all_that_can_be_offered() {
    let (bounds, _) = search(GOAL, 1e9, knee(1e9));
    assert_eq!(bounds.ending, Ending::AtLeast);
    assert_eq!(bounds.met_per_s, Some(GOAL.most_per_s));
}

#[test]
fn a_generator_at_its_limit_is_not_the_servers() {
    let mut search = RateSearch::new(GOAL, point);
    let (mut offered, mut spoiled) = (0, 0);
    let bounds = loop {
        match search.next(1e9) {
            RateStep::Done(bounds) => break bounds,
            RateStep::Offer { per_s, .. } if per_s > 200.0 => {
                spoiled += 1;
                search.spoil(per_s);
            }
            RateStep::Offer { per_s, seconds, .. } => search.record(RateTrial {
                per_s,
                seconds,
                requests: 1000,
                violations: 0,
            }),
        }
        offered += 1;
        assert!(offered < 200);
    };
    assert_eq!(bounds.ending, Ending::AtLeast, "{bounds:?}");
    assert!(bounds.met_per_s.unwrap() > 100.0 && spoiled >= MOST_SPOILED);
}

/// Six seconds at 0.12 a second: most short windows would be empty, and they are no sign of a busy generator.
#[test]
fn a_window_without_requests_says_nothing() {
    let goal = RateGoal {
        least_per_s: 0.12,
        start_per_s: 0.12,
        ..GOAL
    };
    let mut search = RateSearch::new(goal, point);
    let mut first = 0;
    let bounds = loop {
        match search.next(1e9) {
            RateStep::Done(bounds) => break bounds,
            RateStep::Offer { per_s, seconds, .. } => {
                assert!(seconds >= 0.9 * goal.full_s || seconds * per_s >= 4.9);
                first += 1;
                search.record(RateTrial {
                    per_s,
                    seconds,
                    requests: if first <= 3 { 0 } else { 1000 },
                    violations: if per_s <= 20.0 { 0 } else { 500 },
                });
            }
        }
    };
    assert_eq!(bounds.ending, Ending::Found, "{bounds:?}");
    assert!(bounds.met_per_s.unwrap() > 18.0, "{bounds:?}");
}

#[test]
fn a_generator_that_cannot_offer_the_least_is_reported() {
    let mut search = RateSearch::new(GOAL, point);
    let mut offered = 0;
    let bounds = loop {
        match search.next(1e9) {
            RateStep::Done(bounds) => break bounds,
            RateStep::Offer { per_s, .. } => search.spoil(per_s),
        }
        offered += 1;
        assert!(offered < 40);
    };
    assert_eq!((bounds.ending, bounds.met_per_s), (Ending::Generator, None));
}

#[test]
fn out_of_time_says_what_is_known_and_no_more() {
    let (nothing, _) = search(GOAL, 1.0, knee(77.0));
    assert_eq!(
        (nothing.ending, nothing.met_per_s),
        (Ending::OutOfTime, None)
    );
    let (rough, _) = search(GOAL, 8.0, knee(77.0));
    assert_eq!(rough.ending, Ending::OutOfTime);
    assert!(!rough.decided && rough.met_per_s.is_some());
}

#[test]
fn a_server_that_gets_slower_is_believed_as_it_ended() {
    let (bounds, _) = search(GOAL, 1e9, |rate, trial| {
        let at = if trial < 8 { 100.0 } else { 50.0 };
        if rate <= at { 2 } else { 200 }
    });
    assert!(bounds.met_per_s.unwrap() <= 100.0, "{bounds:?}");
}

proptest! {
    #[test]
    fn ends_whatever_the_server_does(seed: u64, least in 0.1f64..50.0, width in 0.01f64..0.3) {
        let goal = RateGoal { least_per_s: least, width, ..GOAL };
        let mut state = seed;
        let (bounds, offered) = search(goal, 1e9, |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 30
        });
        prop_assert!(offered.len() <= MOST_TRIALS);
        prop_assert!(offered.iter().all(|(rate, _)| *rate >= 0.99 * least && *rate <= 500.0));
        if let (Some(low), Some(met)) = (bounds.low_per_s, bounds.met_per_s) {
            prop_assert!(low <= met);
        }
    }

    /// Slow servers begin at the least rate, where windows may be empty, and a busy machine spoils any of them.
    #[test]
    fn ends_whatever_the_windows_are_worth(
        seed: u64, least in 0.01f64..50.0, start in 1.0f64..3.0, empty in 0u64..100, spoiled in 0u64..100,
    ) {
        let goal = RateGoal { least_per_s: least, start_per_s: least * start, ..GOAL };
        let mut state = seed;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 100
        };
        let mut search = RateSearch::new(goal, point);
        let mut trials = 0;
        while let RateStep::Offer { per_s, seconds, .. } = search.next(1e9) {
            trials += 1;
            prop_assert!(trials <= MOST_TRIALS);
            prop_assert!(per_s >= 0.99 * least && per_s <= 500.0, "{}", per_s);
            prop_assert!(seconds <= goal.full_s);
            if random() < spoiled {
                search.spoil(per_s);
            } else {
                let requests = if random() < empty { 0 } else { 1 + random() };
                search.record(RateTrial { per_s, seconds, requests, violations: (random() % 3).min(requests) });
            }
        }
    }
}

/// A first impression is what the rate's own full-length trial shows, where it has one.
#[test]
fn a_short_trial_does_not_outweigh_a_full_one_that_broke() {
    let mut search = RateSearch::new(GOAL, point);
    let trial = |per_s, seconds, violations| RateTrial {
        per_s,
        seconds,
        requests: 1_000,
        violations,
    };
    search.record(trial(60.0, GOAL.short_s, 2));
    search.record(trial(77.4, GOAL.short_s, 2));
    search.record(trial(90.0, GOAL.short_s, 100));
    let RateStep::Done(short) = search.next(0.0) else {
        panic!("no time is left");
    };
    assert_eq!((short.met_per_s, short.decided), (Some(77.4), false));
    search.record(trial(77.4, GOAL.full_s, 92));
    let RateStep::Done(bounds) = search.next(0.0) else {
        panic!("no time is left");
    };
    assert_eq!(
        (bounds.met_per_s, bounds.broke_per_s),
        (Some(60.0), Some(77.4))
    );
    assert!(!bounds.decided, "{bounds:?}");
}
