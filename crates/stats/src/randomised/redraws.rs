//! The null distribution: the same units with their arms drawn again.
//!
//! Arms are drawn independently with fixed shares. Given how many units each
//! arm got, every assignment with these counts is equally likely, so the arms
//! are permuted. Counts that differ from the shares then neither widen the
//! interval nor leave an arm without units.

use super::large::Large;
use super::scores::Score;
use rand::RngExt;

/// An assignment's difference of means.
#[derive(Debug, Clone, Copy)]
struct Contrast {
    residual: f64,
    exposure: f64,
}

/// The assignment that was drawn, and others that could have been.
#[derive(Debug)]
pub(super) struct Redrawn {
    drawn: Contrast,
    others: Vec<Contrast>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Sums {
    weight: f64,
    residual: f64,
    exposure: f64,
}

impl Sums {
    fn of<'a>(scores: impl Iterator<Item = &'a Score>) -> Sums {
        scores.fold(Sums::default(), |sums, score| Sums {
            weight: sums.weight + score.weight,
            residual: sums.residual + score.weight * score.residual,
            exposure: sums.exposure + score.weight * score.exposure,
        })
    }

    fn contrast(self, all: Sums) -> Contrast {
        let rest = all.weight - self.weight;
        Contrast {
            residual: self.residual / self.weight - (all.residual - self.residual) / rest,
            exposure: self.exposure / self.weight - (all.exposure - self.exposure) / rest,
        }
    }
}

/// Differences below it are rounding: the same assignment, or its mirror.
const ROUNDING: f64 = 1e-9;

impl Redrawn {
    /// `None` where the arms were never there together.
    pub(super) fn of(scores: &[Score], draws: u32, seed: u64) -> Option<Redrawn> {
        let all = Sums::of(scores.iter());
        let drawn = Sums::of(scores.iter().filter(|score| score.treated)).contrast(all);
        if !(drawn.exposure > ROUNDING && drawn.residual.is_finite()) {
            return None;
        }
        let arm = scores.iter().filter(|score| score.treated).count();
        // The smaller group is drawn; its mirror has the opposite contrast.
        let (few, sign) = match arm * 2 > scores.len() {
            true => (scores.len() - arm, -1.0),
            false => (arm, 1.0),
        };
        let signed = |few: Sums| {
            let contrast = few.contrast(all);
            Contrast {
                residual: sign * contrast.residual,
                exposure: sign * contrast.exposure,
            }
        };
        let mut generator = crate::generator(seed);
        if let Some(large) = Large::of(scores, few) {
            let others = (0..draws).map(|_| {
                let [weight, residual, exposure] = large.sums(&mut generator);
                signed(Sums {
                    weight,
                    residual,
                    exposure,
                })
            });
            let others = others.collect();
            return Some(Redrawn { drawn, others });
        }
        let mut order: Vec<Score> = scores.to_vec();
        let others = (0..draws).map(|_| {
            for place in 0..few {
                let with = generator.random_range(place..order.len());
                order.swap(place, with);
            }
            signed(Sums::of(order[..few].iter()))
        });
        let others = others.collect();
        Some(Redrawn { drawn, others })
    }

    /// The effect without which the arms have equal means.
    pub(super) fn effect(&self) -> f64 {
        self.drawn.residual / self.drawn.exposure
    }

    /// Standard deviation of the contrast over assignments, as an effect, when what was found is taken away.
    pub(super) fn spread(&self) -> f64 {
        let effect = self.effect();
        let without = |one: &Contrast| (one.residual - effect * one.exposure).powi(2);
        let squares: f64 = self.others.iter().map(without).sum();
        (squares / self.others.len().max(1) as f64).sqrt() / self.drawn.exposure
    }

    /// Of no effect.
    pub(super) fn p(&self) -> f64 {
        self.p_of(0.0)
    }

    /// Of an effect on every unit.
    fn p_of(&self, effect: f64) -> f64 {
        let without = |one: &Contrast| (one.residual - effect * one.exposure).abs();
        let drawn = without(&self.drawn);
        let scale = self.drawn.residual.abs() + (effect * self.drawn.exposure).abs();
        let as_extreme = |one: &&Contrast| without(one) >= drawn - ROUNDING * scale;
        let count = self.others.iter().filter(as_extreme).count();
        (1.0 + count as f64) / (1.0 + self.others.len() as f64)
    }

    /// The effects with a p above the level: exact for these draws. Where units
    /// share few slices, another assignment may have as much of the effect as
    /// the drawn one; it then counts as extreme for every effect, and the
    /// bounds are conservative.
    ///
    /// Each other assignment is as extreme as the drawn one for the effects
    /// between two roots, with the estimate between them. So the count of such
    /// assignments falls from the estimate to both sides, and its bound is a
    /// rank of the sorted roots.
    pub(super) fn interval(&self, level: f64) -> Option<(f64, f64)> {
        let needed = (level * (1.0 + self.others.len() as f64) + ROUNDING) as usize;
        let rank = needed.checked_sub(1)?;
        let (mut lower, mut upper): (Vec<f64>, Vec<f64>) =
            self.others.iter().map(|one| self.roots(one)).unzip();
        lower.sort_by(f64::total_cmp);
        upper.sort_by(|a, b| b.total_cmp(a));
        let (low, high) = (*lower.get(rank)?, *upper.get(rank)?);
        (low.is_finite() && high.is_finite()).then_some((low, high))
    }

    fn roots(&self, other: &Contrast) -> (f64, f64) {
        let drawn = &self.drawn;
        let apart = drawn.exposure - other.exposure;
        let together = drawn.exposure + other.exposure;
        let least = ROUNDING * drawn.exposure;
        if apart <= least || together <= least {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        let one = (drawn.residual - other.residual) / apart;
        let two = (drawn.residual + other.residual) / together;
        (one.min(two), one.max(two))
    }
}

/// The smallest p that units of these counts can have: one assignment among
/// all, and its mirror where there is one.
pub(super) fn least_p((first, arm): (usize, usize)) -> f64 {
    let few = first.min(arm);
    let assignments = (0..few).fold(1.0, |product, done| {
        product * (first + arm - done) as f64 / (done + 1) as f64
    });
    let as_extreme = if first == arm { 2.0 } else { 1.0 };
    f64::min(1.0, as_extreme / assignments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::randomised::scores::{Observation, scores};
    use proptest::prelude::*;

    fn made_up(outcomes: &[(f64, f64)], treated: &[bool]) -> Vec<Observation> {
        let slices = outcomes.len() / treated.len();
        let each = outcomes.iter().take(slices * treated.len()).enumerate();
        each.map(|(index, &(outcome, weight))| Observation {
            unit: index / slices,
            slice: index % slices,
            outcome,
            weight,
        })
        .collect()
    }

    /// The definition: takes the effect from every treated unit, centres
    /// again, and compares the means of all assignments.
    fn naive_p(observations: &[Observation], treated: &[bool], effect: f64) -> f64 {
        let without: Vec<Observation> = observations
            .iter()
            .map(|one| Observation {
                outcome: one.outcome - if treated[one.unit] { effect } else { 0.0 },
                ..*one
            })
            .collect();
        let scores = scores(&without, treated);
        let mean = |of: &dyn Fn(usize) -> bool| {
            let chosen = scores.iter().enumerate().filter(|(unit, _)| of(*unit));
            let (mut sum, mut weights) = (0.0, 0.0);
            for (_, score) in chosen {
                sum += score.weight * score.residual;
                weights += score.weight;
            }
            sum / weights
        };
        let difference = |arm: &dyn Fn(usize) -> bool| {
            (mean(&|unit| arm(unit)) - mean(&|unit| !arm(unit))).abs()
        };
        let drawn = difference(&|unit| scores[unit].treated);
        let count = treated.iter().filter(|treated| **treated).count();
        let all = (0_u32..1 << treated.len()).filter(|mask| mask.count_ones() as usize == count);
        let (mut total, mut as_extreme) = (0, 0);
        for mask in all {
            total += 1;
            if difference(&|unit| mask >> unit & 1 == 1) >= drawn - 1e-9 {
                as_extreme += 1;
            }
        }
        f64::from(as_extreme) / f64::from(total)
    }

    const TREATED: [bool; 8] = [false, true, false, true, true, false, false, false];

    fn outcomes() -> impl Strategy<Value = Vec<(f64, f64)>> {
        prop::collection::vec((-1.0_f64..1.0, 0.5_f64..2.0), 8 * 5)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn p_is_that_of_all_assignments(outcomes in outcomes(), effect in -1.0_f64..1.0) {
            let observations = made_up(&outcomes, &TREATED);
            let redrawn = Redrawn::of(&scores(&observations, &TREATED), 20_000, 5).unwrap();
            let naive = naive_p(&observations, &TREATED, effect);
            // Five standard deviations of 20,000 draws.
            prop_assert!((redrawn.p_of(effect) - naive).abs() < 0.018, "{} {naive}", redrawn.p_of(effect));
        }

        #[test]
        fn the_interval_holds_what_the_test_accepts(outcomes in outcomes(), level in 0.03_f64..0.4) {
            let observations = made_up(&outcomes, &TREATED);
            let redrawn = Redrawn::of(&scores(&observations, &TREATED), 1_999, 5).unwrap();
            let (low, high) = redrawn.interval(level).unwrap();
            let wide = high - low;
            prop_assert!(low <= redrawn.effect() && redrawn.effect() <= high);
            for (outside, inside) in [(low - 1e-4 * wide, low + 1e-4 * wide), (high + 1e-4 * wide, high - 1e-4 * wide)] {
                prop_assert!(redrawn.p_of(outside) <= level + 1e-9, "{outside}");
                prop_assert!(redrawn.p_of(inside) > level - 1e-9, "{inside}");
            }
        }

        #[test]
        fn an_effect_that_is_added_is_found_again(outcomes in outcomes(), effect in -2.0_f64..2.0) {
            let before = made_up(&outcomes, &TREATED);
            let after: Vec<Observation> = before
                .iter()
                .map(|one| Observation { outcome: one.outcome + if TREATED[one.unit] { effect } else { 0.0 }, ..*one })
                .collect();
            let found = |observations: &[Observation]| {
                let redrawn = Redrawn::of(&scores(observations, &TREATED), 499, 5).unwrap();
                (redrawn.effect(), redrawn.interval(0.1).unwrap())
            };
            let ((was, (low, high)), (is, (new_low, new_high))) = (found(&before), found(&after));
            for (old, new) in [(was, is), (low, new_low), (high, new_high)] {
                prop_assert!((new - old - effect).abs() < 1e-6, "{old} {new} {effect}");
            }
        }
    }

    #[test]
    fn the_smallest_p() {
        assert_eq!(least_p((5, 5)), 2.0 / 252.0);
        assert_eq!(least_p((16, 4)), 1.0 / 4845.0);
        assert_eq!(least_p((1, 0)), 1.0);
        assert!(least_p((500, 500)) < 1e-100);
    }
}
