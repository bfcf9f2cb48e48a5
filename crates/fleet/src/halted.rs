//! The arms that are not drawn any more: the file `FILE.halted` beside an experiment's file.

use crate::experiment::Experiment;
use serde::{Deserialize, Serialize};

/// A halted arm.
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
/// What is wrong with it: it is damaged, or names an arm that cannot be halted.
pub fn parse(text: &str, experiment: &Experiment) -> Result<Vec<Halted>, String> {
    let file: File = toml::from_str(text).map_err(|e| e.to_string().trim_end().to_owned())?;
    let can_be = |arm: &str| experiment.arm(arm).is_some_and(|place| place > 0);
    match file.halted.iter().find(|one| !can_be(&one.arm)) {
        None => Ok(file.halted),
        Some(wrong) => {
            let names = experiment.arms.iter().map(|arm| arm.name.as_str());
            let others: Vec<&str> = names.skip(1).collect();
            Err(format!(
                "arm = {:?}: no arm that can be halted; the experiment's arms are {} (the first, which always runs), {}",
                wrong.arm,
                experiment.arms[0].name,
                others.join(", ")
            ))
        }
    }
}

/// The whole file.
///
/// # Errors
/// It cannot be written as TOML.
pub fn text(halted: &[Halted]) -> Result<String, String> {
    let file = File {
        halted: halted.to_vec(),
    };
    let entries = toml::to_string(&file).map_err(|e| e.to_string())?;
    Ok(format!("{HEAD}\n{entries}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "name = 'a'\nstarts = 2026-12-01T00:00:00Z\n[[arm]]\nname = 'three'\n[[arm]]\nname = 'five'\nshare = '20%'\n\
                        environment = { A = 1 }\n[[arm]]\nname = 'two'\nshare = '20%'\nenvironment = { A = 2 }\n";

    fn read(text: &str) -> Result<Vec<Halted>, String> {
        parse(text, &crate::read(FILE).unwrap())
    }

    #[test]
    fn what_is_written_is_read() {
        let halted = [Halted {
            arm: "five".to_owned(),
            at: "2026-12-03T11:05:00Z".to_owned(),
            reason: "p99 +41.0 % (+28.0 to +55.0), limit +20.0 %".to_owned(),
        }];
        assert_eq!(read(&text(&halted).unwrap()).unwrap(), halted);
        assert_eq!(read("").unwrap(), []);
        assert_eq!(read("[[halted]]\narm = 'five'\n").unwrap()[0].arm, "five");
        assert!(read("[[halted]]\nname = 'five'\n").is_err());
    }

    #[test]
    fn an_unknown_arm_and_the_first_one_are_wrong() {
        for arm in ["fife", "three"] {
            let said = read(&format!(
                "[[halted]]\narm = 'two'\n[[halted]]\narm = '{arm}'\n"
            ));
            assert_eq!(
                said.unwrap_err(),
                format!(
                    "arm = {arm:?}: no arm that can be halted; the experiment's arms are three (the first, which always runs), five, two"
                )
            );
        }
    }
}
