//! What the application's own configuration asks for, before anything is changed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::{ServerCommand, Settings};

/// Lets Puma itself read the configuration: its file, `WEB_CONCURRENCY`, `RAILS_MAX_THREADS` and its
/// defaults, in Puma's own order. The marker keeps apart whatever the file itself prints.
const ASK: &str = r#"
require "json"
require "puma"
require "puma/configuration"
options = ARGV[0].to_s.empty? ? {} : { config_files: [ARGV[0]] }
conf = Puma::Configuration.new(options)
conf.load
found = { threads: conf.options[:max_threads], workers: conf.options[:workers], preload: conf.options[:preload_app] }
puts "\npowerband-configured #{JSON.generate(found)}"
"#;

const MARKER: &str = "powerband-configured ";

#[derive(Deserialize)]
struct Found {
    threads: Option<u16>,
    workers: Option<u16>,
    preload: Option<bool>,
}

/// The settings that `command` would run with if it were started by hand in `app_dir` with `env`.
/// `None` for a custom command, or where Puma cannot read the configuration: then only the start
/// itself can tell.
#[must_use]
pub fn configured(
    command: &ServerCommand,
    app_dir: &Path,
    env: &BTreeMap<String, String>,
) -> Option<Settings> {
    let ServerCommand::Puma { program, config } = command else {
        return None;
    };
    let mut words = program.clone();
    *words.last_mut()? = "ruby".into();
    let (first, rest) = words.split_first()?;
    let output = Command::new(first)
        .args(rest)
        .args(["-e", ASK])
        .args(config.as_deref().unwrap_or(Path::new("")).to_str())
        .current_dir(app_dir)
        .envs(env)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    parse(&String::from_utf8_lossy(&output.stdout))
}

fn parse(printed: &str) -> Option<Settings> {
    let line = printed.lines().find_map(|line| line.strip_prefix(MARKER))?;
    let found: Found = serde_json::from_str(line).ok()?;
    let workers = found.workers.unwrap_or(0);
    Some(Settings {
        threads: found.threads.filter(|threads| *threads > 0)?,
        workers,
        preload: workers > 0 && found.preload.unwrap_or(false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puma_reads_its_own_configuration() {
        let app = tempfile::tempdir().unwrap();
        std::fs::create_dir(app.path().join("config")).unwrap();
        let text = "puts 'hello'\nthreads 2, 7\nworkers 3\npreload_app! false\n";
        std::fs::write(app.path().join("config/puma.rb"), text).unwrap();
        let command = ServerCommand::Puma {
            program: vec!["puma".into()],
            config: None,
        };
        let found = configured(&command, app.path(), &BTreeMap::new());
        assert_eq!(
            found,
            Some(Settings {
                threads: 7,
                workers: 3,
                preload: false
            })
        );
    }

    #[test]
    fn a_configuration_that_raises_says_nothing() {
        let app = tempfile::tempdir().unwrap();
        let config = app.path().join("mine.rb");
        std::fs::write(&config, "raise 'no'\n").unwrap();
        let command = ServerCommand::Puma {
            program: vec!["puma".into()],
            config: Some(config),
        };
        assert_eq!(configured(&command, app.path(), &BTreeMap::new()), None);
    }
}
