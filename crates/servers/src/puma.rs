//! The command line, the environment and the generated configuration that make a Puma run with the
//! settings asked for. Read in the sources of Puma 6.6 (`configuration.rb`, `cli.rb`, `dsl.rb`):
//!
//! - flags win over every configuration file, files over the environment;
//! - several `-C` files are read in order into one set of options, so that the last one wins, but
//!   once any is given Puma no longer looks for the application's own: it must be named too;
//! - preload has a flag to turn it on and none to turn it off, and its default depends on whether
//!   the number of workers came from the environment: only a file can say it either way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::agent;
use crate::control::Control;
use crate::spec::{ServerCommand, ServerSpec, Settings};

/// The words that start Puma for this application: `bundle exec puma` where its Gemfile.lock names
/// Puma and that works, else plain `puma`. An application installed by the system's packages (below
/// `/usr/share` or `/usr/lib`) gets plain `puma`: its gems are the system's, and its Gemfile.lock is
/// not the user's to resolve.
pub fn default_puma_command(app_dir: &Path) -> Vec<String> {
    let words: &[&str] = if wants_bundler(app_dir) {
        &["bundle", "exec", "puma"]
    } else {
        &["puma"]
    };
    words.iter().map(|word| (*word).to_string()).collect()
}

fn wants_bundler(app_dir: &Path) -> bool {
    let real = app_dir
        .canonicalize()
        .unwrap_or_else(|_| app_dir.to_path_buf());
    if ["/usr/share", "/usr/lib"]
        .iter()
        .any(|system| real.starts_with(system))
    {
        return false;
    }
    if !app_dir.join("Gemfile").is_file() {
        return false;
    }
    let lock = std::fs::read_to_string(app_dir.join("Gemfile.lock")).unwrap_or_default();
    lock.lines().any(|line| line.starts_with("    puma (")) && bundler_works(app_dir)
}

fn bundler_works(app_dir: &Path) -> bool {
    Command::new("bundle")
        .args(["exec", "puma", "--version"])
        .current_dir(app_dir)
        // Looking must not rewrite the application's Gemfile.lock.
        .env("BUNDLE_FROZEN", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The files of one start that Puma is told of.
#[derive(Debug, Clone)]
pub(crate) struct PumaFiles {
    /// The generated configuration.
    pub(crate) config: PathBuf,
    /// Where Puma writes, once booted, which settings it ended up with.
    pub(crate) effective: PathBuf,
    pub(crate) pid: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) control: Control,
}

/// The words to execute.
pub(crate) fn words(
    spec: &ServerSpec,
    port: u16,
    files: &PumaFiles,
    env_name: &str,
) -> Vec<String> {
    let Settings {
        threads, workers, ..
    } = spec.settings;
    match &spec.command {
        ServerCommand::Custom { words } => {
            let config = files.config.display().to_string();
            let fill = |word: &String| {
                word.replace("{port}", &port.to_string())
                    .replace("{threads}", &threads.to_string())
                    .replace("{workers}", &workers.to_string())
                    .replace("{config}", &config)
            };
            words.iter().map(fill).collect()
        }
        ServerCommand::Puma { program, config } => {
            let mut words = program.clone();
            let named = program
                .iter()
                .any(|word| word == "-C" || word.starts_with("--config"));
            let config = config.clone().or_else(|| {
                if named {
                    None
                } else {
                    own_config(&spec.app_dir, env_name)
                }
            });
            for file in config.iter().chain([&files.config]) {
                words.extend(["-C".into(), file.display().to_string()]);
            }
            words.extend(["-b".into(), format!("tcp://127.0.0.1:{port}")]);
            words.extend(["-t".into(), format!("{threads}:{threads}")]);
            words.extend(["-w".into(), workers.to_string()]);
            words
        }
    }
}

/// True when the generated configuration is among the words, so that the status can be read.
pub(crate) fn is_controlled(command: &ServerCommand) -> bool {
    match command {
        ServerCommand::Puma { .. } => true,
        ServerCommand::Custom { words } => words.iter().any(|word| word.contains("{config}")),
    }
}

/// The file that Puma would find by itself.
pub fn own_config(app_dir: &Path, env_name: &str) -> Option<PathBuf> {
    [
        format!("config/puma/{env_name}.rb"),
        "config/puma.rb".into(),
    ]
    .iter()
    .map(|name| app_dir.join(name))
    .find(|path| path.is_file())
}

/// The server's environment on top of powerband's own (`inherited` looks that up): what the user
/// gave, then the settings under test, which win.
pub(crate) fn environment(
    spec: &ServerSpec,
    port: u16,
    inherited: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, String> {
    let mut env = spec.env.clone();
    let given = |key: &str| env.get(key).cloned().or_else(|| inherited(key));
    let rails = given("RAILS_ENV");
    let rack = given("RACK_ENV");
    let name = rails
        .clone()
        .or_else(|| rack.clone())
        .unwrap_or_else(|| "production".into());
    let injected = spec.agent.as_ref().map(|agent| {
        agent::injection(
            &agent.lib_dir,
            &agent.ext_path,
            Some(&agent.flight_dir),
            given,
        )
    });
    env.insert("RAILS_ENV".into(), rails.unwrap_or_else(|| name.clone()));
    env.insert("RACK_ENV".into(), rack.unwrap_or(name));
    let threads = spec.settings.threads.to_string();
    env.insert("RAILS_MAX_THREADS".into(), threads.clone());
    env.insert("RAILS_MIN_THREADS".into(), threads);
    env.insert("WEB_CONCURRENCY".into(), spec.settings.workers.to_string());
    env.insert("PORT".into(), port.to_string());
    env.extend(
        injected
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.to_string(), value)),
    );
    env
}

/// The generated configuration, read after the application's own.
pub(crate) fn config_text(settings: Settings, files: &PumaFiles) -> String {
    let preload = if settings.workers == 0 {
        String::new()
    } else {
        format!("preload_app! {}\n", settings.preload)
    };
    // Redirections go back to the log that powerband shows, and the pid and state files of a
    // server that runs already are left alone. JSON is written by hand: requiring a gem here would
    // settle its version before Bundler does.
    format!(
        r##"# Written by powerband for one start of the server; read after the application's own.
{preload}pidfile {pid}
state_path {state}
state_permission 0o600
stdout_redirect nil, nil
activate_control_app {url}, {{ auth_token: {token} }}

configuration = @config
write = proc do
  options = configuration.options
  numbers = %i[min_threads max_threads workers].map {{ |key| format('"%s":%d', key, options[key].to_i) }}
  preload = format('"preload":%s', options[:preload_app] ? true : false)
  version = format('"puma":"%s"', Puma::Const::VERSION)
  path = {effective}
  File.write("#{{path}}.new", "{{#{{[*numbers, preload, version].join(',')}}}}")
  File.rename("#{{path}}.new", path)
end
# Once booted nothing changes any more; its name depends on Puma's version.
booted = %i[after_booted on_booted].find {{ |name| respond_to?(name) }}
booted ? send(booted, &write) : write.call
"##,
        pid = ruby_string(&files.pid.display().to_string()),
        state = ruby_string(&files.state.display().to_string()),
        url = ruby_string(&format!("unix://{}", files.control.socket.display())),
        token = ruby_string(&files.control.token),
        effective = ruby_string(&files.effective.display().to_string()),
    )
}

/// A Ruby literal without interpolation.
fn ruby_string(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::GuardProgram;
    use crate::spec::Agent;

    fn spec(command: ServerCommand) -> ServerSpec {
        let guard = GuardProgram {
            exe: "/proc/self/exe".into(),
            arg: "guard".into(),
        };
        let settings = Settings {
            threads: 3,
            workers: 2,
            preload: false,
        };
        ServerSpec {
            command,
            ..ServerSpec::new("/nowhere", settings, "/nowhere/work", guard)
        }
    }

    fn files() -> PumaFiles {
        PumaFiles {
            config: "/w/puma.rb".into(),
            effective: "/w/effective.json".into(),
            pid: "/w/puma.pid".into(),
            state: "/w/puma.state".into(),
            control: Control {
                socket: "/w/it's.sock".into(),
                token: "t".into(),
            },
        }
    }

    #[test]
    fn the_generated_configuration_comes_after_the_applications() {
        let command = ServerCommand::Puma {
            program: vec!["puma".into()],
            config: Some("/app/config/puma.rb".into()),
        };
        let words = words(&spec(command), 4000, &files(), "production").join(" ");
        assert_eq!(
            words,
            "puma -C /app/config/puma.rb -C /w/puma.rb -b tcp://127.0.0.1:4000 -t 3:3 -w 2"
        );
    }

    #[test]
    fn placeholders_are_filled_in_a_custom_command() {
        let words_given = [
            "s",
            "--bind=:{port}",
            "{threads}x{workers}",
            "{config}",
            "{other}",
        ];
        let command = ServerCommand::Custom {
            words: words_given.map(String::from).to_vec(),
        };
        assert!(is_controlled(&command));
        let words = words(&spec(command), 80, &files(), "production");
        assert_eq!(words, ["s", "--bind=:80", "3x2", "/w/puma.rb", "{other}"]);
    }

    #[test]
    fn the_settings_win_over_the_environment_and_the_agent_goes_first() {
        let mut spec = spec(ServerCommand::Custom { words: vec![] });
        spec.env.insert("RAILS_MAX_THREADS".into(), "50".into());
        spec.agent = Some(Agent {
            lib_dir: "/gem/lib".into(),
            ext_path: "/ext.so".into(),
            flight_dir: "/flight".into(),
        });
        let inherited = |key: &str| match key {
            "RUBYOPT" => Some("-W0".to_string()),
            "RACK_ENV" => Some("staging".to_string()),
            _ => None,
        };
        let env = environment(&spec, 4000, inherited);
        for (key, value) in [
            ("RAILS_MAX_THREADS", "3"),
            ("RAILS_MIN_THREADS", "3"),
            ("WEB_CONCURRENCY", "2"),
            ("PORT", "4000"),
            ("RAILS_ENV", "staging"),
            ("RACK_ENV", "staging"),
            ("RUBYOPT", "-rpowerband/inject -W0"),
            ("RUBYLIB", "/gem/lib"),
            ("POWERBAND_EXT", "/ext.so"),
            ("POWERBAND_DIR", "/flight"),
        ] {
            assert_eq!(env.get(key).map(String::as_str), Some(value), "{key}");
        }
    }

    #[test]
    fn paths_cannot_break_out_of_the_generated_ruby() {
        let text = config_text(
            Settings {
                threads: 1,
                workers: 1,
                preload: true,
            },
            &files(),
        );
        assert!(text.contains(r"'unix:///w/it\'s.sock'"), "{text}");
        assert!(text.contains("preload_app! true"));
    }

    #[test]
    fn an_application_without_a_lock_and_one_of_the_system_get_plain_puma() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("Gemfile"), "gem 'puma'\n").unwrap();
        assert_eq!(default_puma_command(dir.path()), ["puma"]);
        assert_eq!(
            default_puma_command(Path::new("/usr/share/redmine")),
            ["puma"]
        );
    }
}
