//! Budgets become shapes: tables, and properties of all of them.

use super::*;

fn wishes(most_arms: Option<usize>, blocks: Option<u32>, window_s: Option<f64>) -> Wishes {
    Wishes {
        most_arms,
        blocks,
        window_s,
        pilot_trials: PILOT_TRIALS,
    }
}

/// Before anything was measured.
fn assumed(budget_s: f64, wishes: Wishes) -> Result<Shape, TooShort> {
    fit(budget_s, Overhead::ASSUMED, Windows::ASSUMED, wishes)
}

#[test]
fn eight_minutes_hold_three_arms_and_six_blocks() {
    let shape = assumed(480.0, wishes(Some(3), None, None)).unwrap();
    assert!(
        shape.arms == 3 && (6..=9).contains(&shape.blocks),
        "{shape:?}"
    );
    assert!(shape.timing.saturation_s >= LEAST_WINDOW_S, "{shape:?}");
}

#[test]
fn the_search_is_kept_room_for_where_there_is_some() {
    let wishes = wishes(Some(3), None, None);
    let fitted = |budget_s, with_search| {
        fit_with_search(
            budget_s,
            0.0,
            with_search,
            Overhead::ASSUMED,
            Windows::ASSUMED,
            wishes,
        )
        .unwrap()
    };
    let seconds = |shape: Shape| {
        let confirming = shape.blocks * (1 + shape.finalists);
        let trials = PILOT_TRIALS + shape.race_blocks * shape.arms as u32 + confirming;
        f64::from(trials) * (Overhead::ASSUMED.seconds() + 2.0 * shape.timing.saturation_s)
    };
    assert!(seconds(fitted(450.0, true)) <= 350.0);
    assert!(seconds(fitted(450.0, false)) > 350.0);
    let tight = assumed(1.0, wishes).unwrap_err().least_s;
    assert_eq!(fitted(tight, true), fitted(tight, false));
}

#[test]
fn more_time_buys_arms_first_and_windows_after() {
    let hour = assumed(3600.0, wishes(None, None, None)).unwrap();
    let day = assumed(86_400.0, wishes(None, None, None)).unwrap();
    assert_eq!((hour.arms, hour.blocks), (8, 9));
    assert_eq!(day.timing.saturation_s, MOST_WINDOW_S);
}

#[test]
fn the_budget_named_for_two_finalists_holds_them_and_a_minute_less_does_not() {
    let wishes = wishes(None, None, None);
    for with_search in [false, true] {
        let named = least_with(
            |shape| shape.finalists > 1,
            30.0,
            with_search,
            Overhead::ASSUMED,
            Windows::ASSUMED,
            wishes,
        )
        .unwrap();
        let finalists = |budget_s| {
            let (overhead, windows) = (Overhead::ASSUMED, Windows::ASSUMED);
            let shape = fit_with_search(budget_s, 30.0, with_search, overhead, windows, wishes);
            shape.unwrap().finalists
        };
        assert_eq!((finalists(named), finalists(named - 60.0)), (2, 1));
    }
    let one_candidate = Wishes {
        most_arms: Some(2),
        ..wishes
    };
    let never = least_with(
        |shape| shape.finalists > 1,
        30.0,
        false,
        Overhead::ASSUMED,
        Windows::ASSUMED,
        one_candidate,
    );
    assert_eq!(never, None);
}

#[test]
fn a_budget_too_short_for_six_blocks_says_what_would_do() {
    let short = assumed(60.0, wishes(Some(3), None, None)).unwrap_err();
    assert!(short.least_s > 60.0);
    assert!(
        assumed(short.least_s, wishes(Some(3), None, None)).is_ok(),
        "{short:?}"
    );
}

#[test]
fn a_window_that_was_asked_for_is_kept() {
    let shape = assumed(7200.0, wishes(Some(6), Some(6), Some(3.0))).unwrap();
    assert_eq!(
        (shape.arms, shape.blocks, shape.timing.objective_s),
        (6, 6, 3.0)
    );
    assert!(assumed(60.0, wishes(None, None, Some(3.0))).is_err());
}

/// What a pilot in windows of `window_s` shows of an application that carries so much.
fn seen(window_s: f64, capacity_per_s: f64, log_ratio: f64) -> Seen {
    Seen {
        window_s,
        log_ratio: Some(log_ratio),
        earlier: stats::Scatter::default(),
        capacity_per_s,
        rate_per_s: 0.7 * capacity_per_s,
    }
}

/// As `tune` plans: once before the pilot, and again when it has shown what a trial costs in addition to its windows.
fn after_pilot(
    budget_s: f64,
    overhead_s: f64,
    capacity_per_s: f64,
    log_ratio: f64,
    p99: bool,
) -> Shape {
    let assumed = (Overhead::ASSUMED, Windows::ASSUMED);
    let first = wishes(None, None, None);
    let first = fit_with_search(budget_s, 0.0, p99, assumed.0, assumed.1, first).unwrap();
    let overhead = Overhead::measured(overhead_s, Ageing::NONE);
    let window_s = first.timing.saturation_s;
    let seen = seen(window_s, capacity_per_s, log_ratio);
    let windows = Windows::of(&seen, 0.03, p99.then_some(0.01));
    let spent_s = f64::from(PILOT_TRIALS) * (overhead_s + 2.0 * window_s);
    let left = Wishes::default();
    fit_with_search(budget_s, spent_s, p99, overhead, windows, left).unwrap()
}

#[test]
fn budget_service_time_and_noise_become_arms_blocks_and_windows() {
    // Budget, service time of a request in one of three threads, log ratio of two equal trials, p99 objective; arms, race
    // blocks, blocks, finalists, window.
    for (budget_s, service_s, log_ratio, p99, arms, race_blocks, blocks, finalists, window_s) in [
        // Six minutes, 25 ms: from fewer threads than the model's best to twice as many, where noise allows it.
        (360.0, 0.025, 0.01, false, 7, 2, 6, 2, 2.4),
        (360.0, 0.025, 0.04, false, 5, 2, 6, 1, 4.7),
        (360.0, 0.025, 0.25, false, 3, 2, 6, 1, 6.3),
        (360.0, 0.025, 0.01, true, 6, 2, 6, 1, 2.3),
        // More time: windows in which the p99 has its requests, too.
        (600.0, 0.025, 0.01, true, 6, 2, 6, 2, 4.6),
        (1800.0, 0.025, 0.01, true, 8, 3, 9, 2, 10.5),
        (1800.0, 0.025, 0.25, true, 8, 3, 9, 2, 10.5),
        // A slow application gets longer windows, for fewer arms.
        (360.0, 0.5, 0.01, false, 3, 2, 6, 1, 6.3),
        (900.0, 0.5, 0.01, false, 7, 2, 6, 2, 10.4),
    ] {
        let shape = after_pilot(budget_s, 5.0, 3.0 / service_s, log_ratio, p99);
        let found = (shape.arms, shape.race_blocks, shape.blocks, shape.finalists);
        let case = format!("{budget_s} s, {service_s} s, {log_ratio}, {p99}: {shape:?}");
        assert_eq!(found, (arms, race_blocks, blocks, finalists), "{case}");
        let off_s = (shape.timing.saturation_s - window_s).abs();
        assert!(off_s < 0.1, "{case}");
    }
}

/// One candidate needs no race: fourteen trials, whatever number of arms is allowed or affordable.
#[test]
fn three_minutes_hold_one_candidate_and_six_blocks() {
    let quick = assumed(180.0, wishes(None, None, None)).unwrap();
    assert_eq!(
        (quick.arms, quick.race_blocks, quick.blocks, quick.finalists),
        (2, 0, 6, 1)
    );
    let two = assumed(3600.0, wishes(Some(2), None, None)).unwrap();
    assert_eq!((two.arms, two.race_blocks), (2, 0));
}

/// Several candidates are worth more than the highest rate of one.
#[test]
fn the_search_for_a_rate_takes_no_time_from_a_race() {
    let overhead = Overhead::measured(5.0, Ageing::NONE);
    let fitted = |budget_s, with_search| {
        fit_with_search(
            budget_s,
            24.0,
            with_search,
            overhead,
            Windows::ASSUMED,
            Wishes::default(),
        )
        .unwrap()
    };
    assert_eq!(fitted(280.0, true), fitted(280.0, false));
    assert!(fitted(280.0, true).race_blocks > 0);
    assert_ne!(fitted(400.0, true), fitted(400.0, false));
}

#[test]
fn no_shape_has_more_of_anything_than_a_richer_one() {
    let richer = SHAPES.windows(2).all(|pair| {
        let ((arms, race, confirm, finalists), next) = (pair[0], pair[1]);
        arms >= next.0 && race >= next.1 && confirm >= next.2 && finalists >= next.3
    });
    assert!(richer);
    assert!(SHAPES.iter().all(|(_, _, confirm, _)| *confirm >= 6));
}

proptest::proptest! {
    #[test]
    fn more_time_less_noise_and_more_requests_never_give_less(
        budget_s in 300.0..20_000.0_f64,
        more_s in 0.0..20_000.0_f64,
        overhead_s in 0.5..8.0_f64,
        capacity_per_s in 1.0..5_000.0_f64,
        faster in 1.0..10.0_f64,
        log_ratio in 0.0..0.5_f64,
        quieter in 0.0..1.0_f64,
        p99: bool,
    ) {
        let shape = |budget_s, capacity_per_s, log_ratio| {
            let overhead = Overhead::measured(overhead_s, Ageing::NONE);
            let windows = Windows::of(&seen(5.0, capacity_per_s, log_ratio), 0.03, p99.then_some(0.01));
            fit(budget_s, overhead, windows, Wishes::default()).ok()
        };
        let at_most = |poorer: Option<Shape>, richer: Option<Shape>| {
            let Some(poorer) = poorer else { return true };
            richer.is_some_and(|richer| {
                richer.arms >= poorer.arms
                    && richer.race_blocks >= poorer.race_blocks
                    && richer.blocks >= poorer.blocks
                    && richer.finalists >= poorer.finalists
            })
        };
        let first = shape(budget_s, capacity_per_s, log_ratio);
        proptest::prop_assert!(at_most(first, shape(budget_s + more_s, capacity_per_s, log_ratio)));
        proptest::prop_assert!(at_most(first, shape(budget_s, capacity_per_s, quieter * log_ratio)));
        proptest::prop_assert!(at_most(first, shape(budget_s, faster * capacity_per_s, log_ratio)));
        if let Some(shape) = first {
            proptest::prop_assert!(shape.blocks >= 6 && shape.timing.saturation_s >= LEAST_WINDOW_S);
            let trials = shape.race_blocks * shape.arms as u32 + (1 + shape.finalists) * shape.blocks;
            let taken_s = f64::from(trials) * (overhead_s + 2.0 * shape.timing.saturation_s);
            proptest::prop_assert!(taken_s <= budget_s);
        }
    }
}
