//! What the application's own configuration asks for, before anything is changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::{ServerCommand, Settings, prefork, puma};

/// The same of Unicorn and Pitchfork, whose class has that name; which file it is has been looked up.
const ASK_PREFORK: &str = r#"
require "json"
require "PROGRAM"
file = ARGV[0].to_s.empty? ? {} : { config_file: ARGV[0] }
set = NAME::Configurator.new(file.merge(use_defaults: true))
found = { threads: 1, workers: set[:worker_processes], preload: set.set.fetch(:preload_app, true) }
puts "\npowerband-configured #{JSON.generate(found)}"
"#;

/// `falcon serve` takes no configuration: it starts as many processes as there are processors, or as a variable says.
const ASK_FALCON: &str = r#"
require "async/container"
puts "\npowerband-configured {\"threads\":1,\"workers\":#{Async::Container.processor_count}}"
"#;

/// Lets Puma itself read the configuration: its file, `WEB_CONCURRENCY`, `RAILS_MAX_THREADS` and its
/// defaults, in Puma's own order. From Puma 7 on, options can be read only after `clamp`. The marker separates the answer from
/// what the file itself prints.
const ASK: &str = r#"
require "json"
require "puma"
require "puma/configuration"
options = ARGV[0].to_s.empty? ? {} : { config_files: [ARGV[0]] }
conf = Puma::Configuration.new(options)
conf.load
conf.clamp
found = { threads: conf.options[:max_threads], workers: conf.options[:workers], preload: conf.options[:preload_app] }
puts "\npowerband-configured #{JSON.generate(found)}"
"#;

/// How the word that names the server's program ends.
const SERVERS: [&str; 4] = ["puma", "unicorn", "pitchfork", "falcon"];

const MARKER: &str = "powerband-configured ";

#[derive(Deserialize)]
struct Found {
    threads: Option<u16>,
    workers: Option<u16>,
    preload: Option<bool>,
}

/// The application's own configuration file that `command` reads in this environment, where there is one.
#[must_use]
pub fn configuration(
    command: &ServerCommand,
    app_dir: &Path,
    environment: &str,
) -> Option<PathBuf> {
    match command {
        ServerCommand::Puma { config, .. } => {
            let given = config.as_ref().map(|name| app_dir.join(name));
            given.or_else(|| puma::own_config(app_dir, environment))
        }
        ServerCommand::Prefork(prefork) => prefork::config_of(prefork, app_dir, environment),
        // What starts a command of the user's own is usually Puma.
        ServerCommand::Custom { .. } => puma::own_config(app_dir, environment),
        ServerCommand::Passenger(_) | ServerCommand::Falcon { .. } => None,
    }
}

/// The settings that `command` would run with if it were started by hand in `app_dir` with `env`.
/// `None` for Passenger and for a command of the user's own, or where the others cannot read the configuration: then only the start
/// itself knows.
#[must_use]
pub fn configured(
    command: &ServerCommand,
    app_dir: &Path,
    env: &BTreeMap<String, String>,
) -> Option<Settings> {
    let (program, ask, config) = match command {
        ServerCommand::Puma { program, config } => (program, ASK.to_owned(), config.clone()),
        ServerCommand::Prefork(prefork) => {
            let name = env.get("RACK_ENV").map_or("production", String::as_str);
            let ask = ASK_PREFORK
                .replace("PROGRAM", prefork.server.program())
                .replace("NAME", prefork.server.name());
            let config = configuration(command, app_dir, name);
            (&prefork.program, ask, config)
        }
        ServerCommand::Falcon { program } => (program, ASK_FALCON.to_owned(), None),
        ServerCommand::Passenger(_) | ServerCommand::Custom { .. } => return None,
    };
    // Whatever starts the server starts this Ruby; its options are the server's.
    let server = program
        .iter()
        .position(|word| SERVERS.iter().any(|server| word.ends_with(server)))
        .unwrap_or(program.len().checked_sub(1)?);
    let output = Command::new(if server == 0 { "ruby" } else { &program[0] })
        .args(program.get(1..server).unwrap_or_default())
        .args((server > 0).then_some("ruby"))
        .args(["-e", &ask])
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
    use crate::{PreforkServer, PreforkSpec};

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
    fn unicorn_reads_its_own_configuration() {
        let app = tempfile::tempdir().unwrap();
        let ask = |program: &[&str]| {
            let program = program.iter().map(|word| (*word).to_string()).collect();
            let command = ServerCommand::Prefork(PreforkSpec::of(PreforkServer::Unicorn, program));
            configured(&command, app.path(), &BTreeMap::new())
        };
        let settings = |workers, preload| {
            Some(Settings {
                threads: 1,
                workers,
                preload,
            })
        };
        assert_eq!(ask(&["unicorn"]), settings(1, false), "no file at all");
        std::fs::create_dir(app.path().join("config")).unwrap();
        let text = "puts 'hello'\nworker_processes 4\npreload_app true\n";
        std::fs::write(app.path().join("config/unicorn.rb"), text).unwrap();
        assert_eq!(ask(&["unicorn"]), settings(4, true));
        std::fs::write(app.path().join("mine.rb"), "worker_processes 2\n").unwrap();
        let named = ["env", "A=b", "unicorn", "-c", "mine.rb"];
        assert_eq!(ask(&named), settings(2, false));
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
