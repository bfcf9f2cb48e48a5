//! Pressure stall information (`/proc/pressure`): how much of the time some task waited for a
//! resource.

use serde::{Deserialize, Serialize};

/// Shares of the last ten and sixty seconds, 0 to 1, in which at least one task waited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    pub some_10s: f64,
    pub some_60s: f64,
}

/// The line `some` of a file in `/proc/pressure`, whose shares are per cent.
#[must_use]
pub fn parse_pressure(text: &str) -> Option<Pressure> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let share = |name: &str| {
        let word = line
            .split_ascii_whitespace()
            .find_map(|word| word.strip_prefix(name))?;
        let per_cent: f64 = word.parse().ok()?;
        (0.0..=100.0)
            .contains(&per_cent)
            .then_some(per_cent / 100.0)
    };
    Some(Pressure {
        some_10s: share("avg10=")?,
        some_60s: share("avg60=")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_from_0_to_1() {
        let text = "some avg10=1.50 avg60=25.00 avg300=3.15 total=9984852793\n\
                    full avg10=9.00 avg60=9.00 avg300=0.00 total=0\n";
        let pressure = parse_pressure(text).unwrap();
        assert!((pressure.some_10s - 0.015).abs() < 1e-12);
        assert!((pressure.some_60s - 0.25).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_that_file_is_none() {
        for text in [
            "",
            "some\n",
            "some avg10=x avg60=1\n",
            "some avg10=101 avg60=1\n",
        ] {
            assert_eq!(parse_pressure(text), None, "{text:?}");
        }
    }
}
