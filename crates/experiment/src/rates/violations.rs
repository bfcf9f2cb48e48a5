//! What windows prove of a violation rate.

/// One minus the confidence of the two-sided intervals of the violation rate, so 2.5 % on either side.
pub const ALPHA: f64 = 0.05;

/// The interval of a violation rate behind trials.
pub fn judge(allowed: f64, seed: u64, alpha: f64) -> impl Fn(&[(u64, u64)]) -> (f64, f64) {
    move |trials| {
        let rule = stats::ViolationRule {
            objective_rate: allowed,
            alpha,
            seed,
        };
        // No trial without requests gets here; were it so, nothing would be sure.
        stats::meets(trials, &rule).map_or((0.0, 1.0), |f| (f.interval.low, f.interval.high))
    }
}
