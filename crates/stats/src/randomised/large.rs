//! The sums of a group that is drawn from very many units.
//!
//! A permutation of a hundred thousand units takes a millisecond, and ten thousand are needed. The sums over such a group are close to
//! normal (Hoeffding 1951), with the mean and the covariance that they have over all permutations, so they are drawn from that distribution.

use super::scores::Score;
use rand::RngExt;
use rand_distr::StandardNormal;

/// The least size of a group.
const LEAST: usize = 2_000;
/// The largest part of a variance that one unit may make. With more, the sum is not near to normal, and units are permuted.
const LARGEST_PART: f64 = 0.01;

/// The distribution of the sums of weight, residual and exposure.
#[derive(Debug)]
pub(super) struct Large {
    mean: [f64; 3],
    /// Of the covariance, the lower triangle whose square it is (Cholesky).
    root: [[f64; 3]; 3],
}

impl Large {
    /// Of groups of `few` units; `None` if they are too few, or if one unit weighs too much.
    pub(super) fn of(scores: &[Score], few: usize) -> Option<Large> {
        if few < LEAST {
            return None;
        }
        let count = scores.len() as f64;
        let mut mean = [0.0; 3];
        for score in scores {
            for (sum, part) in mean.iter_mut().zip(each(score)) {
                *sum += part / count;
            }
        }
        let mut squares = [[0.0; 3]; 3];
        let mut largest = [0.0_f64; 3];
        for score in scores {
            let apart: [f64; 3] = std::array::from_fn(|of| each(score)[of] - mean[of]);
            for one in 0..3 {
                largest[one] = largest[one].max(apart[one] * apart[one]);
                for other in 0..=one {
                    squares[one][other] += apart[one] * apart[other];
                }
            }
        }
        let group = few as f64;
        let small = (0..3).all(|of| largest[of] <= LARGEST_PART * squares[of][of]);
        // Of a sum of units that are drawn without putting them back.
        let factor = group * (count - group) / (count * (count - 1.0));
        let covariance = squares.map(|row| row.map(|square| square * factor));
        small.then(|| Large {
            mean: mean.map(|mean| mean * group),
            root: cholesky(&covariance),
        })
    }

    /// Weight, residual and exposure of a group.
    pub(super) fn sums(&self, generator: &mut impl RngExt) -> [f64; 3] {
        let normal: [f64; 3] = std::array::from_fn(|_| generator.sample(StandardNormal));
        std::array::from_fn(|place| {
            let row = self.root[place].iter().zip(normal);
            self.mean[place] + row.map(|(part, drawn)| part * drawn).sum::<f64>()
        })
    }
}

/// What a unit adds to the sums.
fn each(score: &Score) -> [f64; 3] {
    let weight = score.weight;
    [weight, weight * score.residual, weight * score.exposure]
}

/// A variance below this part of it is rounding: the numbers are the same in all units, or follow from one another.
const ROUNDING: f64 = 1e-12;

fn cholesky(covariance: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let mut root = [[0.0; 3]; 3];
    for one in 0..3 {
        for other in 0..=one {
            let before: f64 = (0..other).map(|k| root[one][k] * root[other][k]).sum();
            let left = covariance[one][other] - before;
            root[one][other] = if one == other {
                if left > ROUNDING * covariance[one][one] {
                    left.sqrt()
                } else {
                    0.0
                }
            } else if root[other][other] > 0.0 {
                left / root[other][other]
            } else {
                0.0
            };
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StudentT};

    /// Units of which some are there for a short time, with heavy tails.
    fn scores(units: usize) -> Vec<Score> {
        let heavy = StudentT::new(12.0).unwrap();
        let mut random = crate::generator(3);
        let made = (0..units).map(|unit| Score {
            treated: unit % 3 == 0,
            residual: 0.05 * heavy.sample(&mut random),
            exposure: if unit % 3 == 0 { 0.7 } else { -0.3 } + 0.1 * random.random::<f64>(),
            weight: 1.0 / (1.0 + f64::from(u32::from(unit % 7 == 0))),
        });
        made.collect()
    }

    #[test]
    fn the_sums_are_those_of_permutations() {
        let scores = scores(6_000);
        let large = Large::of(&scores, 2_000).unwrap();
        let mut random = crate::generator(5);
        let drawn: Vec<[f64; 3]> = (0..4_000).map(|_| large.sums(&mut random)).collect();
        let mut order = scores.clone();
        let permuted: Vec<[f64; 3]> = (0..4_000)
            .map(|_| {
                for place in 0..2_000 {
                    let with = random.random_range(place..order.len());
                    order.swap(place, with);
                }
                order[..2_000]
                    .iter()
                    .map(each)
                    .fold([0.0; 3], |sums, unit| {
                        std::array::from_fn(|of| sums[of] + unit[of])
                    })
            })
            .collect();
        type Figure = fn(&[f64; 3]) -> f64;
        let figures: [Figure; 4] = [
            |sums| sums[0],
            |sums| sums[1],
            |sums| sums[2],
            // Also what depends on how they vary together.
            |sums| sums[2] - sums[0],
        ];
        for figure in figures {
            let of = |all: &[[f64; 3]]| {
                let mut values: Vec<f64> = all.iter().map(figure).collect();
                values.sort_by(f64::total_cmp);
                let sd = crate::summary::sd(&values).unwrap();
                (
                    crate::summary::mean(&values).unwrap(),
                    sd,
                    values[100],
                    values[3_899],
                )
            };
            let (one, other) = (of(&drawn), of(&permuted));
            // Four standard errors: of a mean, of a standard deviation, and of the quantiles at 2.5 %.
            assert!(
                (one.0 - other.0).abs() < 4.0 * one.1 * (2.0_f64 / 4_000.0).sqrt(),
                "{one:?} {other:?}"
            );
            assert!((one.1 / other.1 - 1.0).abs() < 0.065, "{one:?} {other:?}");
            for (a, b) in [(one.2, other.2), (one.3, other.3)] {
                assert!((a - b).abs() < 0.25 * one.1, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn few_units_and_a_heavy_one_are_permuted() {
        let mut some = scores(6_000);
        assert!(Large::of(&some, 1_999).is_none());
        some[7].residual = 40.0;
        assert!(Large::of(&some, 2_000).is_none());
    }
}
