//! What a run can detect, by simulating the very test it will use.
//!
//! Assumes normal log ratios where the standard deviation is assumed too: a
//! convention for planning, not for the verdict. The textbook 2.8 s/sqrt(n) is
//! far too small at few blocks, where only complete agreement is significant.
//!
//! No search is needed. Adding d to every log ratio of a simulated run moves
//! its whole interval up by d, so each run has one smallest d at which its
//! interval clears zero; the detectable effect is the quantile of those at the
//! power asked for.
//!
//! A standard deviation that was itself estimated may be too small by luck,
//! the more so where tails are heavy. So for each simulated run the estimate
//! is simulated as well, from as many values as it has degrees of freedom: the
//! power then holds over estimate and run together, whatever the true scatter
//! is, since s and d scale with it alike. That is done with normal noise and
//! with Student's t with three degrees of freedom, and the greater effect is
//! the one to print: heavy tails fool the estimate, but once they are in it
//! the rank test does better than with normal noise.
//!
//! Windows of few answers can agree to the last of them and show no scatter at
//! all, which says that they are short and not that they are exact. So no less
//! is promised than the counts could show: Poisson counts of N answers in
//! either arm leave 2.8 sqrt(2/N), about 4/sqrt(N), undetected at power 0.8. A
//! closed loop's counts are more regular than that, the more so the less its
//! requests differ; a quarter of it, 1/sqrt(N), is granted to them and no more.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal, StudentT};
use serde::{Deserialize, Serialize};

use crate::Look;
use crate::signed_rank::{critical, walsh_averages};

const RUNS: usize = 8_000;

/// So many runs leave the power uncertain; two standard errors on the safe side.
const SAFE_SIDE: f64 = 0.009;

/// Degrees of freedom of the heavy tails that measured noise may have.
const TAILS: f64 = 3.0;

/// How much the log ratios of equal arms scatter, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    pub sd: f64,
    /// Degrees of freedom of the estimate; `None` for an assumed value.
    pub freedom: Option<u32>,
    /// Answers that a window of the slower arm holds; `None` where not known.
    pub answers: Option<f64>,
}

impl Noise {
    /// Taken as known.
    pub fn assumed(sd: f64) -> Self {
        Self {
            sd,
            freedom: None,
            answers: None,
        }
    }

    /// From a comparison of so many blocks, which had a mean to estimate too.
    pub fn of_comparison(sd: f64, blocks: u32) -> Self {
        Self {
            sd,
            freedom: Some(blocks.saturating_sub(1).max(1)),
            answers: None,
        }
    }

    /// Seen in windows of so many answers.
    pub fn counted(self, answers: Option<f64>) -> Self {
        Self { answers, ..self }
    }

    /// From log ratios of equal arms, whose mean is zero by construction, so
    /// that each counts fully. `None` without any.
    pub fn of_equal_arms(log_ratios: &[f64]) -> Option<Self> {
        let squares: f64 = log_ratios.iter().map(|x| x * x).sum();
        (!log_ratios.is_empty()).then(|| Self {
            sd: (squares / log_ratios.len() as f64).sqrt(),
            freedom: u32::try_from(log_ratios.len()).ok(),
            answers: None,
        })
    }
}

/// The ratio (above 1) that a run with these looks finds with probability
/// `power`. Infinite where no effect could be detected (fewer than six blocks
/// at 0.05). It is the ratio as measured here: what identical arms differ by
/// ([`Rule::allowance`](crate::Rule::allowance)) has to be exceeded first, and
/// since that moves both ends of each interval, it adds to the effect.
pub fn mde(looks: &[Look], noise: Noise, allowance: f64, power: f64, seed: u64) -> f64 {
    let never = |look: &Look| critical(look.blocks as usize, look.alpha / 2.0).is_none();
    if looks.iter().all(never) {
        return f64::INFINITY;
    }
    let power = (power + SAFE_SIDE).min(1.0);
    let at = |tails| {
        let thresholds = thresholds(looks, noise.freedom, tails, seed);
        crate::summary::quantile(&thresholds, power).unwrap_or(f64::INFINITY)
    };
    let heavy = noise.freedom.and_then(|_| StudentT::new(TAILS).ok());
    let effect = heavy.map_or(0.0, |heavy| at(Some(heavy))).max(at(None));
    let blocks = looks.iter().map(|look| look.blocks).max().unwrap_or(0);
    let counts = noise.answers.map_or(0.0, |answers| floor(answers, blocks));
    (effect * noise.sd).max(counts).exp() * (1.0 + allowance)
}

/// The least log ratio that so many windows of so many answers could show.
fn floor(answers: f64, blocks: u32) -> f64 {
    1.0 / (answers * f64::from(blocks)).sqrt()
}

/// For each simulated run the least effect, in standard deviations as
/// estimated, at which some look's interval lies above zero.
fn thresholds(
    looks: &[Look],
    freedom: Option<u32>,
    tails: Option<StudentT<f64>>,
    seed: u64,
) -> Vec<f64> {
    let limits: Vec<(usize, usize)> = looks
        .iter()
        .filter_map(|look| {
            let blocks = look.blocks as usize;
            critical(blocks, look.alpha / 2.0).map(|(limit, _)| (blocks, limit))
        })
        .collect();
    let blocks = limits.iter().map(|(blocks, _)| *blocks).max().unwrap_or(0);
    let mut rng = crate::generator(seed);
    let draw = |rng: &mut dyn Rng| match tails {
        Some(tails) => tails.sample(rng),
        None => StandardNormal.sample(rng),
    };
    let mut noise = vec![0.0; blocks];
    let run = |_| {
        noise.fill_with(|| draw(&mut rng));
        let lowest = |&(blocks, limit): &(usize, usize)| {
            let mut averages = walsh_averages(&noise[..blocks]);
            *averages.select_nth_unstable_by(limit, f64::total_cmp).1
        };
        let least = -limits.iter().map(lowest).fold(f64::NEG_INFINITY, f64::max);
        match freedom {
            Some(values) => {
                let squares: f64 = (0..values).map(|_| draw(&mut rng).powi(2)).sum();
                least / (squares / f64::from(values)).sqrt()
            }
            None => least,
        }
    };
    (0..RUNS).map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::looks;

    fn of(blocks: u32, noise: Noise) -> f64 {
        let look = Look {
            blocks,
            alpha: 0.05,
            overall: 0.05,
        };
        mde(&[look], noise, 0.0, 0.8, 1).ln()
    }

    #[test]
    fn six_blocks_need_57_per_cent_more_than_the_textbook_says() {
        let textbook = 2.8 * 0.03 / 6.0_f64.sqrt();
        let excess = of(6, Noise::assumed(0.03)) / textbook - 1.0;
        assert!((excess - 0.57).abs() < 0.08, "{excess}");
    }

    #[test]
    fn five_blocks_detect_nothing() {
        assert_eq!(of(5, Noise::assumed(0.03)), f64::INFINITY);
    }

    #[test]
    fn what_was_guessed_from_little_promises_less() {
        let noise = |freedom| Noise {
            sd: 0.03,
            freedom: Some(freedom),
            answers: None,
        };
        let effects = [1, 2, 5, 10, 100].map(|freedom| of(8, noise(freedom)));
        assert!(effects.windows(2).all(|w| w[0] > w[1]), "{effects:?}");
        let known = of(8, Noise::assumed(0.03));
        assert!(
            (effects[4] / known - 1.0).abs() < 0.05,
            "{effects:?} {known}"
        );
    }

    #[test]
    fn equal_arms_have_no_mean_to_estimate() {
        let noise = Noise::of_equal_arms(&[0.03, -0.01, 0.02]).unwrap();
        assert!((noise.sd - (0.0014_f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!(noise.freedom, Some(3));
        assert_eq!(Noise::of_equal_arms(&[]), None);
    }

    #[test]
    fn windows_that_agree_to_the_last_answer_promise_no_more_than_their_counts() {
        let silent = Noise::of_comparison(0.0, 6);
        assert_eq!(of(6, silent), 0.0);
        let counted = |answers| of(6, silent.counted(Some(answers)));
        assert!((counted(41.0) - 1.0 / 246.0_f64.sqrt()).abs() < 1e-12);
        assert!((counted(41.0) / counted(4.0 * 41.0) - 2.0).abs() < 1e-12);
        assert_eq!(counted(0.0), f64::INFINITY);
    }

    #[test]
    fn scatter_beyond_the_counts_is_what_counts() {
        let noise = Noise::of_comparison(0.03, 6);
        assert_eq!(of(6, noise.counted(Some(1_000.0))), of(6, noise));
    }

    #[test]
    fn interim_looks_cost_a_little() {
        let noise = Noise::assumed(0.04);
        let sequential = mde(&looks(24, 0.05, 1).unwrap(), noise, 0.0, 0.8, 1).ln();
        let single = of(24, noise);
        assert!(sequential > single && sequential < 1.2 * single);
    }
}
