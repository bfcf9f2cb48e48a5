//! The arms that are not drawn any more: the file `FILE.halted` beside an experiment's file.

use serde::{Deserialize, Serialize};

/// An arm that was sent home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Halted {
    /// Its name.
    pub arm: String,
    /// UTC time, RFC 3339.
    #[serde(default)]
    pub at: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    halted: Vec<Halted>,
}

const HEAD: &str = "# Arms that are not drawn any more: units that draw one get the first arm. powerband verdict --halt adds to it; remove an\n\
                    # entry to draw its arm again.\n";

/// Reads the file.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Vec<Halted>, String> {
    let file: Result<File, _> = toml::from_str(text);
    file.map(|file| file.halted)
        .map_err(|e| e.to_string().trim_end().to_owned())
}

/// The whole file.
pub fn text(halted: &[Halted]) -> String {
    let file = File {
        halted: halted.to_vec(),
    };
    format!("{HEAD}\n{}", toml::to_string(&file).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let halted = [Halted {
            arm: "five".to_owned(),
            at: "2026-12-03T11:05:00Z".to_owned(),
            reason: "p99 +41.0 % (+28.0 to +55.0), limit +20.0 %".to_owned(),
        }];
        assert_eq!(parse(&text(&halted)).unwrap(), halted);
        assert_eq!(parse("").unwrap(), []);
        assert_eq!(parse("[[halted]]\narm = 'five'\n").unwrap()[0].arm, "five");
        assert!(parse("[[halted]]\nname = 'five'\n").is_err());
    }
}
