//! Where a server starts: the application's folder, or the worktree of a revision. Its environment and command are those of that
//! folder, once it is prepared.

use crate::error::Stopped;
use crate::git;
use crate::progress::{Event, Watcher};
use crate::remote;
use crate::request::Experiment;
use crate::server_kind::ServerKind;
use crate::worktrees::Worktree;
use servers::guard::GuardProgram;
use servers::ruby::{self, RubyInfo};
use servers::{PassengerSpec, PreforkServer, PreforkSpec, ServerCommand, hooks};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest that preparing may take; seeding a database is the usual work.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(600);

/// The application's own folder, where a revision is prepared in a worktree: what git does not keep can be taken from there.
const ORIGIN: &str = "POWERBAND_ORIGIN";

/// Names the bundle wherever Ruby runs.
const GEMFILE: &str = "BUNDLE_GEMFILE";

/// Files that an application often needs to start, and that git usually ignores.
const OFTEN_IGNORED: [&str; 3] = [
    "config/master.key",
    "config/credentials/production.key",
    ".env",
];

/// Where a server starts.
#[derive(Debug, Clone)]
pub struct Place {
    /// The application's folder.
    pub app_dir: PathBuf,
    /// Where its hooks and services run.
    pub base_dir: PathBuf,
    /// The server's environment.
    pub env: BTreeMap<String, String>,
    /// How the server starts.
    pub command: ServerCommand,
}

impl Place {
    /// What the application's own configuration asks for; `None` where only a start could show it.
    pub fn configured_settings(&self) -> Option<run::Settings> {
        let found = servers::configured(&self.command, &self.app_dir, &self.env)?;
        Some(run::Settings {
            workers: found.workers,
            threads: found.threads,
            preload: found.preload,
        })
    }

    /// The files of [`OFTEN_IGNORED`] that are in the application's own folder and not in this worktree, with the remedy; `None` if there are none.
    pub fn lacks(&self, own: &Path) -> Option<String> {
        let is_missing =
            |file: &&str| own.join(file).is_file() && !self.app_dir.join(file).exists();
        let missing: Vec<&str> = OFTEN_IGNORED.into_iter().filter(is_missing).collect();
        let copies: Vec<String> = missing
            .iter()
            .map(|file| format!("cp \"${ORIGIN}/{file}\" {file}"))
            .collect();
        (!missing.is_empty()).then(|| {
            format!(
                "the worktree of the revision lacks {}, since git does not have it; app.prepare in powerband.toml can copy it: prepare = \
                 '{}'",
                missing.join(" and "),
                copies.join(" && ")
            )
        })
    }
}

/// What makes places.
pub struct Preparation<'a> {
    pub experiment: &'a Experiment,
    pub guard: &'a GuardProgram,
    /// The run folder, for logs.
    pub scratch: &'a Path,
    pub watcher: &'a dyn Watcher,
}

impl Preparation<'_> {
    /// The application as it is. Where revisions run, nothing is started there, and it is not prepared.
    pub fn own(&self, env: BTreeMap<String, String>) -> Result<Place, Stopped> {
        let experiment = self.experiment;
        let (app_dir, base_dir) = (experiment.app_dir.clone(), experiment.base_dir.clone());
        let config = experiment.server_config.clone();
        let log = experiment.revisions.all.is_empty().then_some("prepare.log");
        self.place(app_dir, base_dir, env, config, log)
    }

    /// A revision. `found` is the Ruby that the agent was built for.
    pub fn revision(
        &self,
        worktree: &Worktree,
        mut env: BTreeMap<String, String>,
        found: &RubyInfo,
    ) -> Result<Place, Stopped> {
        let experiment = self.experiment;
        let named = &worktree.revision.named;
        let its_own = ruby::probe_in("ruby", &worktree.app_dir, &experiment.env)
            .map_err(|e| Stopped::Configuration(format!("revision {named:?}: {e}")))?;
        if its_own.version != found.version {
            return Err(Stopped::Configuration(format!(
                "revision {named:?} runs Ruby {}, the application's folder {}, and both revisions of a check run the same: choose one \
                 for both, such as with RBENV_VERSION={}",
                its_own.version, found.version, found.version
            )));
        }
        let gemfile = experiment.env.get(GEMFILE).cloned();
        let gemfile = gemfile.or_else(|| std::env::var(GEMFILE).ok());
        if let Some(gemfile) = gemfile {
            let its_own = worktree.relocated(Path::new(&gemfile));
            env.insert(GEMFILE.to_owned(), its_own.display().to_string());
        }
        let origin = experiment.app_dir.display().to_string();
        env.insert(ORIGIN.to_owned(), origin);
        let of_git = git::variables_in(&worktree.app_dir);
        env.extend(of_git.map_err(|e| Stopped::Configuration(format!("revision {named:?}: {e}")))?);
        remote::refuse(
            experiment,
            &worktree.app_dir,
            &env,
            experiment.prepare.is_some(),
        )?;
        let app_dir = worktree.app_dir.clone();
        // A configuration outside the repository has no folder in a revision.
        let base_dir = worktree.relocated(&experiment.base_dir);
        let base_dir = match base_dir != experiment.base_dir && base_dir.is_dir() {
            true => base_dir,
            false => app_dir.clone(),
        };
        let config = experiment.server_config.as_ref();
        let config = config.map(|path| worktree.relocated(path));
        let log = format!("prepare-{}.log", worktree.revision.short_commit());
        self.place(app_dir, base_dir, env, config, Some(&log))
    }

    /// `log`: of the prepare command, where that runs.
    fn place(
        &self,
        app_dir: PathBuf,
        base_dir: PathBuf,
        mut env: BTreeMap<String, String>,
        config: Option<PathBuf>,
        log: Option<&str>,
    ) -> Result<Place, Stopped> {
        if let (Some(command), Some(log)) = (&self.experiment.prepare, log) {
            self.watcher
                .on(Event::Preparing("preparing the application"));
            let printed = hooks::capture(
                self.guard,
                command,
                &base_dir,
                &env,
                PREPARE_TIMEOUT,
                &self.scratch.join(log),
                &|| self.watcher.cancelled(),
            );
            let failed =
                |e| Stopped::hook(self.watcher, format!("the prepare command failed: {e}"));
            env.extend(assignments(&printed.map_err(failed)?));
            // It may have printed other addresses, or written other files.
            remote::refuse(self.experiment, &app_dir, &env, false)?;
        }
        Ok(Place {
            command: server_command(self.experiment, &app_dir, config)?,
            app_dir,
            base_dir,
            env,
        })
    }
}

/// How the application in this folder is started.
fn server_command(
    experiment: &Experiment,
    app_dir: &Path,
    config: Option<PathBuf>,
) -> Result<ServerCommand, Stopped> {
    Ok(match (&experiment.command, experiment.kind) {
        (Some(words), _) => custom(words)?,
        (None, ServerKind::Puma) => ServerCommand::Puma {
            program: servers::default_puma_command(app_dir),
            config,
        },
        (None, ServerKind::Unicorn) => prefork(PreforkServer::Unicorn, app_dir, config),
        (None, ServerKind::Pitchfork) => prefork(PreforkServer::Pitchfork, app_dir, config),
        (None, ServerKind::Falcon) => ServerCommand::Falcon {
            program: servers::default_falcon_command(app_dir),
        },
        (None, ServerKind::Passenger) => ServerCommand::Passenger(PassengerSpec::default()),
    })
}

fn prefork(server: PreforkServer, app_dir: &Path, config: Option<PathBuf>) -> ServerCommand {
    let program = servers::default_prefork_command(server, app_dir);
    ServerCommand::Prefork(PreforkSpec {
        config,
        ..PreforkSpec::of(server, program)
    })
}

/// `KEY=VALUE` lines among whatever else a command printed.
fn assignments(printed: &str) -> BTreeMap<String, String> {
    let name = |key: &str| {
        key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let lines = printed
        .lines()
        .map(|line| line.trim().trim_start_matches("export "));
    lines
        .filter_map(|line| line.split_once('='))
        .filter(|(key, _)| name(key))
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect()
}

/// A command of the user's own, which gets its settings by placeholder and environment.
fn custom(text: &str) -> Result<ServerCommand, Stopped> {
    let words = servers::split_words(text).map_err(|e| {
        Stopped::Configuration(format!("server.command = {text:?}: {e}; close its quotes"))
    })?;
    Ok(ServerCommand::Custom { words })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worktree_lacks_is_named_with_the_command_that_copies_it() {
        let (own, worktree) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = Place {
            app_dir: worktree.path().to_owned(),
            base_dir: worktree.path().to_owned(),
            env: BTreeMap::new(),
            command: ServerCommand::Puma {
                program: Vec::new(),
                config: None,
            },
        };
        assert_eq!(place.lacks(own.path()), None);
        for folder in [&own, &worktree] {
            std::fs::create_dir(folder.path().join("config")).unwrap();
        }
        let key = "config/master.key";
        std::fs::write(own.path().join(key), "0").unwrap();
        let said = place.lacks(own.path()).unwrap();
        assert!(said.contains("lacks config/master.key,"), "{said}");
        let copy = "prepare = 'cp \"$POWERBAND_ORIGIN/config/master.key\" config/master.key'";
        assert!(said.ends_with(copy), "{said}");
        std::fs::write(worktree.path().join(key), "0").unwrap();
        assert_eq!(place.lacks(own.path()), None);
    }

    #[test]
    fn only_assignments_join_the_environment() {
        let env = assignments(
            "seeding…\nDATABASE_URL=sqlite3:/tmp/a?b=c\nexport RAILS_ENV=test\n2 = 2\nnot this one\n",
        );
        assert_eq!(env.len(), 2, "{env:?}");
        assert_eq!(env["DATABASE_URL"], "sqlite3:/tmp/a?b=c");
        assert_eq!(env["RAILS_ENV"], "test");
    }
}
