//! A command that is itself what is measured: a test suite, a batch job, a script of requests.
//!
//! Unlike a hook it is looked at while it runs: whoever started it knows its processes, waits for it in steps, and learns
//! to the millisecond when it ended. It runs under a guard of its own, so that nothing of it is left on any path out.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::files::{failed, private_dir};
use crate::guard::{Ended, Exit, Guard, GuardProgram, ProcessSpec, Remove};
use crate::hooks::HookError;
use crate::log::Log;

const GRACE: Duration = Duration::from_secs(2);

/// What is run.
#[derive(Debug, Clone, Copy)]
pub struct CommandSpec<'a> {
    /// This binary, as guard.
    pub guard: &'a GuardProgram,
    /// For `/bin/sh -c`.
    pub command: &'a str,
    /// Where it runs.
    pub cwd: &'a Path,
    /// On top of powerband's own environment.
    pub env: &'a BTreeMap<String, String>,
    /// Its output, both streams.
    pub log: &'a Path,
}

/// A command that runs, or has ended. Dropping it ends whatever of it is left.
#[derive(Debug)]
pub struct RunningCommand {
    guard: Guard,
    id: u32,
    shell: u32,
    began: Instant,
    log: Log,
}

/// What a wait came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// It runs on.
    Running,
    /// It ended like this, so long after it was started.
    Ended(Exit, Duration),
    /// Its guard was killed, and what it guarded with it.
    GuardGone,
}

impl RunningCommand {
    /// Starts it.
    ///
    /// # Errors
    /// The guard or the shell cannot be started, or the log not be written.
    pub fn start(spec: &CommandSpec<'_>) -> Result<RunningCommand, HookError> {
        if let Some(folder) = spec.log.parent().filter(|f| !f.as_os_str().is_empty()) {
            private_dir(folder)?;
        }
        let log_path = std::path::absolute(spec.log).map_err(failed("find", spec.log))?;
        let log = Log::from_here(&log_path, spec.env);
        let mut guard = Guard::launch(spec.guard, None, GRACE, Remove::default(), &log_path)?;
        let words = ["/bin/sh", "-c", spec.command].map(String::from);
        let began = Instant::now();
        let (id, shell) = guard.spawn(&ProcessSpec {
            words: &words,
            cwd: spec.cwd,
            env: spec.env,
            log: &log_path,
            output: None,
        })?;
        Ok(RunningCommand {
            guard,
            id,
            shell,
            began,
            log,
        })
    }

    /// The guard: all that descends from it is the command's, daemons among it.
    pub fn guard_pid(&self) -> u32 {
        self.guard.pid()
    }

    /// The shell; where the command is a simple one, most shells become it.
    pub fn shell_pid(&self) -> u32 {
        self.shell
    }

    /// When it was started.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Waits at most `limit` for its end.
    pub fn wait(&self, limit: Duration) -> Waited {
        match self.guard.wait_exit(self.id, limit) {
            Some(exit) => Waited::Ended(exit, self.began.elapsed()),
            None if self.guard.is_gone() => Waited::GuardGone,
            None => Waited::Running,
        }
    }

    /// Why it failed, without the name of its log.
    #[must_use]
    pub fn brief(&self) -> String {
        self.log.excerpt().brief()
    }

    /// What its output says of a failure, secrets masked, as it stands in messages.
    pub fn excerpt(&self) -> String {
        self.log.excerpt().to_string()
    }

    /// Ends what is left of it: a grace, then the hard way.
    pub fn stop(mut self) -> Ended {
        self.guard.stop(GRACE)
    }
}
