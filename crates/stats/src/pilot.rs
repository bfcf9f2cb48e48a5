//! What a run is going to detect, from the little that is known before it.
//!
//! After the run the data speak for themselves: `Comparison::sd_log_ratio`.

use serde::{Deserialize, Serialize};

use crate::{Look, Noise, mde};

/// The scatter assumed where nothing was measured, 4 % a block: a convention,
/// to be replaced by a pilot, not the finding of one.
pub const DEFAULT_SD: f64 = 0.04;

/// Below so many pairs no less is promised than the default allows: one pair
/// can agree by luck to a tenth of a per cent.
const FEW: usize = 3;

/// What equal arms have shown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EqualArms<'a> {
    /// One log ratio a pair.
    pub log_ratios: &'a [f64],
    /// Answers that a window of the coming blocks will hold, as far as is known.
    pub answers: Option<f64>,
}

/// The noise that was reckoned with, and the effect that follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Foreseen {
    /// Its degrees of freedom are `None` when it is the default.
    pub noise: Noise,
    /// Minimum detectable effect, a ratio above 1.
    pub effect: f64,
}

/// The detectable effect of a run with these looks, from what equal arms have
/// shown, or from the stated default without any. Of fewer than three pairs
/// whichever of both promises less counts.
///
/// `allowance` is what a widened calibration takes off, see [`mde`].
pub fn foresee(
    looks: &[Look],
    equal_arms: EqualArms<'_>,
    allowance: f64,
    power: f64,
    seed: u64,
) -> Foreseen {
    let with = |noise: Noise| {
        let noise = noise.counted(equal_arms.answers);
        Foreseen {
            noise,
            effect: mde(looks, noise, allowance, power, seed),
        }
    };
    let default = || with(Noise::assumed(DEFAULT_SD));
    let Some(measured) = Noise::of_equal_arms(equal_arms.log_ratios).map(with) else {
        return default();
    };
    if equal_arms.log_ratios.len() >= FEW {
        return measured;
    }
    let default = default();
    if default.effect > measured.effect {
        default
    } else {
        measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[f64]) -> Foreseen {
        counted(pairs, None)
    }

    fn counted(log_ratios: &[f64], answers: Option<f64>) -> Foreseen {
        let equal_arms = EqualArms {
            log_ratios,
            answers,
        };
        foresee(&crate::looks(6, 0.05, 1).unwrap(), equal_arms, 0.0, 0.8, 1)
    }

    #[test]
    fn short_windows_that_agree_promise_no_silence() {
        assert_eq!(of(&[0.0; 6]).effect, 1.0);
        assert!(counted(&[0.0; 6], Some(41.0)).effect > 1.06);
    }

    #[test]
    fn without_pairs_it_is_the_default() {
        assert_eq!(of(&[]).noise, Noise::assumed(DEFAULT_SD));
    }

    #[test]
    fn a_lucky_pair_does_not_promise_silence() {
        assert_eq!(of(&[0.0]), of(&[]));
    }

    #[test]
    fn a_noisy_pair_promises_less_than_the_default() {
        let noisy = of(&[0.05]);
        assert!(
            noisy.effect > 1.2 && noisy.noise.freedom == Some(1),
            "{noisy:?}"
        );
    }

    #[test]
    fn many_quiet_pairs_outweigh_the_default() {
        let quiet: Vec<f64> = (0..10)
            .map(|i| if i % 2 == 0 { 0.01 } else { -0.01 })
            .collect();
        assert!(of(&quiet).effect < 1.03);
    }
}
