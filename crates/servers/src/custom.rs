//! A command of the user's own: a Puma that takes the generated configuration, or anything that answers.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::StartError;
use crate::guard::Remove;
use crate::handle::Handle;
use crate::prepared::Prepared;
use crate::puma;
use crate::spec::{ServerSpec, Settings};

/// Where the generated configuration's path goes.
const CONFIG: &str = "{config}";

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
        handle: Handle::Silent,
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
