//! How much one trial scatters, from everything that has shown it.

use crate::Noise;
use crate::pilot::DEFAULT_SD;

/// What is taken where nothing was seen: the log ratio of two equal trials scatters as before a pilot; as sure as two pairs
/// would be.
const DEFAULT: Scatter = Scatter {
    squares: 2.0 * DEFAULT_SD * DEFAULT_SD / 2.0,
    freedom: 2,
};

/// Squares of one trial's deviations, and their degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scatter {
    pub squares: f64,
    pub freedom: u32,
}

impl Scatter {
    /// From log ratios of equal arms, each of which has the variance of two trials.
    pub fn of(noise: Option<Noise>) -> Scatter {
        noise.map_or(Scatter::default(), |noise| {
            let freedom = noise.freedom.unwrap_or(DEFAULT.freedom);
            Scatter {
                squares: f64::from(freedom) * noise.sd * noise.sd / 2.0,
                freedom,
            }
        })
    }

    /// What arms and blocks leave unexplained, over the arms that ran in every block.
    pub fn two_way(blocks: &[Vec<Option<f64>>]) -> Scatter {
        let arms = blocks.first().map_or(0, Vec::len);
        let whole: Vec<Vec<f64>> = (0..arms)
            .filter_map(|arm| blocks.iter().map(|block| block[arm]).collect())
            .collect();
        if whole.len() < 2 || blocks.len() < 2 {
            return Scatter::default();
        }
        let mean = |values: &mut dyn Iterator<Item = f64>, count: usize| {
            values.sum::<f64>() / count as f64
        };
        let of_block: Vec<f64> = (0..blocks.len())
            .map(|block| mean(&mut whole.iter().map(|arm| arm[block]), whole.len()))
            .collect();
        let overall = mean(&mut of_block.iter().copied(), blocks.len());
        let left = whole.iter().flat_map(|arm| {
            let of_arm = mean(&mut arm.iter().copied(), blocks.len());
            let of_block = &of_block;
            arm.iter()
                .enumerate()
                .map(move |(block, x)| x - of_arm - of_block[block] + overall)
        });
        Scatter {
            squares: left.map(|x| x * x).sum(),
            freedom: ((whole.len() - 1) * (blocks.len() - 1)) as u32,
        }
    }

    /// Seen in windows of so many seconds, as it would be in windows of one: the variance of a count goes with one over its
    /// window's length.
    #[must_use]
    pub fn in_one_second(self, window_s: f64) -> Scatter {
        Scatter {
            squares: self.squares * window_s,
            ..self
        }
    }

    /// The log ratios of equal arms that have this scatter in windows of one second, in windows of so many; `None` where nothing
    /// was seen.
    pub fn noise_in(self, window_s: f64) -> Option<Noise> {
        (self.freedom > 0).then(|| Noise {
            sd: (2.0 * self.squares / f64::from(self.freedom) / window_s).sqrt(),
            freedom: Some(self.freedom),
            answers: None,
        })
    }

    /// What several have shown together.
    #[must_use]
    pub fn and(self, other: Scatter) -> Scatter {
        Scatter {
            squares: self.squares + other.squares,
            freedom: self.freedom + other.freedom,
        }
    }

    /// The variance of one trial, and how well it is known. Trials that agree to the last digit are short, not exact, so
    /// it is never quite nothing.
    pub fn variance(self) -> (f64, u32) {
        let known = if self.freedom == 0 { DEFAULT } else { self };
        let variance = known.squares / f64::from(known.freedom);
        (variance.max(1e-12), known.freedom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_and_blocks_explain_what_they_can() {
        let blocks = |bump: f64| {
            vec![
                vec![Some(1.0), Some(2.0), Some(4.0 + bump)],
                vec![Some(3.0), Some(4.0), Some(6.0)],
            ]
        };
        assert!(Scatter::two_way(&blocks(0.0)).squares < 1e-20);
        // By hand: the residuals are ±bump/6, ±bump/6 and ±bump/3.
        let found = Scatter::two_way(&blocks(0.6));
        assert!((found.squares - (4.0 * 0.01 + 2.0 * 0.04)).abs() < 1e-12);
        assert_eq!(found.freedom, 2);
    }

    #[test]
    fn longer_windows_have_less_noise() {
        let pair = Noise::of_equal_arms(&[0.06]);
        let seen = Scatter::of(pair).in_one_second(4.0);
        let found = seen.noise_in(4.0).unwrap();
        assert!((found.sd - 0.06).abs() < 1e-12 && found.freedom == Some(1));
        assert!((seen.noise_in(16.0).unwrap().sd - 0.03).abs() < 1e-12);
        assert_eq!(Scatter::default().noise_in(4.0), None);
    }

    #[test]
    fn an_arm_that_missed_a_block_says_nothing() {
        let blocks = [vec![Some(1.0), None], vec![Some(3.0), Some(9.0)]];
        assert_eq!(Scatter::two_way(&blocks), Scatter::default());
        assert!((Scatter::default().variance().0 - 0.0008).abs() < 1e-12);
    }
}
