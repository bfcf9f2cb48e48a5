//! How often the interval holds the truth, and how often chance is called better, where what a machine does now
//! resembles what it did a moment ago.

use crate::support::{answer, asked, of, outcome, pair, shadows};
use capture::Outcome as At;
use duplex::Comparison;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use run::Outcome;
use run::duplex::Purpose;

const RUNS: u32 = 400;

/// Requests every 250 ms, as many as `per_window`, for so many windows; the candidate's times carry a first-order
/// autoregressive factor that the reference's do not, as when one of two servers has good and bad minutes.
struct World {
    windows: u64,
    per_window: u64,
    /// Correlation of one window with the next.
    memory: f64,
    /// Standard deviation of the factor, as a logarithm.
    moods: f64,
    ratio: f64,
}

struct Seen {
    covered: u32,
    better: u32,
    wrong: u32,
}

impl World {
    fn run(&self, seed: u64) -> Comparison {
        let mut rng = Pcg64::seed_from_u64(seed);
        let mut normal = move || -> f64 { StandardNormal.sample(&mut rng) };
        let mut comparison = Comparison::new(shadows(&["a"]), duplex::MARGIN).unwrap();
        let mut mood = self.moods * normal();
        for window in 0..self.windows {
            for nth in 0..self.per_window {
                let mut one = pair(
                    window * self.per_window + nth,
                    window * 250_000_000 + nth * 1_000_000,
                    "GET /",
                );
                let mut ms = |factor: f64| 20.0 * factor * (0.3 * normal()).exp();
                one.primary = Some(answer(ms(1.0), 200));
                one.shadows.push(outcome(
                    0,
                    At::Answered(answer(ms(self.ratio * mood.exp()), 200)),
                ));
                comparison.push(&one);
            }
            mood = self.memory * mood
                + self.moods * (1.0 - self.memory * self.memory).sqrt() * normal();
        }
        comparison
    }

    fn seen(&self) -> Seen {
        // What the ratio of means is, over all moods.
        let truth = self.ratio * (self.moods * self.moods / 2.0).exp();
        let mut seen = Seen {
            covered: 0,
            better: 0,
            wrong: 0,
        };
        for seed in 0..u64::from(RUNS) {
            let document = self.run(seed).document(&asked());
            let found = of(&document, "a", Purpose::Claim);
            let (low, high) = (found.all.mean.low.unwrap(), found.all.mean.high.unwrap());
            seen.covered += u32::from(low <= truth && truth <= high);
            seen.better += u32::from(found.outcome == Outcome::Better);
            let wrong = if truth < 1.0 {
                Outcome::Worse
            } else {
                Outcome::Better
            };
            seen.wrong += u32::from(found.outcome == wrong);
        }
        seen
    }
}

#[test]
fn intervals_hold_the_truth_where_neighbours_resemble_each_other() {
    // A minute, in 24 batches; and a run so short that it has 12.
    let long = [0.0, 0.3, 0.6, 0.8, 0.9].map(|memory| (240, memory));
    let short = [0.0, 0.6].map(|memory| (40, memory));
    for (windows, memory) in long.into_iter().chain(short) {
        let world = World {
            windows,
            per_window: 4,
            memory,
            moods: 0.08,
            ratio: 1.0,
        };
        let seen = world.seen();
        // Significantly fewer than 95 in a hundred, or more than 2.5 on one side, is a broken promise; not merely unlucky.
        assert!(
            stats::binomial_at_most(seen.covered, RUNS, 0.95) > 0.01,
            "{windows} {memory}: {}",
            seen.covered
        );
        assert!(
            stats::binomial_at_least(seen.better, RUNS, 0.025) > 0.01,
            "{windows} {memory}: {}",
            seen.better
        );
    }
}

#[test]
fn a_tenth_is_found_in_a_minute_of_good_traffic() {
    let world = World {
        windows: 240,
        per_window: 10,
        memory: 0.3,
        moods: 0.05,
        ratio: 0.9,
    };
    let seen = world.seen();
    assert!(
        seen.better * 10 >= RUNS * 9 && seen.wrong == 0,
        "{} {}",
        seen.better,
        seen.wrong
    );
}
