//! A prediction scored against the truth where both answered the very same
//! arrivals: series of response times of which the nth of either belong
//! together.
//!
//! The figures of a series share most of their noise with those of the other,
//! because a burst of arrivals lengthens both, so their ratio is known far
//! better than either. Moving blocks of neighbours are drawn with replacement
//! (Künsch 1989), the same from both series: requests in one queue resemble
//! each other, and the two answers to one arrival stay together.

use rand::RngExt;

use crate::error::within;
use crate::{Interval, StatsError};

/// A figure of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    Mean,
    /// The nearest rank: the least value that this share does not exceed.
    Quantile(f64),
}

/// How intervals are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draws {
    /// Blocks that a series is cut into: long ones keep what a queue remembers
    /// together, many say more of how they differ.
    pub blocks: usize,
    pub draws: usize,
    /// One minus the confidence of the two-sided interval.
    pub alpha: f64,
    pub seed: u64,
}

impl Default for Draws {
    /// 90 % intervals from 400 draws of 20 blocks.
    fn default() -> Draws {
        Draws {
            blocks: 20,
            draws: 400,
            alpha: 0.1,
            seed: 0,
        }
    }
}

/// One figure, predicted and true.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    pub predicted: f64,
    pub truth: f64,
    /// Of the truth by itself: what another sample of as many requests might
    /// have shown.
    pub truth_within: Interval,
    /// Of predicted over true, less one.
    pub error_within: Interval,
}

impl Paired {
    /// Predicted over true, less one: 0.05 is 5 % too much.
    pub fn error(&self) -> f64 {
        self.predicted / self.truth - 1.0
    }
}

/// Each figure of both series, with intervals.
///
/// # Errors
/// Series that are empty, of different lengths, or hold what is not finite and
/// above 0; an alpha outside 0..1.
pub fn paired(
    predicted: &[f64],
    truth: &[f64],
    figures: &[Figure],
    how: &Draws,
) -> Result<Vec<Paired>, StatsError> {
    within("alpha", how.alpha, (0.0, 1.0), "0..1, for instance 0.1")?;
    let count = truth.len();
    if count == 0 {
        return Err(StatsError::NoSamples);
    }
    if predicted.len() != count {
        return Err(StatsError::OutOfRange {
            name: "the number of predicted answers",
            value: predicted.len() as f64,
            limits: "that of the true ones",
        });
    }
    let both = truth.iter().chain(predicted).enumerate();
    for (index, &value) in both {
        if !(value.is_finite() && value > 0.0) {
            let index = index % count;
            return Err(StatsError::NotFinite { index, value });
        }
    }
    let at = |series: &[f64]| {
        let mut series = series.to_vec();
        figures_of(&mut series, figures)
    };
    let (centre, true_centre) = (at(predicted), at(truth));
    let drawn = drawn(predicted, truth, figures, how);
    let interval = |of: &dyn Fn(&Draw) -> f64| {
        let sample: Vec<f64> = drawn.iter().map(of).collect();
        let quantile = |q| crate::summary::quantile(&sample, q);
        let (low, high) = (quantile(how.alpha / 2.0), quantile(1.0 - how.alpha / 2.0));
        let confidence = 1.0 - how.alpha;
        let (low, high) = (low.unwrap_or(f64::NAN), high.unwrap_or(f64::NAN));
        Interval {
            low,
            high,
            confidence,
        }
    };
    let found = (0..figures.len()).map(|nth| Paired {
        predicted: centre[nth],
        truth: true_centre[nth],
        truth_within: interval(&|draw| draw.truth[nth]),
        error_within: interval(&|draw| draw.predicted[nth] / draw.truth[nth] - 1.0),
    });
    Ok(found.collect())
}

/// The figures of one draw.
struct Draw {
    predicted: Vec<f64>,
    truth: Vec<f64>,
}

fn drawn(predicted: &[f64], truth: &[f64], figures: &[Figure], how: &Draws) -> Vec<Draw> {
    let count = truth.len();
    let length = count.div_ceil(how.blocks.max(1)).max(1);
    let mut random = crate::generator(how.seed);
    let (mut ours, mut theirs) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let draw = |_| {
        ours.clear();
        theirs.clear();
        while ours.len() < count {
            let from = random.random_range(0..=count - length);
            let taken = length.min(count - ours.len());
            ours.extend_from_slice(&predicted[from..from + taken]);
            theirs.extend_from_slice(&truth[from..from + taken]);
        }
        Draw {
            predicted: figures_of(&mut ours, figures),
            truth: figures_of(&mut theirs, figures),
        }
    };
    (0..how.draws).map(draw).collect()
}

/// Leaves the series sorted.
fn figures_of(series: &mut [f64], figures: &[Figure]) -> Vec<f64> {
    series.sort_unstable_by(f64::total_cmp);
    let count = series.len();
    let of = |figure: &Figure| match *figure {
        Figure::Mean => series.iter().sum::<f64>() / count as f64,
        Figure::Quantile(q) => {
            let rank = ((q * count as f64).ceil() as usize).clamp(1, count);
            series[rank - 1]
        }
    };
    figures.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Figure; 3] = [Figure::Mean, Figure::Quantile(0.5), Figure::Quantile(0.99)];

    /// By counting, as the definition of a nearest rank has it.
    fn naive_quantile(series: &[f64], q: f64) -> f64 {
        let enough = |x: f64| {
            let below = series.iter().filter(|&&other| other <= x).count();
            below as f64 >= q * series.len() as f64
        };
        let candidates = series.iter().copied().filter(|&x| enough(x));
        candidates.fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn a_prediction_that_is_off_by_one_factor_is_off_by_it_for_certain() {
        let truth: Vec<f64> = (1..=500).map(|n| f64::from(n * 37 % 101 + 1)).collect();
        let predicted: Vec<f64> = truth.iter().map(|x| x * 1.25).collect();
        let found = paired(&predicted, &truth, &ALL, &Draws::default()).unwrap();
        for figure in found {
            assert!((figure.error() - 0.25).abs() < 1e-12);
            assert!((figure.error_within.low - 0.25).abs() < 1e-12);
            assert!((figure.error_within.high - 0.25).abs() < 1e-12);
            assert!(
                figure.truth_within.low <= figure.truth && figure.truth <= figure.truth_within.high
            );
        }
    }

    #[test]
    fn what_no_figure_can_be_of_is_refused() {
        let refused = |predicted: &[f64], truth: &[f64]| {
            paired(predicted, truth, &ALL, &Draws::default()).is_err()
        };
        assert!(refused(&[], &[]));
        assert!(refused(&[1.0], &[1.0, 2.0]));
        assert!(refused(&[f64::INFINITY], &[1.0]));
        assert!(refused(&[1.0], &[0.0]));
        assert!(!refused(&[1.0], &[1.0]));
    }

    proptest! {
        #[test]
        fn figures_are_what_counting_says(series in prop::collection::vec(0.1_f64..1e3, 1..200), q in 0.01_f64..0.999) {
            let mean = series.iter().sum::<f64>() / series.len() as f64;
            let mut sorted = series.clone();
            let found = figures_of(&mut sorted, &[Figure::Mean, Figure::Quantile(q)]);
            prop_assert!((found[0] / mean - 1.0).abs() < 1e-12);
            prop_assert_eq!(found[1], naive_quantile(&series, q));
        }

        #[test]
        fn a_seed_is_an_answer(series in prop::collection::vec(0.1_f64..1e3, 1..60), seed: u64) {
            let how = Draws { seed, draws: 20, ..Draws::default() };
            let predicted: Vec<f64> = series.iter().rev().copied().collect();
            prop_assert_eq!(paired(&predicted, &series, &ALL, &how), paired(&predicted, &series, &ALL, &how));
        }
    }
}
