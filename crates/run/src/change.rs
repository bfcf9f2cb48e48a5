//! Ratios as changes, as sentences and tables have them.

/// A ratio as a change: `+4.2 %`, `+302 %`.
pub fn rounded_change(ratio: f64) -> String {
    format!("{} %", percent(ratio))
}

fn percent(ratio: f64) -> String {
    match (ratio - 1.0) * 100.0 {
        p if p.abs() >= 99.5 => format!("{p:+.0}"),
        p => format!("{p:+.1}"),
    }
}

/// `+12.0 % (+8.0 to +16.0)`, or the estimate alone with what is missing.
pub fn change_with_interval(ratio: f64, low: Option<f64>, high: Option<f64>) -> String {
    let change = rounded_change(ratio);
    match (low, high) {
        (Some(low), Some(high)) => format!("{change} ({} to {})", percent(low), percent(high)),
        _ => format!("{change} (no interval)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_a_change_in_per_cent() {
        assert_eq!(rounded_change(4.02), "+302 %");
        assert_eq!(
            change_with_interval(1.12, Some(1.08), Some(1.16)),
            "+12.0 % (+8.0 to +16.0)"
        );
        assert_eq!(
            change_with_interval(0.9, None, None),
            "-10.0 % (no interval)"
        );
    }
}
