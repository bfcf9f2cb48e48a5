//! powerband's side of the guard: starts it, sends it commands, receives their outcome.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use thiserror::Error;

use super::Exit;
use super::protocol::{Command, Event, Remove};

/// Time for a process that only has to be executed and to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// Beyond the grace: what the guard itself allows for killed processes that hang in the kernel.
const END_WITHIN: Duration = Duration::from_secs(15);

/// How to execute the guard: powerband's own binary and its hidden subcommand.
#[derive(Debug, Clone)]
pub struct GuardProgram {
    /// The program; `/proc/self/exe` survives a replaced binary.
    pub exe: PathBuf,
    /// The argument that makes it call [`super::main`].
    pub arg: OsString,
}

/// What could go wrong between powerband and its guard.
#[derive(Debug, Error)]
pub enum GuardError {
    #[error("cannot start the guard process {exe}: {source}")]
    NotExecuted { exe: PathBuf, source: io::Error },
    #[error("the guard process did not answer within {} s", ANSWER_WITHIN.as_secs())]
    Silent,
    #[error("the guard process ended unexpectedly")]
    Gone,
    #[error("cannot pin the server: {0}; check the processors given with --cpus")]
    Pinning(String),
    #[error("cannot run {program:?}: {error}; is it installed, on PATH, and the folder right?")]
    NotStarted { program: String, error: String },
    #[error("a path is not valid UTF-8: {0}")]
    NotUtf8(serde_json::Error),
}

/// One process to start.
#[derive(Debug)]
pub(crate) struct ProcessSpec<'a> {
    pub(crate) words: &'a [String],
    pub(crate) cwd: &'a Path,
    /// On top of powerband's own environment.
    pub(crate) env: &'a BTreeMap<String, String>,
    /// Standard error, and standard output unless `output` is given; `None`: the guard's standard error.
    pub(crate) log: Option<&'a Path>,
    pub(crate) output: Option<&'a Path>,
}

/// The guard's last report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The guard said so itself; false when it was gone or silent, and its session was ended without it.
    pub reported: bool,
    /// Processes that did not end by themselves within the grace.
    pub killed: Vec<u32>,
    /// Processes that even SIGKILL did not end (they hang in the kernel).
    pub left: Vec<u32>,
}

#[derive(Debug, Default)]
struct Heard {
    ready: Option<Option<String>>,
    started: BTreeMap<u32, Result<u32, String>>,
    exited: BTreeMap<u32, Exit>,
    ended: Option<Ended>,
    gone: bool,
}

#[derive(Debug, Default)]
struct Shared {
    heard: Mutex<Heard>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `found` answers, the guard is gone, or the time is over.
    fn wait<T>(&self, limit: Duration, mut found: impl FnMut(&Heard) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + limit;
        let mut heard = self.lock();
        loop {
            if let Some(value) = found(&heard) {
                return Some(value);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if heard.gone || left.is_zero() {
                return None;
            }
            heard = self
                .changed
                .wait_timeout(heard, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// A running guard. Dropping it ends what it guards, without grace.
#[derive(Debug)]
pub struct Guard {
    child: Child,
    input: Option<ChildStdin>,
    shared: Arc<Shared>,
    next_id: u32,
    /// The guard's to delete, and ours once it cannot any more.
    remove: Remove,
}

impl Guard {
    /// Starts a guard. `cpus` pins it and so all that it starts; `remove` is what it deletes at
    /// its end; a panic of the guard itself is written to `log`, or without one to this process's standard error.
    ///
    /// # Errors
    /// When the program cannot be executed, does not answer as a guard, or cannot be pinned.
    pub fn launch(
        program: &GuardProgram,
        cpus: Option<Vec<usize>>,
        orphan_grace: Duration,
        remove: Remove,
        log: Option<&Path>,
    ) -> Result<Self, GuardError> {
        let not_executed = |source| GuardError::NotExecuted {
            exe: program.exe.clone(),
            source,
        };
        let log = match log {
            Some(path) => OpenOptions::new()
                .create(true)
                .append(true)
                .mode(0o600)
                .open(path)
                .map_err(not_executed)?
                .into(),
            None => Stdio::inherit(),
        };
        let mut child = std::process::Command::new(&program.exe)
            .arg(&program.arg)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(not_executed)?;
        let shared = Arc::new(Shared::default());
        let output = child.stdout.take().expect("standard output is piped");
        let listener = Arc::clone(&shared);
        std::thread::spawn(move || listen(output, &listener));
        let input = child.stdin.take();
        let mut guard = Guard {
            child,
            input,
            shared,
            next_id: 0,
            remove: Remove {
                orphaned: Vec::new(),
                ..remove.clone()
            },
        };
        let orphan_grace_ms = millis(orphan_grace);
        guard.tell(&Command::Configure {
            cpus,
            orphan_grace_ms,
            remove,
        })?;
        match guard
            .shared
            .wait(ANSWER_WITHIN, |heard| heard.ready.clone())
        {
            Some(None) => Ok(guard),
            Some(Some(error)) => Err(GuardError::Pinning(error)),
            None => Err(guard.no_answer()),
        }
    }

    /// The guard's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts a process; returns the id it is asked about by, and its process id.
    pub(crate) fn spawn(&mut self, spec: &ProcessSpec<'_>) -> Result<(u32, u32), GuardError> {
        let id = self.next_id;
        self.next_id += 1;
        self.tell(&Command::Spawn {
            id,
            words: spec.words.to_vec(),
            cwd: spec.cwd.to_path_buf(),
            env: spec.env.clone(),
            log: spec.log.map(Path::to_path_buf),
            output: spec.output.map(Path::to_path_buf),
        })?;
        match self
            .shared
            .wait(ANSWER_WITHIN, |heard| heard.started.get(&id).cloned())
        {
            Some(Ok(pid)) => Ok((id, pid)),
            Some(Err(error)) => {
                let program = spec.words.first().cloned().unwrap_or_default();
                Err(GuardError::NotStarted { program, error })
            }
            None => Err(self.no_answer()),
        }
    }

    /// How the process ended, if it did.
    pub(crate) fn exit_of(&self, id: u32) -> Option<Exit> {
        self.shared.lock().exited.get(&id).copied()
    }

    /// True once the guard itself ended without a request to stop.
    pub(crate) fn is_gone(&self) -> bool {
        self.shared.lock().gone
    }

    /// Waits at most `limit` for the process to end.
    pub(crate) fn wait_exit(&self, id: u32, limit: Duration) -> Option<Exit> {
        self.shared
            .wait(limit, |heard| heard.exited.get(&id).copied())
    }

    /// Signals what was started as `id`, if it still runs. False when the guard is gone.
    pub(crate) fn signal(&mut self, id: u32, signal: Signal) -> bool {
        let signal = signal.as_raw();
        self.tell(&Command::Signal { id, signal }).is_ok()
    }

    /// SIGTERM, at most `grace`, then the end of everything that is left.
    pub(crate) fn stop(&mut self, grace: Duration) -> Ended {
        self.stop_within(grace, END_WITHIN)
    }

    fn stop_within(&mut self, grace: Duration, beyond: Duration) -> Ended {
        if let Some(input) = self.input.as_mut() {
            // A guard that is gone already gets no message; what it said before is returned.
            let _ = send(
                input,
                &Command::Stop {
                    grace_ms: millis(grace),
                },
            );
        }
        let ended = self
            .shared
            .wait(grace + beyond, |heard| heard.ended.clone());
        self.input = None;
        let ended = ended.unwrap_or_else(|| self.end_without_it());
        // It has said its last word or was killed, so that this does not block.
        let _ = self.child.wait();
        ended
    }

    /// The guard was killed, and what it guarded runs on; or it is stuck, and would not end that any more.
    fn end_without_it(&mut self) -> Ended {
        // Fails only when it is gone already.
        let _ = self.child.kill();
        // Not waited for yet: until then no other process gets its number, which names the session.
        let swept = super::sweep::end_session(self.pid());
        self.remove.now();
        Ended {
            reported: false,
            killed: swept.killed,
            left: swept.left,
        }
    }

    fn tell(&mut self, command: &Command) -> Result<(), GuardError> {
        match send(self.input.as_mut().ok_or(GuardError::Gone)?, command) {
            Ok(()) => Ok(()),
            Err(SendError::Encode(error)) => Err(GuardError::NotUtf8(error)),
            Err(SendError::Write) => Err(GuardError::Gone),
        }
    }

    fn no_answer(&self) -> GuardError {
        if self.is_gone() {
            GuardError::Gone
        } else {
            GuardError::Silent
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.input.is_some() {
            self.stop(Duration::ZERO);
        }
    }
}

enum SendError {
    Encode(serde_json::Error),
    Write,
}

fn send(input: &mut ChildStdin, command: &Command) -> Result<(), SendError> {
    let mut line = serde_json::to_vec(command).map_err(SendError::Encode)?;
    line.push(b'\n');
    input.write_all(&line).map_err(|_| SendError::Write)
}

fn listen(output: ChildStdout, shared: &Shared) {
    for line in BufReader::new(output).lines() {
        let Ok(event) = line
            .map_err(drop)
            .and_then(|line| serde_json::from_str::<Event>(&line).map_err(drop))
        else {
            break;
        };
        let mut heard = shared.lock();
        match event {
            Event::Ready { error } => heard.ready = Some(error),
            Event::Started { id, pid } => _ = heard.started.insert(id, Ok(pid)),
            Event::NotStarted { id, error } => _ = heard.started.insert(id, Err(error)),
            Event::Exited { id, exit } => _ = heard.exited.insert(id, exit),
            Event::Ended { killed, left } => {
                heard.ended = Some(Ended {
                    reported: true,
                    killed,
                    left,
                });
            }
        }
        shared.changed.notify_all();
    }
    shared.lock().gone = true;
    shared.changed.notify_all();
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps one process in a session of its own and hears nothing after the first command.
    const DEAF: &str = "#!/bin/sh
[ \"$1\" = guard ] && exec setsid \"$0\" leader
read configure
sleep 600 &
echo $! > \"$0.kept\"
echo '{\"event\":\"ready\",\"error\":null}'
wait
";

    #[test]
    fn a_guard_without_a_last_word_is_killed_and_so_is_what_it_kept() {
        let folder = tempfile::tempdir().unwrap();
        let exe = folder.path().join("deaf");
        std::fs::write(&exe, DEAF).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&exe, executable).unwrap();
        let program = GuardProgram {
            exe: exe.clone(),
            arg: "guard".into(),
        };
        let log = folder.path().join("log");
        let mut guard = Guard::launch(
            &program,
            None,
            Duration::ZERO,
            Remove::default(),
            Some(&log),
        )
        .unwrap();
        let kept = std::fs::read_to_string(exe.with_extension("kept")).unwrap();
        let kept: u32 = kept.trim().parse().unwrap();

        let ended = guard.stop_within(Duration::ZERO, Duration::from_millis(20));
        assert_eq!(
            ended,
            Ended {
                reported: false,
                killed: vec![kept],
                left: Vec::new()
            }
        );
        for pid in [kept, guard.pid()] {
            let running = crate::proc::stat(pid).is_some_and(|stat| !stat.is_dead());
            assert!(!running, "{pid}");
        }
    }
}
