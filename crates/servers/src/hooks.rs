//! The user's commands around trials: reset a database, clear a cache, prepare an application.
//!
//! A hook runs in a shell under a guard of its own: whatever it leaves in the background is ended
//! with it. A process that must outlive it is a service, see [`crate::ServiceSpec`].

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::error::StartError;
use crate::files::{failed, nonce, private_dir};
use crate::guard::{Exit, Guard, GuardError, GuardProgram, ProcessSpec, Remove};
use crate::log::{Excerpt, Log};
use crate::words::by_shell;

const LOOK_UP: Duration = Duration::from_millis(50);
const GRACE: Duration = Duration::from_secs(2);

/// Why a hook did not do its work. When this is returned, nothing of it is left running.
#[derive(Debug, Error)]
pub enum HookError {
    #[error("interrupted")]
    Cancelled,
    #[error(
        "{command:?} failed ({}): {}",
        exit.map_or("its guard is gone".into(), |exit| exit.to_string()),
        said
    )]
    Failed {
        command: String,
        exit: Option<Exit>,
        said: Excerpt,
    },
    #[error(
        "{command:?} was not done within {} s and was ended; {said}",
        timeout.as_secs_f64()
    )]
    TimedOut {
        command: String,
        timeout: Duration,
        said: Excerpt,
    },
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error("cannot {action} {path}: {source}")]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Runs `command` with `/bin/sh -c` in `cwd`, `env` on top of powerband's own environment, and waits
/// for it. Its output is appended to `log`. `cancel` is asked every 50 ms.
///
/// # Errors
/// When it fails, takes longer than `timeout`, or is cancelled.
pub fn run(
    guard: &GuardProgram,
    command: &str,
    cwd: &Path,
    env: &BTreeMap<String, String>,
    timeout: Duration,
    log: &Path,
    cancel: &dyn Fn() -> bool,
) -> Result<(), HookError> {
    let hook = Hook {
        guard,
        command,
        cwd,
        env,
        timeout,
        log,
    };
    hook.run(None, cancel)
}

/// The same, and returns what it printed to standard output, which then is not in `log`.
///
/// # Errors
/// As [`run`].
pub fn capture(
    guard: &GuardProgram,
    command: &str,
    cwd: &Path,
    env: &BTreeMap<String, String>,
    timeout: Duration,
    log: &Path,
    cancel: &dyn Fn() -> bool,
) -> Result<String, HookError> {
    let hook = Hook {
        guard,
        command,
        cwd,
        env,
        timeout,
        log,
    };
    let output = log.with_extension(format!("out-{}", nonce()?));
    let done = hook.run(Some(&output), cancel);
    let printed = std::fs::read(&output);
    // What it printed may be a secret, so that the file does not stay, whatever the outcome.
    let removed = std::fs::remove_file(&output);
    done?;
    let file = |action| {
        move |source| HookError::File {
            action,
            path: output.clone(),
            source,
        }
    };
    removed.map_err(file.clone()("remove"))?;
    Ok(String::from_utf8_lossy(&printed.map_err(file("read"))?).into_owned())
}

struct Hook<'a> {
    guard: &'a GuardProgram,
    command: &'a str,
    cwd: &'a Path,
    env: &'a BTreeMap<String, String>,
    timeout: Duration,
    log: &'a Path,
}

impl Hook<'_> {
    fn run(&self, output: Option<&Path>, cancel: &dyn Fn() -> bool) -> Result<(), HookError> {
        if let Some(folder) = self
            .log
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            private_dir(folder)?;
        }
        let absolute = |path: &Path| std::path::absolute(path).map_err(failed("find", path));
        let log_path = absolute(self.log)?;
        let output = output.map(absolute).transpose()?;
        let log = Log::from_here(&log_path, self.env);
        let mut guard = Guard::launch(self.guard, None, GRACE, Remove::default(), Some(&log_path))?;
        let words = by_shell(self.command);
        let (id, _) = guard.spawn(&ProcessSpec {
            words: &words,
            cwd: self.cwd,
            env: self.env,
            log: Some(&log_path),
            output: output.as_deref(),
        })?;
        let began = Instant::now();
        let command = self.command.to_string();
        loop {
            match guard.wait_exit(id, LOOK_UP.min(self.timeout)) {
                Some(exit) if exit.success() => return Ok(()),
                exit if exit.is_some() || guard.is_gone() => {
                    let said = log.excerpt();
                    return Err(HookError::Failed {
                        command,
                        exit,
                        said,
                    });
                }
                _ if cancel() => {
                    guard.stop(GRACE);
                    return Err(HookError::Cancelled);
                }
                _ if began.elapsed() >= self.timeout => {
                    guard.stop(GRACE);
                    return Err(HookError::TimedOut {
                        command,
                        timeout: self.timeout,
                        said: log.excerpt(),
                    });
                }
                _ => {}
            }
        }
    }
}
