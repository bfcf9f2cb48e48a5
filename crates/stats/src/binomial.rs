//! Whether a count of false positives is more than its nominal rate explains.
//!
//! Used by `--calibrate`, by the repeated A/A runs and by this crate's own
//! simulations. The caller decides what to do about an excess.

/// P(X >= `count`) for X binomial with `runs` trials of probability `rate`:
/// small when there are significantly more than the rate explains.
pub fn binomial_at_least(count: u32, runs: u32, rate: f64) -> f64 {
    1.0 - binomial_sum(count, runs, rate)
}

/// P(X <= `count`): small when there are significantly fewer, for instance of
/// intervals that cover.
pub fn binomial_at_most(count: u32, runs: u32, rate: f64) -> f64 {
    binomial_sum(count.saturating_add(1), runs, rate)
}

/// P(X < `below`).
fn binomial_sum(below: u32, runs: u32, rate: f64) -> f64 {
    if below > runs || rate <= 0.0 {
        return if below == 0 { 0.0 } else { 1.0 };
    }
    if rate >= 1.0 {
        return 0.0;
    }
    // Logs, because (1 - rate)^runs is below the least f64 for long runs.
    let (n, odds) = (f64::from(runs), rate.ln() - (-rate).ln_1p());
    let mut log_mass = n * (-rate).ln_1p();
    let mut sum = 0.0;
    for k in 0..below {
        sum += log_mass.exp();
        log_mass += (n - f64::from(k)).ln() - f64::from(k + 1).ln() + odds;
    }
    f64::min(sum, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert!((binomial_at_least(1, 3, 0.5) - 0.875).abs() < 1e-12);
        assert!((binomial_at_most(1, 3, 0.5) - 0.5).abs() < 1e-12);
        assert_eq!(binomial_at_least(0, 20, 0.05), 1.0);
        assert_eq!(binomial_at_most(20, 20, 0.05), 1.0);
        // R: pbinom(3, 20, 0.05, lower.tail = FALSE)
        assert!((binomial_at_least(4, 20, 0.05) - 0.015_901_526).abs() < 1e-6);
    }

    #[test]
    fn long_runs_do_not_underflow() {
        let half = binomial_at_most(50_000, 100_000, 0.5);
        assert!((half - 0.5).abs() < 0.01, "{half}");
    }
}
