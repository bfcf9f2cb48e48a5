//! What was measured of a unit in slices of time, as one number: the mean of
//! its differences from all units of the same slice.

/// One slice of one unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    pub unit: usize,
    pub slice: usize,
    /// A logarithm, so that differences are ratios.
    pub outcome: f64,
    /// How much it counts among the slices of its unit, above 0.
    pub weight: f64,
}

/// One unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Score {
    pub(super) treated: bool,
    /// The weighted mean of its outcomes, each less the slice's mean.
    pub(super) residual: f64,
    /// By how much an effect of 1 on each treated unit raises the residual:
    /// the slices' means hold a part of the effect.
    pub(super) exposure: f64,
    /// How much it counts among the units of its arm.
    pub(super) weight: f64,
}

/// Slices after which a unit counts half as much as one that was there for
/// ever. A unit's own level (its node, its neighbours) is not measured better
/// by more slices, the noise of slices is.
const HALF_WEIGHT: f64 = 4.0;

#[derive(Default, Clone, Copy)]
struct Sum {
    count: u32,
    weight: f64,
    outcome: f64,
    treated: f64,
}

impl Sum {
    fn add(&mut self, weight: f64, outcome: f64, treated: f64) {
        self.count += 1;
        self.weight += weight;
        self.outcome += weight * outcome;
        self.treated += weight * treated;
    }
}

/// The score of each unit that was measured together with another one.
pub(super) fn scores(observations: &[Observation], treated: &[bool]) -> Vec<Score> {
    let usable = |one: &&Observation| {
        one.outcome.is_finite()
            && one.weight.is_finite()
            && one.weight > 0.0
            && one.unit < treated.len()
    };
    let of = |unit: usize| if treated[unit] { 1.0 } else { 0.0 };
    let slices = observations.iter().map(|one| one.slice + 1).max();
    let mut slices = vec![Sum::default(); slices.unwrap_or(0)];
    for one in observations.iter().filter(usable) {
        slices[one.slice].add(one.weight, one.outcome, of(one.unit));
    }
    let mut units = vec![Sum::default(); treated.len()];
    for one in observations.iter().filter(usable) {
        let slice = slices[one.slice];
        // A unit alone in its slice differs from nothing.
        if slice.count < 2 {
            continue;
        }
        units[one.unit].add(
            one.weight,
            one.outcome - slice.outcome / slice.weight,
            of(one.unit) - slice.treated / slice.weight,
        );
    }
    let seen = units.iter().zip(treated).filter(|(sum, _)| sum.count > 0);
    seen.map(|(sum, &treated)| Score {
        treated,
        residual: sum.outcome / sum.weight,
        exposure: sum.treated / sum.weight,
        weight: f64::from(sum.count) / (f64::from(sum.count) + HALF_WEIGHT),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(unit: usize, slice: usize, outcome: f64, weight: f64) -> Observation {
        Observation {
            unit,
            slice,
            outcome,
            weight,
        }
    }

    #[test]
    fn by_hand() {
        let observations = [
            observation(0, 0, 1.0, 1.0),
            observation(1, 0, 3.0, 1.0),
            observation(0, 2, 5.0, 3.0),
            observation(1, 2, 9.0, 1.0),
            // Alone, not a number, without weight: each is left out.
            observation(0, 1, 100.0, 1.0),
            observation(1, 3, f64::NAN, 1.0),
            observation(0, 3, 7.0, 0.0),
        ];
        let scores = scores(&observations, &[false, true, false]);
        // Means of the slices: 2 and 6; shares of the treated: 1/2 and 1/4.
        assert_eq!(scores.len(), 2);
        assert_eq!(scores[0].residual, (-1.0 - 3.0) / 4.0);
        assert_eq!(scores[0].exposure, (-0.5 - 0.75) / 4.0);
        assert_eq!(scores[1].residual, (1.0 + 3.0) / 2.0);
        assert_eq!(scores[1].exposure, (0.5 + 0.75) / 2.0);
        assert_eq!(scores[1].weight, 2.0 / 6.0);
    }
}
