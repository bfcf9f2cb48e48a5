//! How much of the error rate each look at a running experiment may spend.

/// Of each look but the last (Haybittle 1971; Peto et al. 1976).
pub const INTERIM_LEVEL: f64 = 0.001;
/// Of the last look: with nine before it, 4.9 % by Bonferroni's bound.
pub const LAST_LEVEL: f64 = 0.04;
/// Looks that an experiment may have.
pub const MOST_LOOKS: u32 = 10;

/// The level of a look, counted from 1, where so many arms are compared with the first.
pub fn look_level(look: u32, of: u32, comparisons: usize) -> f64 {
    let level = if look >= of {
        LAST_LEVEL
    } else {
        INTERIM_LEVEL
    };
    level / comparisons.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_spend_at_most_five_per_cent() {
        for of in 1..=MOST_LOOKS {
            for comparisons in 1..=4 {
                let spent: f64 = (1..=of).map(|look| look_level(look, of, comparisons)).sum();
                assert!(spent * comparisons as f64 <= 0.05, "{of} looks");
            }
        }
        assert_eq!(look_level(3, 10, 1), 0.001);
        assert_eq!(look_level(10, 10, 2), 0.02);
    }
}
