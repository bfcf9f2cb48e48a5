//! The environment's name (`production`) of a server that runs, from what `/proc` and the application's files show.
//!
//! The precedence is the servers' own. Puma takes `-e`, then `environment` in its configuration, then `APP_ENV`, `RACK_ENV`
//! and `RAILS_ENV` (`Puma::Configuration`), and sets `RACK_ENV`; `rails server`, Unicorn and Pitchfork take their option, then
//! `RACK_ENV`. Rails itself takes `RAILS_ENV` before all of these, save where `unicorn_rails` or Passenger set it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use host::Known;

use crate::config_files::ConfigFile;
use crate::server_command::{Program, ServerWords};

/// Variables that name it, for a server that is not known by its name.
const VARIABLES: &[&str] = &["RAILS_ENV", "RACK_ENV", "APP_ENV"];
/// What `rails server -e prod` may stand for.
const RAILS_USUAL: &[&str] = &["production", "development", "test"];

/// The name, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// The name, and where it is from.
    As { name: String, from: String },
    /// Nothing says it: Rails, Rack and Puma take `development`.
    Unset,
    /// Something may say it that cannot be seen; the reason.
    NotSeen(String),
}

impl Named {
    pub(crate) fn by(name: &str, from: impl Into<String>) -> Named {
        let (name, from) = (name.to_owned(), from.into());
        Named::As { name, from }
    }
}

/// What there is to see of a server.
pub struct Clues<'a> {
    pub pid: u32,
    /// Its command line, then those of the processes above it.
    pub commands: &'a [Vec<String>],
    pub variables: &'a BTreeMap<String, String>,
    /// `config/**/*.rb`.
    pub config_files: &'a Known<Vec<ConfigFile>>,
    /// Those of all its processes.
    pub open_files: &'a Known<BTreeSet<PathBuf>>,
    /// Threads serve: the application is loaded.
    pub serves: bool,
}

impl Clues<'_> {
    /// The environment's name.
    #[must_use]
    pub fn named(&self) -> Named {
        let titled = self.commands.first().is_some_and(|words| is_title(words));
        let command = self
            .commands
            .iter()
            .filter(|words| !is_title(words))
            .find_map(|words| ServerWords::of(words));
        let program = command.as_ref().map(|command| command.program);
        let option = command.as_ref().and_then(|command| {
            let (flag, value) = command.environment()?;
            let name = match command.program {
                Program::RailsServer => self.completed(value),
                _ => value,
            };
            Some(Named::by(name, format!("{flag} on its command line")))
        });
        let sets_rails_env = matches!(program, Some(Program::UnicornRails | Program::Passenger));
        if let (true, Some(found)) = (sets_rails_env, &option) {
            return found.clone();
        }
        if let (true, Some(found)) = (self.is_rails(), self.variable("RAILS_ENV")) {
            return found;
        }
        if let Some(found) = option {
            return found;
        }
        let hidden = titled && command.is_none();
        if let (true, Some(found)) = (hidden, self.by_logs()) {
            return found;
        }
        let is_puma = program.map_or(titled, |program| program == Program::Puma);
        if let (true, Some(found)) = (is_puma, self.by_puma_file(command.as_ref())) {
            return found;
        }
        let variables: &[&str] = match program {
            _ if is_puma => &["APP_ENV", "RACK_ENV", "RAILS_ENV"],
            Some(_) => &["RACK_ENV"],
            None => VARIABLES,
        };
        if let Some(found) = variables.iter().find_map(|name| self.variable(name)) {
            return found;
        }
        if hidden {
            return Named::NotSeen(format!(
                "process {} shows Puma's title instead of its command line, so that -e cannot be seen, and neither {} nor \
                 config/puma.rb names the environment; set RAILS_ENV",
                self.pid,
                VARIABLES.join(", ")
            ));
        }
        Named::Unset
    }

    fn variable(&self, name: &str) -> Option<Named> {
        let value = self.variables.get(name).filter(|v| !v.trim().is_empty())?;
        Some(Named::by(value, format!("{name} of process {}", self.pid)))
    }

    fn files(&self) -> impl Iterator<Item = &ConfigFile> {
        self.config_files.iter().flatten()
    }

    fn file(&self, place: &str) -> Option<&ConfigFile> {
        self.files().find(|file| file.place == place)
    }

    /// Where the files cannot be read it may be one.
    fn is_rails(&self) -> bool {
        self.config_files.is_err()
            || self.file("config/application.rb").is_some()
            || self.environments().next().is_some()
    }

    /// The names of `config/environments/*.rb`.
    fn environments(&self) -> impl Iterator<Item = &str> {
        self.files().filter_map(|file| {
            let name = file.place.strip_prefix("config/environments/")?;
            name.strip_suffix(".rb").filter(|name| !name.contains('/'))
        })
    }

    /// As Rails completes `prod`.
    fn completed<'a>(&'a self, value: &'a str) -> &'a str {
        if self.environments().any(|name| name == value) {
            return value;
        }
        let usual = RAILS_USUAL.iter().find(|name| name.starts_with(value));
        usual.copied().unwrap_or(value)
    }

    /// Rails opens `log/<environment>.log` unless a file names another logger.
    fn by_logs(&self) -> Option<Named> {
        let open = self.open_files.as_ref().ok().filter(|_| self.serves)?;
        let is_open = |name: &str| {
            let log = format!("log/{name}.log");
            open.iter().any(|path| path.ends_with(&log))
        };
        if let [name] = self
            .environments()
            .filter(|n| is_open(n))
            .collect::<Vec<_>>()[..]
        {
            let from = format!("process {} writes log/{name}.log", self.pid);
            return Some(Named::by(name, from));
        }
        let has_logger = |file: &ConfigFile| {
            let mut lines = file.lines(|line| line.contains("config.logger"));
            lines.next().is_some()
        };
        if self.file("config/application.rb").is_some_and(has_logger) {
            return None;
        }
        let logs_elsewhere = |name: &&str| {
            let file = self.file(&format!("config/environments/{name}.rb"));
            file.is_some_and(has_logger)
        };
        let left: Vec<&str> = self.environments().filter(logs_elsewhere).collect();
        let [name] = left[..] else { return None };
        let from = format!(
            "process {} writes no log below log/, and only config/environments/{name}.rb names another logger",
            self.pid
        );
        Some(Named::by(name, from))
    }

    fn by_puma_file(&self, command: Option<&ServerWords>) -> Option<Named> {
        let place = match command.and_then(ServerWords::config) {
            Some(path) => path.trim_start_matches("./").to_owned(),
            None => {
                let variables = ["APP_ENV", "RACK_ENV", "RAILS_ENV"];
                let name = variables.iter().find_map(|name| self.variables.get(*name));
                let name = name.map_or("development", String::as_str);
                let of_environment = format!("config/puma/{name}.rb");
                let there = self.file(&of_environment).is_some();
                let usual = || "config/puma.rb".to_owned();
                if there { of_environment } else { usual() }
            }
        };
        let file = self.file(&place)?;
        let line = file.lines(|line| argument(line).is_some()).last()?;
        let (place, code) = line.split_once(": ")?;
        match evaluated(argument(code)?, self.variables) {
            Some(name) => Some(Named::by(&name, place)),
            None => Some(Named::NotSeen(format!(
                "{place} computes it ({code}); set RAILS_ENV"
            ))),
        }
    }
}

/// `puma 6.6.0 (tcp://…) [shop]` or `puma: cluster worker 0: 4711 [shop]`, which Puma puts over its command line.
pub(crate) fn is_title(words: &[String]) -> bool {
    let title = words.first().map(String::as_str).unwrap_or_default();
    title.starts_with("puma: ") || (title.starts_with("puma ") && title.contains('('))
}

/// What `environment` is called with in Puma's configuration.
fn argument(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("environment")?;
    let argument = rest.strip_prefix('(').map_or(rest, |rest| {
        rest.trim_end().strip_suffix(')').unwrap_or(rest)
    });
    (rest.starts_with([' ', '(']) && !argument.trim_start().starts_with('='))
        .then(|| argument.trim())
}

/// A literal, or one variable with a default; `None` where only Ruby can evaluate it.
fn evaluated(code: &str, variables: &BTreeMap<String, String>) -> Option<String> {
    if let Some(symbol) = code.strip_prefix(':') {
        let plain = symbol.chars().all(|c| c.is_alphanumeric() || c == '_');
        return plain.then(|| symbol.to_owned());
    }
    // Quoted parts are at odd places; the form is between them.
    let parts: Vec<&str> = code.split(['"', '\'']).collect();
    let form: String = parts
        .iter()
        .step_by(2)
        .flat_map(|p| p.split_whitespace())
        .collect();
    let quoted = |index: usize| parts.get(2 * index + 1).map(|part| (*part).to_owned());
    match form.as_str() {
        "" => quoted(0).filter(|_| parts.len() == 3),
        "ENV.fetch()" | "ENV[]" | "ENV.fetch(,)" | "ENV.fetch(){}" | "ENV[]||" => {
            variables.get(&quoted(0)?).cloned().or_else(|| quoted(1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
