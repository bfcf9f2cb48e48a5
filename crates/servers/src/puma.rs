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

use crate::bundler;
use crate::error::StartError;
use crate::files::{private_file, ruby_string};
use crate::prepared::Prepared;
use crate::puma_files::{self, PumaFiles};
use crate::puma_handle::Puma;
use crate::spec::{PumaStatement, ServerSpec, Settings};

/// The words that start Puma for this application: `bundle exec puma` where its Gemfile.lock names Puma and that works,
/// else plain `puma`, as for an application that the system's packages installed.
pub fn default_puma_command(app_dir: &Path) -> Vec<String> {
    bundler::command(app_dir, "puma")
}

/// Writes the generated configuration; `words` makes the command of its path and the environment's name.
pub(crate) fn prepare(
    spec: &ServerSpec,
    env: BTreeMap<String, String>,
    words: impl FnOnce(&Path, &str) -> Vec<String>,
) -> Result<Prepared, StartError> {
    let (files, remove) = puma_files::lay_out(spec)?;
    let text = config_text(spec.settings, &spec.puma, &files);
    private_file(&files.config, &text)?;
    let words = words(&files.config, &env["RACK_ENV"]);
    let PumaFiles {
        control,
        effective,
        workers,
        ..
    } = files;
    Ok(Prepared {
        words,
        env,
        remove: remove.into(),
        handle: Box::new(Puma {
            control,
            effective,
            workers,
            asked: spec.puma.clone(),
        }),
    })
}

/// `program` with its flags; `own` is the application's configuration, `generated` ours.
pub(crate) fn words(
    program: &[String],
    own: Option<&Path>,
    settings: Settings,
    port: u16,
    generated: &Path,
) -> Vec<String> {
    let Settings {
        threads, workers, ..
    } = settings;
    let mut words = program.to_vec();
    for file in own.into_iter().chain([generated]) {
        words.extend(["-C".into(), file.display().to_string()]);
    }
    words.extend(["-b".into(), format!("tcp://127.0.0.1:{port}")]);
    words.extend(["-t".into(), format!("{threads}:{threads}")]);
    words.extend(["-w".into(), workers.to_string()]);
    words
}

/// True when the words name a configuration themselves, so that Puma looks for none.
pub(crate) fn names_config(program: &[String]) -> bool {
    program
        .iter()
        .any(|word| word == "-C" || word.starts_with("--config"))
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

/// A statement that another version of Puma may not know; the error of Ruby would name a method and no knob.
fn statement(statement: &PumaStatement) -> String {
    let PumaStatement { name, value } = statement;
    format!(
        "respond_to?(:{name}) or raise ArgumentError, \"Puma #{{Puma::Const::VERSION}} has no {name}: take puma.{name} out\"\n\
         {name} {value}\n"
    )
}

/// The generated configuration, read after the application's own.
fn config_text(settings: Settings, statements: &[PumaStatement], files: &PumaFiles) -> String {
    let preload = if settings.workers == 0 {
        String::new()
    } else {
        format!("preload_app! {}\n", settings.preload)
    };
    let set: String = statements.iter().map(statement).collect();
    let names: Vec<&str> = statements.iter().map(|statement| statement.name).collect();
    // Redirections go back to the log that powerband shows, and the pid and state files of a
    // server that runs already are left alone. JSON is written by hand: requiring a gem here would
    // settle its version before Bundler does.
    format!(
        r##"# Written by powerband for one start of the server; read after the application's own.
{preload}{set}pidfile {pid}
state_path {state}
state_permission 0o600
stdout_redirect nil, nil
activate_control_app {url}, {{ auth_token: {token} }}

configuration = @config
write = proc do
  options = configuration.options
  numbers = %i[min_threads max_threads workers].map {{ |key| format('"%s":%d', key, options[key].to_i) }}
  preload = format('"preload":%s', options[:preload_app] ? true : false)
  asked = %i[{names}].map {{ |key| format('"%s":%s', key, options[key].nil? ? "null" : options[key]) }}
  forks = format('"fork_worker":%s', options[:fork_worker] ? true : false)
  version = format('"puma":"%s"', Puma::Const::VERSION)
  path = {effective}
  File.write("#{{path}}.new", "{{#{{[*numbers, preload, forks, version, format('"options":{{%s}}', asked.join(','))].join(',')}}}}")
  File.rename("#{{path}}.new", path)
end
# Once booted nothing changes any more; its name depends on Puma's version.
booted = %i[after_booted on_booted].find {{ |name| respond_to?(name) }}
booted ? send(booted, &write) : write.call

# Only a plugin reaches the events of the master in every version of Puma.
Puma::Plugins.register("powerband_workers", Class.new(Puma::Plugin) {{
  define_method(:start) do |launcher|
    next unless launcher.options[:fork_worker]

    pids = {{}}
    launcher.events.register(:ping!) do |worker|
      next if pids[worker.index] == worker.pid
      pids[worker.index] = worker.pid
      File.write({workers}, format("{{\"index\":%d,\"pid\":%d,\"phase\":%d}}\n", worker.index, worker.pid, worker.phase), mode: "a")
    rescue SystemCallError
      # The line that is missing makes a refork look like a crash; the server goes on.
    end
  end
}})
plugin "powerband_workers"
"##,
        names = names.join(" "),
        pid = ruby_string(&files.pid.display().to_string()),
        state = ruby_string(&files.state.display().to_string()),
        url = ruby_string(&format!("unix://{}", files.control.socket.display())),
        token = ruby_string(&files.control.token),
        effective = ruby_string(&files.effective.display().to_string()),
        workers = ruby_string(&files.workers.display().to_string()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::spec::PumaValue;

    fn files() -> PumaFiles {
        PumaFiles {
            config: "/w/puma.rb".into(),
            effective: "/w/effective.json".into(),
            workers: "/w/puma-workers".into(),
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
        let settings = Settings {
            threads: 3,
            workers: 2,
            preload: false,
        };
        let own = Some(Path::new("/app/config/puma.rb"));
        let words = words(&["puma".into()], own, settings, 4000, &files().config);
        assert_eq!(
            words.join(" "),
            "puma -C /app/config/puma.rb -C /w/puma.rb -b tcp://127.0.0.1:4000 -t 3:3 -w 2"
        );
    }

    #[test]
    fn paths_cannot_break_out_of_the_generated_ruby() {
        let text = config_text(
            Settings {
                threads: 1,
                workers: 1,
                preload: true,
            },
            &[
                PumaStatement {
                    name: "wait_for_less_busy_worker",
                    value: PumaValue::Number(0.001),
                },
                PumaStatement {
                    name: "queue_requests",
                    value: PumaValue::Switch(false),
                },
            ],
            &files(),
        );
        assert!(text.contains(r"'unix:///w/it\'s.sock'"), "{text}");
        assert!(text.contains("preload_app! true"));
        for line in [
            "\nwait_for_less_busy_worker 0.001\n",
            "\nqueue_requests false\n",
            "\nrespond_to?(:queue_requests) or raise ",
            "%i[wait_for_less_busy_worker queue_requests]",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}
