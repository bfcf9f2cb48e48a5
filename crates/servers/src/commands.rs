//! A command that is itself what is measured: a test suite, a batch job, a script of requests.
//!
//! Unlike a hook it is looked at while it runs: the caller knows its processes, waits for it in steps, and learns to the
//! millisecond when it ended. It runs under a guard of its own, so that nothing of it is left on any path out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
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
    /// The program and its arguments.
    pub words: &'a [String],
    /// Where it runs.
    pub cwd: &'a Path,
    /// On top of powerband's own environment.
    pub env: &'a BTreeMap<String, String>,
    /// Its output, both streams; `None`: this process's standard error.
    pub log: Option<&'a Path>,
}

/// A command that runs, or has ended. Dropping it ends whatever of it is left.
#[derive(Debug)]
pub struct RunningCommand {
    guard: Guard,
    id: u32,
    pid: u32,
    began: Instant,
    log: Option<Log>,
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
    /// The guard or the program cannot be started, or the log not be written.
    pub fn start(spec: &CommandSpec<'_>) -> Result<RunningCommand, HookError> {
        let log_path = spec.log.map(in_private_folder).transpose()?;
        let log = log_path.as_deref();
        let mut guard = Guard::launch(spec.guard, None, GRACE, Remove::default(), log)?;
        let began = Instant::now();
        let (id, pid) = guard.spawn(&ProcessSpec {
            words: spec.words,
            cwd: spec.cwd,
            env: spec.env,
            log,
            output: None,
        })?;
        Ok(RunningCommand {
            guard,
            id,
            pid,
            began,
            log: log.map(|path| Log::from_here(path, spec.env)),
        })
    }

    /// The guard: all that descends from it is the command's, daemons among it.
    pub fn guard_pid(&self) -> u32 {
        self.guard.pid()
    }

    /// The process that was started. A shell becomes its command where that is a simple one, as most shells do.
    pub fn pid(&self) -> u32 {
        self.pid
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

    /// Why it failed, without the name of its log; empty without a log.
    #[must_use]
    pub fn brief(&self) -> String {
        let log = self.log.as_ref();
        log.map_or_else(String::new, |log| log.excerpt().brief())
    }

    /// What its output says of a failure, secrets masked, as it stands in messages; empty without a log.
    pub fn excerpt(&self) -> String {
        let log = self.log.as_ref();
        log.map_or_else(String::new, |log| log.excerpt().to_string())
    }

    /// Ends what is left of it: a grace, then the hard way.
    pub fn stop(mut self) -> Ended {
        self.guard.stop(GRACE)
    }
}

/// Makes the log's folder, for this user alone; the log's absolute path.
fn in_private_folder(log: &Path) -> Result<PathBuf, HookError> {
    if let Some(folder) = log.parent().filter(|f| !f.as_os_str().is_empty()) {
        private_dir(folder)?;
    }
    Ok(std::path::absolute(log).map_err(failed("find", log))?)
}
