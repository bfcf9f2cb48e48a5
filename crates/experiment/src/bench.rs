//! Everything that stays the same from trial to trial: the application, its command and environment, the agent,
//! the guard. Made once, with all that can be checked before the first server starts.

use crate::application;
use crate::arm_environment::{self, ArmEnvironments};
use crate::arm_ruby::ArmRuby;
use crate::error::Stopped;
use crate::peers::Peers;
use crate::progress::{Event, Watcher};
use crate::request::{Arm, Experiment, ServerKind};
use crate::room;
use crate::sending::Sender;
use crate::spoiled::HostWatch;
use servers::guard::GuardProgram;
use servers::ruby::RubyInfo;
use servers::{PassengerSpec, ServerCommand, agent, hooks, ruby, safety};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What every trial shares.
#[derive(Debug)]
pub struct Bench<'a> {
    /// What was asked.
    pub experiment: &'a Experiment,
    /// The server's environment.
    pub env: BTreeMap<String, String>,
    /// What arms' own variables come to here.
    pub arm_environments: ArmEnvironments,
    /// How the server starts.
    pub command: ServerCommand,
    /// Folder that holds `powerband/inject.rb`; empty where no server is started.
    pub agent_lib: PathBuf,
    /// The agent's extension, built for this Ruby; likewise.
    agent_ext: PathBuf,
    /// This binary, as guard.
    pub guard: GuardProgram,
    /// How requests are sent.
    pub sender: Sender,
    /// What on this host spoils measurements.
    pub host: HostWatch,
    /// Whom all that is started talks to.
    pub peers: &'a Peers<'a>,
}

/// Where things of powerband's own are.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The guard's program.
    pub guard: GuardProgram,
    /// The gem's folder, when the user named one.
    pub gem: Option<PathBuf>,
    /// Where the agent's extension is built for a Ruby that has none yet.
    pub cache: PathBuf,
}

/// Longest that preparing may take; seeding a database is the usual work.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(600);

impl<'a> Bench<'a> {
    /// Refuses services on other machines, finds Ruby and the agent, and runs the prepare command, which may do harm there.
    pub fn set_up(
        experiment: &'a Experiment,
        installation: &Installation,
        scratch: &Path,
        peers: &'a Peers<'a>,
    ) -> Result<Bench<'a>, Stopped> {
        let watcher: &dyn Watcher = peers;
        application::check(experiment)?;
        room::check(experiment, scratch, watcher)?;
        let mut env = experiment.env.clone();
        env.insert("RAILS_ENV".to_owned(), experiment.environment.clone());
        env.insert("RACK_ENV".to_owned(), experiment.environment.clone());
        // Ruby itself may load the application's code, by RUBYOPT.
        refuse_remote(experiment, &env, experiment.prepare.is_some())?;
        watcher.on(Event::Preparing("finding Ruby and the agent"));
        let found = ruby::probe_in("ruby", &experiment.app_dir, &experiment.env)
            .map_err(|e| Stopped::Configuration(e.to_string()))?;
        let agent = match experiment.workload_command {
            // A command runs without the agent, as it would anywhere.
            Some(_) => None,
            None => Some(built_agent(installation, &found)?),
        };
        let mut arm_environments = ArmEnvironments::check(experiment, &found, watcher)?;
        if agent.is_some() {
            for ruby in arm_environments.rubies.each() {
                let (_, extension) = built_agent(installation, &ruby.info)?;
                ruby.agent = Some(extension);
            }
        }
        if agent.is_some() {
            // Totals are cumulative, so a short ring loses nothing, and sixty trials do not fill a disk.
            env.entry(room::RING_VARIABLE.to_owned())
                .or_insert_with(|| room::RING.to_string());
            // A trial's files are the run's, those of workers that died in it included.
            for keep in ["POWERBAND_KEEP", "POWERBAND_KEEP_SIZE"] {
                env.insert(keep.to_owned(), "off".to_owned());
            }
            // The load generator sets X-Request-Start itself, and an overloaded server may have a long queue.
            env.insert("POWERBAND_QUEUE_LIMIT".to_owned(), "1h".to_owned());
        }
        let (agent_lib, agent_ext) = agent.unwrap_or_default();
        if let Some(command) = &experiment.prepare {
            watcher.on(Event::Preparing("preparing the application"));
            let printed = hooks::capture(
                &installation.guard,
                command,
                &experiment.base_dir,
                &env,
                PREPARE_TIMEOUT,
                &scratch.join("prepare.log"),
                &|| watcher.cancelled(),
            );
            let printed = printed
                .map_err(|e| Stopped::hook(watcher, format!("the prepare command failed: {e}")))?;
            env.extend(assignments(&printed));
            // It may have printed other addresses, or written other files.
            refuse_remote(experiment, &env, false)?;
        }
        let config = experiment.server_config.clone();
        let command = match (&experiment.command, experiment.kind) {
            (Some(words), _) => custom(words)?,
            (None, ServerKind::Puma) => ServerCommand::Puma {
                program: servers::default_puma_command(&experiment.app_dir),
                config,
            },
            (None, ServerKind::Unicorn) => ServerCommand::Unicorn {
                program: servers::default_unicorn_command(&experiment.app_dir),
                config,
            },
            (None, ServerKind::Passenger) => ServerCommand::Passenger(PassengerSpec::default()),
        };
        Ok(Bench {
            experiment,
            env,
            arm_environments,
            command,
            agent_lib,
            agent_ext,
            guard: installation.guard.clone(),
            sender: Sender::new(experiment),
            host: HostWatch::begin(),
            peers,
        })
    }

    /// What the application's own configuration asks for; `None` where only a start could tell.
    pub fn configured_settings(&self) -> Option<run::Settings> {
        let found = servers::configured(&self.command, &self.experiment.app_dir, &self.env)?;
        Some(run::Settings {
            workers: found.workers,
            threads: found.threads,
            preload: found.preload,
        })
    }

    /// The agent's extension for the Ruby that runs this arm.
    pub fn agent_ext(&self, arm: &Arm) -> &Path {
        let its_own = self.ruby(arm).and_then(|ruby| ruby.agent.as_deref());
        its_own.unwrap_or(&self.agent_ext)
    }

    /// The Ruby that an arm names.
    pub fn ruby(&self, arm: &Arm) -> Option<&ArmRuby> {
        self.arm_environments.rubies.named(arm.overlay.ruby())
    }

    /// What an arm sets in the server's environment beside `env`.
    pub fn variables(&self, arm: &Arm) -> BTreeMap<String, String> {
        self.arm_environments.variables(&arm.overlay, &self.env)
    }

    /// The same as the run document has it.
    pub fn told(&self, arm: &Arm) -> Vec<run::SetVariable> {
        self.arm_environments.told(&arm.overlay, &self.env)
    }

    /// The server's command as it is shown, without settings and secrets.
    pub fn shown_words(&self) -> Vec<String> {
        knobs::shown_words(&self.command.words())
    }
}

/// The agent's library and its extension, built for this Ruby.
fn built_agent(
    installation: &Installation,
    found: &RubyInfo,
) -> Result<(PathBuf, PathBuf), Stopped> {
    let gem = agent::locate(installation.gem.as_deref())
        .map_err(|e| Stopped::Configuration(e.to_string()))?;
    let ext = agent::ensure_built(&gem, found, &installation.cache)
        .map_err(|e| Stopped::Configuration(e.to_string()))?;
    Ok((gem.lib_dir(), ext))
}

/// Refuses addresses on other machines that were not allowed, and what cannot be judged. Where commands of the user's own are
/// still to run, which may reset a database, no allowed service is enough for the latter.
fn refuse_remote(
    experiment: &Experiment,
    env: &BTreeMap<String, String>,
    prepares: bool,
) -> Result<(), Stopped> {
    let (dir, allowed) = (&experiment.app_dir, &experiment.allow_remote);
    let commands = commands(experiment, prepares);
    let unclear = match commands.is_empty() {
        true => Vec::new(),
        false => safety::unclear(env, dir),
    };
    let mut dangers: Vec<String> = unclear
        .iter()
        .map(|danger| danger.with_commands(&commands))
        .collect();
    let of_all = safety::check(env, dir, allowed).into_iter();
    for danger in of_all.chain(arm_environment::remote(experiment, env)) {
        let is_there = unclear.contains(&danger);
        let danger = danger.to_string();
        if !is_there && !dangers.contains(&danger) {
            dangers.push(danger);
        }
    }
    match dangers.is_empty() {
        true => Ok(()),
        false => Err(Stopped::Configuration(dangers.join("\n"))),
    }
}

/// The commands of the user's own that are still to run in the environment of all arms, in words.
fn commands(experiment: &Experiment, prepares: bool) -> String {
    let of_run = [
        ("app.prepare", prepares),
        ("before_trial", experiment.before_trial.is_some()),
        ("after_trial", experiment.after_trial.is_some()),
    ];
    let there = of_run.into_iter().filter(|(_, is_there)| *is_there);
    let names: Vec<&str> = there.map(|(name, _)| name).collect();
    names.join(", ")
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
    fn only_assignments_join_the_environment() {
        let env = assignments(
            "seeding…\nDATABASE_URL=sqlite3:/tmp/a?b=c\nexport RAILS_ENV=test\n2 = 2\nnot this one\n",
        );
        assert_eq!(env.len(), 2, "{env:?}");
        assert_eq!(env["DATABASE_URL"], "sqlite3:/tmp/a?b=c");
        assert_eq!(env["RAILS_ENV"], "test");
    }
}
