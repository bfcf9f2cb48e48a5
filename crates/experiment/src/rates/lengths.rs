//! How a time budget becomes windows, and which rates the curve has. Pure.

use super::Curve;
use capacity::{Ending, RateBounds, RateStep};

/// Lengths of the parts of a search, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lengths {
    /// Closed loop before the search.
    pub saturation_s: f64,
    /// Trials that bracket.
    pub short_s: f64,
    /// Trials that decide.
    pub full_s: f64,
    /// Kept back for the curve.
    pub curve_s: f64,
}

/// Least budget of a search, seconds.
pub const LEAST_BUDGET_S: f64 = 30.0;
/// Share of the budget for the curve.
const CURVE_SHARE: f64 = 0.3;
/// Full-length trials that a search of ordinary difficulty takes, its short ones counted with them.
const ORDINARY_TRIALS: f64 = 16.0;
/// Fewest full-length trials that a search may be planned with.
const FEWEST_TRIALS: f64 = 9.0;
const SHORTEST_FULL_S: f64 = 2.0;
const LONGEST_FULL_S: f64 = 60.0;
/// Violations that a window should allow, or their number says little.
const ALLOWED_VIOLATIONS: f64 = 5.0;
/// Windows in terms of the limit: a rate that is beyond what the server carries by one part in so many is late for long
/// enough to be seen within the window.
const LIMITS_A_WINDOW: f64 = 20.0;

/// Fits a search into `budget_s`. `rate_per_s` is about where the answer lies, as far as is known.
pub fn fit(
    budget_s: f64,
    with_curve: bool,
    rate_per_s: Option<f64>,
    allowed: f64,
    limit_s: f64,
) -> Lengths {
    let curve_s = if with_curve {
        CURVE_SHARE * budget_s
    } else {
        0.0
    };
    let search_s = budget_s - curve_s;
    let requests_s = rate_per_s.map_or(0.0, |rate| ALLOWED_VIOLATIONS / allowed / rate);
    let wanted_s = requests_s.max(LIMITS_A_WINDOW * limit_s);
    let full_s = (search_s / ORDINARY_TRIALS)
        .max(wanted_s)
        .min(search_s / FEWEST_TRIALS)
        .clamp(SHORTEST_FULL_S, LONGEST_FULL_S);
    Lengths {
        saturation_s: (0.4 * full_s).clamp(1.5, 10.0),
        short_s: (full_s / 3.0).max(1.0),
        full_s,
        curve_s,
    }
}

/// Multiples of the saturated throughput at which the curve has points.
const CURVE: [f64; 8] = [0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.2, 1.5];
/// Rates as near as this are one point.
const SAME: f64 = 0.06;

/// Rates that the curve still lacks, ascending, where trials at `measured` exist.
pub fn curve_rates(saturated_per_s: f64, measured: &[f64]) -> Vec<f64> {
    let lacks = |rate: &f64| measured.iter().all(|m| (m / rate).ln().abs() > SAME);
    let rates = CURVE.iter().map(|share| share * saturated_per_s);
    rates.filter(lacks).collect()
}

/// Time that a queue takes to settle at this share of the saturated throughput: S / (1 - sqrt(rho))², seconds.
pub fn settling_s(service_s: f64, share: f64) -> f64 {
    if share >= 1.0 {
        return f64::INFINITY;
    }
    service_s / (1.0 - share.max(0.0).sqrt()).powi(2)
}

/// Seconds of the curve that nothing else may take. The answer comes before a curve whose rates were not requested.
pub fn reserved_s(curve_s: f64, curve: &Curve) -> f64 {
    match curve {
        Curve::At(_) => curve_s,
        Curve::None | Curve::Wide => 0.0,
    }
}

/// The next step within the seconds left, less those that the curve takes: a search that would end undecided, or in doubt, takes
/// what is not reserved of them.
pub fn step(left_s: f64, curve_s: f64, curve: &Curve, next: impl Fn(f64) -> RateStep) -> RateStep {
    match next(left_s - curve_s) {
        RateStep::Done(RateBounds {
            ending,
            doubted_per_s,
            ..
        }) if ending == Ending::OutOfTime || doubted_per_s.is_some() => {
            next(left_s - reserved_s(curve_s, curve))
        }
        step => step,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capacity::Purpose;

    #[test]
    fn an_undecided_search_takes_the_time_of_a_curve_that_nobody_asked_for() {
        let bounds = |ending| RateBounds {
            ending,
            met_per_s: None,
            broke_per_s: None,
            low_per_s: None,
            high_per_s: None,
            decided: false,
            contradictory: false,
            doubted_per_s: None,
        };
        let offer = RateStep::Offer {
            per_s: 84.3,
            seconds: 7.4,
            purpose: Purpose::Decide,
        };
        let needs = |least_s: f64| {
            move |left_s: f64| match left_s >= least_s {
                true => offer,
                false => RateStep::Done(bounds(Ending::OutOfTime)),
            }
        };
        assert_eq!(step(40.0, 33.0, &Curve::Wide, needs(7.4)), offer);
        let none = RateStep::Done(bounds(Ending::OutOfTime));
        assert_eq!(step(40.0, 33.0, &Curve::At(vec![50.0]), needs(7.4)), none);
        assert_eq!(step(5.0, 3.0, &Curve::Wide, needs(7.4)), none);
        let found = |_| RateStep::Done(bounds(Ending::Found));
        assert_eq!(step(40.0, 33.0, &Curve::Wide, found), found(0.0));
        let doubted = |left_s: f64| match left_s >= 7.4 {
            true => offer,
            false => RateStep::Done(RateBounds {
                doubted_per_s: Some(60.0),
                ..bounds(Ending::Found)
            }),
        };
        assert_eq!(step(40.0, 33.0, &Curve::Wide, doubted), offer);
        let kept = step(40.0, 33.0, &Curve::At(vec![50.0]), doubted);
        assert!(matches!(kept, RateStep::Done(_)));
    }

    #[test]
    fn a_search_fits_its_budget() {
        for budget_s in [40.0, 60.0, 300.0, 1800.0] {
            let lengths = fit(budget_s, true, Some(50.0), 0.01, 0.25);
            let spent = lengths.saturation_s + FEWEST_TRIALS * lengths.full_s + lengths.curve_s;
            assert!(spent <= 1.15 * budget_s, "{budget_s}: {lengths:?}");
            assert!(lengths.short_s < lengths.full_s);
        }
    }

    #[test]
    fn rare_requests_and_slow_limits_lengthen_the_windows() {
        let quick = fit(600.0, false, Some(500.0), 0.01, 0.05).full_s;
        assert!(fit(600.0, false, Some(8.0), 0.01, 0.05).full_s > quick);
        assert!(fit(600.0, false, Some(500.0), 0.01, 2.5).full_s > quick);
    }

    #[test]
    fn the_curve_goes_from_well_below_to_well_above_and_repeats_nothing() {
        let rates = curve_rates(100.0, &[79.0, 91.0]);
        assert_eq!(rates, [20.0, 40.0, 60.0, 100.0, 120.0, 150.0]);
    }

    /// 20 ms of service at 95 % of the saturated throughput: 31 s, as `docs/method.md` has it.
    #[test]
    fn a_queue_near_saturation_takes_long_to_settle() {
        assert!((settling_s(0.020, 0.95) - 31.2).abs() < 0.1);
        assert!(settling_s(0.020, 1.0).is_infinite());
    }
}
