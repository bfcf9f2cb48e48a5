//! Halted arms: the file `FILE.halted` in the folder of an experiment's file.

use crate::experiment::Experiment;
use run::production::Halted;
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    halted: Vec<Entry>,
}

/// An entry as people write it: only the name is required.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    arm: String,
    #[serde(default)]
    at: String,
    #[serde(default)]
    reason: String,
}

#[derive(Debug, Serialize)]
struct Written<'a> {
    halted: &'a [Halted],
}

const HEAD: &str = "# Halted arms: units that draw one get the first arm. powerband verdict --halt adds to it. Without an entry its arm is\n\
                    # drawn again, but these draws are not compared.\n";

impl From<Entry> for Halted {
    fn from(entry: Entry) -> Halted {
        Halted {
            arm: entry.arm,
            at: entry.at,
            reason: entry.reason,
        }
    }
}

/// Reads the file.
///
/// # Errors
/// What is wrong with it: it is damaged, or names an arm that cannot be halted.
pub fn parse(text: &str, experiment: &Experiment) -> Result<Vec<Halted>, String> {
    let file: File = toml::from_str(text).map_err(|e| e.to_string().trim_end().to_owned())?;
    let can_be = |arm: &str| experiment.arm(arm).is_some_and(|place| place > 0);
    match file.halted.iter().find(|one| !can_be(&one.arm)) {
        None => Ok(file.halted.into_iter().map(Entry::into).collect()),
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
    let entries = toml::to_string(&Written { halted }).map_err(|e| e.to_string())?;
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
