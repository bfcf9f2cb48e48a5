//! A command of the user's own: a Puma that takes the generated configuration, or anything that answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use crate::control::{PumaStatus, StatusError};
use crate::error::StartError;
use crate::guard::{Guard, Remove};
use crate::handle::{Handle, Progress};
use crate::prepared::Prepared;
use crate::puma;
use crate::read_back::ReadBack;
use crate::spec::{ServerSpec, Settings};

/// Where the generated configuration's path goes.
const CONFIG: &str = "{config}";

/// A server of which nothing is known but its process.
#[derive(Debug)]
struct Silent;

impl Handle for Silent {
    fn progress(&self, _: u32) -> Progress {
        Progress::Complete
    }

    fn puma_status(&self) -> Result<PumaStatus, StatusError> {
        Err(StatusError::NoControl)
    }

    fn read_back(&self, _: Settings, _: u32) -> Result<ReadBack, StatusError> {
        Err(StatusError::NoControl)
    }

    fn workers(&self, _: u32) -> BTreeSet<u32> {
        BTreeSet::new()
    }

    fn end(&self, _: &mut Guard, _: u32, _: Duration) {}
}

/// A command that does not take the generated configuration gets none.
pub(crate) fn prepare(
    spec: &ServerSpec,
    words: &[String],
    port: u16,
    env: BTreeMap<String, String>,
) -> Result<Prepared, StartError> {
    if words.iter().any(|word| word.contains(CONFIG)) {
        return puma::prepare(spec, env, |config, _| {
            fill(words, spec.settings, port, config)
        });
    }
    Ok(Prepared {
        words: fill(words, spec.settings, port, Path::new("")),
        env,
        remove: Remove::default(),
        handle: Box::new(Silent),
    })
}

fn fill(words: &[String], settings: Settings, port: u16, config: &Path) -> Vec<String> {
    let config = config.display().to_string();
    let fill = |word: &String| {
        word.replace("{port}", &port.to_string())
            .replace("{threads}", &settings.threads.to_string())
            .replace("{workers}", &settings.workers.to_string())
            .replace(CONFIG, &config)
    };
    words.iter().map(fill).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_in_a_custom_command() {
        let words = [
            "s",
            "--bind=:{port}",
            "{threads}x{workers}",
            "{config}",
            "{other}",
        ];
        let settings = Settings {
            threads: 3,
            workers: 2,
            preload: false,
        };
        let words = fill(
            &words.map(String::from),
            settings,
            80,
            Path::new("/w/puma.rb"),
        );
        assert_eq!(words, ["s", "--bind=:80", "3x2", "/w/puma.rb", "{other}"]);
    }
}
