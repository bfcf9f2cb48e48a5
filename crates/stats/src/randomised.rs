//! Randomisation inference for a fleet: each unit (a pod, a host) was given one
//! of two arms by chance, and what was measured of it comes in slices of time.
//!
//! The drawing of arms is the only source of chance that the test relies on
//! (Fisher 1935). Noise may be of any shape, and the slices of one unit may
//! depend on each other. `docs/method.md` gives the sources.

mod large;
mod looks;
mod ratio;
mod redraws;
mod scores;

pub use looks::{INTERIM_LEVEL, LAST_LEVEL, MOST_LOOKS, look_level};
pub use ratio::ratio_p;
pub use scores::Observation;

use crate::student::found_in_four_of_five;
use redraws::Redrawn;

/// How the null distribution is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Redraws {
    /// Assignments that are drawn again.
    pub draws: u32,
    pub seed: u64,
    /// One minus the confidence of the interval, and the level of the test.
    pub level: f64,
}

/// The difference between an arm and the first one.
#[derive(Debug, Clone, PartialEq)]
pub struct Randomised {
    /// In logarithms: -0.12 is about 12 % less.
    pub effect: f64,
    /// The effects that the same test does not reject; `None` where no
    /// assignment of so few units could reject any.
    pub interval: Option<(f64, f64)>,
    /// Of no effect on any unit: (1 + k)/(1 + n).
    pub p: f64,
    /// Standard deviation of the effect that is found where there is none.
    pub spread: f64,
    /// The smallest p that any outcome of so many units could have.
    pub least_p: f64,
    /// Units with a score: of the first arm, of the other.
    pub units: (usize, usize),
}

impl Randomised {
    /// The effect that a test of this level finds with 80 % probability among
    /// so many units with this scatter.
    pub fn detectable(&self, level: f64) -> f64 {
        let freedom = (self.units.0 + self.units.1)
            .saturating_sub(2)
            .clamp(1, 500) as u32;
        found_in_four_of_five(level, freedom) * self.spread
    }
}

/// The comparison; `treated` says for each unit whether it has the other
/// arm. `None` where an arm has no unit that was measured in the
/// same slices as one of the other arm.
pub fn randomised(
    observations: &[Observation],
    treated: &[bool],
    how: &Redraws,
) -> Option<Randomised> {
    let scores = scores::scores(observations, treated);
    let arm = scores.iter().filter(|score| score.treated).count();
    let units = (scores.len() - arm, arm);
    if units.0 == 0 || units.1 == 0 {
        return None;
    }
    let redrawn = Redrawn::of(&scores, how.draws, how.seed)?;
    let least_p = redraws::least_p(units);
    Some(Randomised {
        effect: redrawn.effect(),
        interval: redrawn.interval(how.level).filter(|_| least_p <= how.level),
        p: redrawn.p(),
        spread: redrawn.spread(),
        least_p,
        units,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOW: Redraws = Redraws {
        draws: 999,
        seed: 7,
        level: 0.05,
    };

    /// Units and slices with different levels.
    fn fleet(effect: f64, treated: &[bool]) -> Vec<Observation> {
        let mut observations = Vec::new();
        for (unit, &treated) in treated.iter().enumerate() {
            for slice in 0..12 {
                let level = 0.01 * ((unit * 7 + slice * 3) % 11) as f64;
                let hour = (slice as f64).sin();
                observations.push(Observation {
                    unit,
                    slice,
                    outcome: hour + level + if treated { effect } else { 0.0 },
                    weight: 1.0 + (slice % 3) as f64,
                });
            }
        }
        observations
    }

    fn halves(units: usize) -> Vec<bool> {
        (0..units).map(|unit| unit % 2 == 1).collect()
    }

    #[test]
    fn an_effect_is_found_whatever_the_hour_adds() {
        let treated = halves(16);
        let found = randomised(&fleet(-0.12, &treated), &treated, &HOW).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!((found.effect + 0.12).abs() < 0.02, "{found:?}");
        assert!(low < -0.1 && high < -0.05 && low < high, "{found:?}");
        assert!(found.p <= 0.01, "{found:?}");
        assert_eq!(found.units, (8, 8));
        // 2.145 and 0.868 of 14 degrees of freedom.
        assert!((found.detectable(0.05) / found.spread - 3.013).abs() < 0.001);
    }

    #[test]
    fn a_large_effect_does_not_make_the_scatter_larger() {
        let treated = halves(12);
        let spread = |effect| {
            randomised(&fleet(effect, &treated), &treated, &HOW)
                .unwrap()
                .spread
        };
        assert!(
            (spread(0.0) - spread(0.8)).abs() < 1e-9,
            "{} {}",
            spread(0.0),
            spread(0.8)
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_answer() {
        let treated = halves(12);
        let observations = fleet(0.05, &treated);
        let found = |seed| randomised(&observations, &treated, &Redraws { seed, ..HOW });
        assert_eq!(found(3), found(3));
        assert_ne!(found(3).unwrap().p, found(4).unwrap().p);
    }

    #[test]
    fn few_units_have_no_interval() {
        let treated = halves(4);
        let found = randomised(&fleet(-3.0, &treated), &treated, &HOW).unwrap();
        // Six assignments, of which two are as extreme.
        assert!((found.least_p - 2.0 / 6.0).abs() < 1e-12);
        assert_eq!(found.interval, None);
    }

    #[test]
    fn units_that_share_no_slice_are_not_compared() {
        let treated = [false, true];
        let observation = |unit, slice| Observation {
            unit,
            slice,
            outcome: 1.0,
            weight: 1.0,
        };
        let apart = [observation(0, 0), observation(1, 1)];
        assert_eq!(randomised(&apart, &treated, &HOW), None);
        assert_eq!(randomised(&[], &treated, &HOW), None);
        assert_eq!(randomised(&apart, &[false, false], &HOW), None);
    }
}
