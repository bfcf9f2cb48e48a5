//! How much one block's log ratio scatters when nothing differs.
//!
//! Needed before a run, to say what it can detect. After the run the data
//! speak for themselves: `Comparison::sd_log_ratio`.

/// The scatter assumed where nothing was measured, 4 % a block: a convention,
/// to be replaced by a pilot, not the finding of one.
const DEFAULT_SD: f64 = 0.04;

/// The default counts as much as three pilot pairs.
const DEFAULT_WEIGHT: f64 = 3.0;

/// The stated default: the standard deviation of an A/A log ratio, 0.04.
pub fn default_sd() -> f64 {
    DEFAULT_SD
}

/// The standard deviation from pilot A/A pairs, drawn towards the default
/// while they are few: one pair can agree by luck to a tenth of a per cent,
/// and a plan that believed it would promise the impossible.
///
/// The mean of A/A log ratios is zero by construction, so each pair is a
/// degree of freedom of its own: s² = (3 d² + sum x²) / (3 + n), the posterior
/// scale of a scaled inverse chi-square prior with three degrees of freedom.
pub fn pilot_sd(log_ratios: &[f64]) -> f64 {
    let squares: f64 = log_ratios.iter().map(|x| x * x).sum();
    let weight = DEFAULT_WEIGHT + log_ratios.len() as f64;
    ((DEFAULT_WEIGHT * DEFAULT_SD * DEFAULT_SD + squares) / weight).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_pairs_it_is_the_default() {
        assert!((pilot_sd(&[]) - default_sd()).abs() < 1e-15);
    }

    #[test]
    fn a_lucky_pair_does_not_promise_silence() {
        assert!(pilot_sd(&[0.0]) > 0.8 * default_sd());
    }

    #[test]
    fn many_pairs_outweigh_the_default() {
        let quiet: Vec<f64> = (0..100)
            .map(|i| if i % 2 == 0 { 0.01 } else { -0.01 })
            .collect();
        assert!((pilot_sd(&quiet) - 0.01).abs() < 0.003);
    }
}
