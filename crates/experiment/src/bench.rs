//! Everything that stays the same from trial to trial: the application, its command and environment, the agent,
//! the guard. Made once, with all that can be checked before the first server starts.

use crate::application;
use crate::arm_environment::ArmEnvironments;
use crate::arm_ruby::ArmRuby;
use crate::error::Stopped;
use crate::peers::Peers;
use crate::place::{Place, Preparation};
use crate::progress::{Event, Watcher};
use crate::remote;
use crate::request::{Arm, Experiment};
use crate::room;
use crate::sending::Sender;
use crate::spoiled::HostWatch;
use crate::worktrees::Worktrees;
use servers::guard::GuardProgram;
use servers::ruby::RubyInfo;
use servers::{agent, ruby};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What every trial shares.
#[derive(Debug)]
pub struct Bench<'a> {
    /// What was asked.
    pub experiment: &'a Experiment,
    /// The application as it is, where arms run that name no revision.
    pub own: Place,
    /// Where the others run, by what they name.
    revisions: BTreeMap<String, Place>,
    /// What arms' own variables come to here.
    pub arm_environments: ArmEnvironments,
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
    /// Held until all that runs in them has ended.
    _worktrees: Worktrees,
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
        remote::refuse(
            experiment,
            &experiment.app_dir,
            &env,
            experiment.prepare.is_some(),
        )?;
        watcher.on(Event::Preparing("finding Ruby and the agent"));
        let found = ruby::probe_in("ruby", &experiment.app_dir, &experiment.env)
            .map_err(|e| Stopped::Configuration(e.to_string()))?;
        let agent = match experiment.workload_command {
            // A command runs without the agent, as it would anywhere.
            Some(_) => None,
            None => Some(built_agent(installation, &found)?),
        };
        let mut arm_environments =
            ArmEnvironments::check(experiment, &found, &env, scratch, watcher)?;
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
        if !experiment.revisions.all.is_empty() {
            watcher.on(Event::Preparing("checking out the revisions"));
        }
        let worktrees = Worktrees::check_out(&experiment.revisions, scratch);
        let worktrees = worktrees.map_err(|why| Stopped::hook(watcher, why))?;
        let preparation = Preparation {
            experiment,
            guard: &installation.guard,
            scratch,
            watcher,
        };
        let mut revisions = BTreeMap::new();
        for worktree in worktrees.each() {
            let place = preparation.revision(worktree, env.clone(), &found)?;
            revisions.insert(worktree.revision.named.clone(), place);
        }
        let own = preparation.own(env)?;
        Ok(Bench {
            experiment,
            own,
            revisions,
            arm_environments,
            agent_lib,
            agent_ext,
            guard: installation.guard.clone(),
            sender: Sender::new(experiment),
            host: HostWatch::begin(),
            peers,
            _worktrees: worktrees,
        })
    }

    /// Where the server of an arm starts.
    pub fn place(&self, arm: &Arm) -> &Place {
        let named = arm.revision.as_ref();
        let its_own = named.and_then(|named| self.revisions.get(named));
        its_own.unwrap_or(&self.own)
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

    /// What an arm sets in the server's environment in addition to `env`.
    pub fn variables(&self, arm: &Arm) -> BTreeMap<String, String> {
        self.arm_environments
            .variables(&arm.overlay, &self.place(arm).env)
    }

    /// The same as the run document has it.
    pub fn told(&self, arm: &Arm) -> Vec<run::SetVariable> {
        self.arm_environments
            .told(&arm.overlay, &self.place(arm).env)
    }

    /// The server's command as it is shown, without settings and secrets.
    pub fn shown_words(&self) -> Vec<String> {
        knobs::shown_words(&self.own.command.words())
    }
}

/// The agent's library and its extension, built for this Ruby.
fn built_agent(
    installation: &Installation,
    found: &RubyInfo,
) -> Result<(PathBuf, PathBuf), Stopped> {
    let gem = agent::locate(installation.gem.as_deref(), &installation.cache)
        .map_err(|e| Stopped::Configuration(e.to_string()))?;
    let ext = agent::ensure_built(&gem, found, &installation.cache, || ())
        .map_err(|e| Stopped::Configuration(e.to_string()))?;
    Ok((gem.lib_dir(), ext))
}
