//! The search with the judge that it really has, on simulated servers of which the answer is known.
//!
//! The server is M/M/c, first come first served, empty at the start of each trial as after a drain. Its
//! response time T has, in the long run and with d = cμ - λ,
//! P(T > t) = e^{-μt} + C · μ (e^{-μt} - e^{-dt}) / (d - μ), C being Erlang's probability of waiting.

use super::lengths;
use super::search::WIDTH;
use super::violations::{ALPHA, judge};
use capacity::{Ending, RateBounds, RateGoal, RateSearch, RateStep, RateTrial};
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;

/// Servers, mean service time and limit, seconds.
#[derive(Debug, Clone, Copy)]
struct Simulated {
    servers: usize,
    service_s: f64,
    limit_s: f64,
}

const ALLOWED: f64 = 0.01;

impl Simulated {
    /// Share of requests over the limit in the long run.
    fn violation_rate(&self, per_s: f64) -> f64 {
        let (mu, c) = (1.0 / self.service_s, self.servers as f64);
        if per_s >= c * mu {
            return 1.0;
        }
        let offered = per_s / mu;
        // Erlang B by its recursion, and C from it.
        let b = (1..=self.servers).fold(1.0, |b, k| offered * b / (k as f64 + offered * b));
        let waits = b / (1.0 - offered / c * (1.0 - b));
        let (t, d) = (self.limit_s, c * mu - per_s);
        let alone = (-mu * t).exp();
        alone + waits * mu * (alone - (-d * t).exp()) / (d - mu)
    }

    /// The highest rate that meets the objective.
    fn truth(&self) -> f64 {
        let (mut low, mut high) = (0.0, self.saturated());
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if self.violation_rate(middle) <= ALLOWED {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    fn saturated(&self) -> f64 {
        self.servers as f64 / self.service_s
    }

    /// Requests and violations of one window.
    fn offered(&self, per_s: f64, seconds: f64, random: &mut Pcg64) -> (u64, u64) {
        let mut exponential = || -> f64 { Exp1.sample(random) };
        let mut free_at = vec![0.0_f64; self.servers];
        let (mut now, mut requests, mut violations) = (0.0, 0, 0);
        loop {
            now += exponential() / per_s;
            if now >= seconds {
                return (requests, violations);
            }
            let earliest = free_at.iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
            *earliest = earliest.max(now) + exponential() * self.service_s;
            requests += 1;
            violations += u64::from(*earliest - now > self.limit_s);
        }
    }

    fn search(&self, budget_s: f64, seed: u64) -> RateBounds {
        let mut random = Pcg64::seed_from_u64(seed);
        let start_per_s = 0.6 * self.saturated();
        let lengths = lengths::fit(budget_s, false, Some(start_per_s), ALLOWED, self.limit_s);
        let goal = RateGoal {
            allowed: ALLOWED,
            width: WIDTH,
            start_per_s,
            least_per_s: 0.02 * start_per_s,
            most_per_s: 4.0 * self.saturated(),
            short_s: lengths.short_s,
            full_s: lengths.full_s,
        };
        let mut search = RateSearch::new(goal, judge(ALLOWED, seed, ALPHA));
        let mut left_s = budget_s;
        loop {
            match search.next(left_s) {
                RateStep::Done(bounds) => return bounds,
                RateStep::Offer { per_s, seconds, .. } => {
                    left_s -= seconds + 0.5;
                    let (requests, violations) = self.offered(per_s, seconds, &mut random);
                    search.record(RateTrial {
                        per_s,
                        seconds,
                        requests,
                        violations,
                    });
                }
            }
        }
    }
}

const SERVER: Simulated = Simulated {
    servers: 3,
    service_s: 0.040,
    limit_s: 0.250,
};

#[test]
fn the_formula_and_the_simulation_agree() {
    let mut random = Pcg64::seed_from_u64(5);
    let (requests, violations) = SERVER.offered(SERVER.truth(), 40_000.0, &mut random);
    let seen = violations as f64 / requests as f64;
    assert!((seen / ALLOWED - 1.0).abs() < 0.05, "{seen}");
}

/// What many searches on one server came to.
#[derive(Debug, Default)]
struct Tally {
    searches: u32,
    errors: Vec<f64>,
    /// Lower ends that were printed, and those of them above the truth.
    lows: u32,
    lows_wrong: u32,
    /// Upper ends that were printed, and those of them below it.
    highs: u32,
    highs_wrong: u32,
}

impl Tally {
    fn of(server: &Simulated, budget_s: f64, searches: u32) -> Tally {
        let truth = server.truth();
        let mut tally = Tally {
            searches,
            ..Tally::default()
        };
        for seed in 0..searches {
            let bounds = server.search(budget_s, u64::from(seed));
            tally.lows += u32::from(bounds.low_per_s.is_some());
            tally.lows_wrong += u32::from(bounds.low_per_s.is_some_and(|low| low > truth));
            tally.highs += u32::from(bounds.high_per_s.is_some());
            tally.highs_wrong += u32::from(bounds.high_per_s.is_some_and(|high| high < truth));
            tally
                .errors
                .extend(bounds.met_per_s.map(|met| met / truth - 1.0));
        }
        tally
    }

    fn bias(&self) -> f64 {
        stats::summary::median(&self.errors).unwrap()
    }
}

/// Of `printed` ends at most 5 % are wrong, give or take three standard errors.
fn seldom_wrong(wrong: u32, printed: u32) -> bool {
    let expected = 0.05 * f64::from(printed);
    f64::from(wrong) <= expected + 3.0 * (0.95 * expected).sqrt()
}

const QUICK: Simulated = Simulated {
    servers: 1,
    service_s: 0.005,
    limit_s: 0.050,
};

/// An end that was printed is wrong in about 5 % of the cases at most; one that was not found promises nothing, so
/// that it counts as neither. The rows of `docs/capacity.md`: server, seconds of searching, most median error, and the
/// lower ends, those of them that are wrong, the upper ends and those that are wrong.
#[test]
#[ignore = "minutes; `cargo test -p powerband-experiment --lib -- --ignored printed_ends`"]
fn printed_ends_are_seldom_wrong() {
    for (server, budget_s, most_bias, counted) in [
        (SERVER, 180.0, 0.06, (245, 1, 495, 7)),
        (SERVER, 600.0, 0.04, (476, 1, 500, 13)),
        (QUICK, 60.0, 0.09, (50, 2, 446, 13)),
    ] {
        let tally = Tally::of(&server, budget_s, 500);
        let said = format!(
            "{server:?}, {budget_s} s: {} searches, median error {:+.3}, lower ends {} ({} wrong), upper ends {} ({} \
             wrong)",
            tally.searches,
            tally.bias(),
            tally.lows,
            tally.lows_wrong,
            tally.highs,
            tally.highs_wrong
        );
        assert!(seldom_wrong(tally.lows_wrong, tally.lows), "{said}");
        assert!(seldom_wrong(tally.highs_wrong, tally.highs), "{said}");
        assert!(tally.bias().abs() <= most_bias, "{said}");
        let Tally {
            lows,
            lows_wrong,
            highs,
            highs_wrong,
            ..
        } = tally;
        assert_eq!((lows, lows_wrong, highs, highs_wrong), counted, "{said}");
    }
}

#[test]
fn an_objective_that_no_rate_meets_is_reported() {
    let hopeless = Simulated {
        limit_s: 0.050,
        ..SERVER
    };
    for seed in 0..20 {
        let bounds = hopeless.search(300.0, seed);
        assert_eq!(
            (bounds.ending, bounds.met_per_s),
            (Ending::NotEven, None),
            "{bounds:?}"
        );
    }
}
