//! The guard's side: one thread that waits for commands, for signals and for the end.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, set_child_subreaper, setsid, wait};
use rustix::thread::{CpuSet, sched_setaffinity};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::protocol::{Command, Event, Remove};
use super::{Exit, sweep};

const DEFAULT_ORPHAN_GRACE: Duration = Duration::from_secs(2);
const LONGEST_GRACE: Duration = Duration::from_secs(3600);

pub(super) struct Keeper {
    children_changed: UnixStream,
    asked_to_end: UnixStream,
    input: Vec<u8>,
    /// Those spawned and not yet ended, with the id that powerband knows them by.
    running: BTreeMap<u32, u32>,
    orphan_grace: Duration,
    remove: Remove,
    /// Set once the end has begun: when the remaining processes are killed.
    deadline: Option<Instant>,
}

impl Keeper {
    pub(super) fn new() -> io::Result<Self> {
        // Fails only for a process that already leads its group, as when run by hand in a shell.
        let _ = setsid();
        set_child_subreaper(Some(rustix::process::getpid()))?;
        let (children_changed, on_child) = UnixStream::pair()?;
        signal_hook::low_level::pipe::register(SIGCHLD, on_child)?;
        let (asked_to_end, on_end) = UnixStream::pair()?;
        signal_hook::low_level::pipe::register(SIGTERM, on_end)?;
        // A handler rather than SIG_IGN, which the servers would inherit across exec.
        for ignored in [SIGINT, SIGHUP, SIGQUIT] {
            signal_hook::flag::register(ignored, Arc::new(AtomicBool::new(false)))?;
        }
        for pipe in [&children_changed, &asked_to_end] {
            pipe.set_nonblocking(true)?;
        }
        Ok(Keeper {
            children_changed,
            asked_to_end,
            input: Vec::new(),
            running: BTreeMap::new(),
            orphan_grace: DEFAULT_ORPHAN_GRACE,
            remove: Remove::default(),
            deadline: None,
        })
    }

    pub(super) fn run(self) -> io::Result<()> {
        self.run_by(Self::wait_for_something)
    }

    fn run_by(mut self, wait: impl FnMut(&mut Self) -> io::Result<()>) -> io::Result<()> {
        // Whatever went wrong, nothing may be left running.
        let kept = self.keep(wait);
        let swept = sweep::end_all(|| self.reap());
        if !powerband_is_gone() {
            self.remove.orphaned.clear();
        }
        self.remove.now();
        say(&Event::Ended {
            killed: swept.killed,
            left: swept.left,
        });
        kept
    }

    /// Until the end is asked for and all processes have ended, or the grace is over.
    fn keep(&mut self, mut wait: impl FnMut(&mut Self) -> io::Result<()>) -> io::Result<()> {
        loop {
            self.reap();
            if let Some(deadline) = self.deadline
                && (self.running.is_empty() || Instant::now() >= deadline)
            {
                return Ok(());
            }
            wait(self)?;
        }
    }

    fn wait_for_something(&mut self) -> io::Result<()> {
        let stdin = rustix::stdio::stdin();
        let ending = self.deadline.is_some();
        let timeout = self.deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            // Rounded up, so that the loop does not spin in the last millisecond.
            Timespec::try_from(left + Duration::from_millis(1)).expect("a grace fits a timespec")
        });
        let mut fds = vec![
            PollFd::new(&self.children_changed, PollFlags::IN),
            PollFd::new(&self.asked_to_end, PollFlags::IN),
        ];
        // Once the end has begun nothing that powerband says, or its death, changes anything.
        if !ending {
            fds.push(PollFd::from_borrowed_fd(stdin, PollFlags::IN));
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let commands = fds.get(2).is_some_and(|fd| !fd.revents().is_empty());
        drain(&self.children_changed);
        if drain(&self.asked_to_end) && !ending {
            self.begin_end(self.orphan_grace);
        }
        if commands {
            self.read_commands()?;
        }
        Ok(())
    }

    fn read_commands(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        let read = match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
            Ok(read) => read,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(()),
            Err(_) => 0,
        };
        if read == 0 {
            self.begin_end(self.orphan_grace);
            return Ok(());
        }
        self.input.extend_from_slice(&buffer[..read]);
        while let Some(end) = self.input.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.input.drain(..=end).collect();
            let command = serde_json::from_slice(&line)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
            match command {
                Ok(command) => self.obey(command),
                // Not powerband on the other side: leave nothing behind and go.
                Err(_) => self.begin_end(Duration::ZERO),
            }
        }
        Ok(())
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Configure {
                cpus,
                orphan_grace_ms,
                remove,
            } => {
                self.orphan_grace = Duration::from_millis(orphan_grace_ms);
                self.remove = remove;
                let pinned = cpus.map_or(Ok(()), |cpus| pin(&cpus));
                say(&Event::Ready {
                    error: pinned.err(),
                });
            }
            Command::Spawn {
                id,
                words,
                cwd,
                env,
                log,
                output,
            } => match spawn(&words, &cwd, &env, log.as_deref(), output.as_deref()) {
                Ok(pid) => {
                    self.running.insert(pid, id);
                    say(&Event::Started { id, pid });
                }
                Err(error) => say(&Event::NotStarted {
                    id,
                    error: error.to_string(),
                }),
            },
            Command::Signal { id, signal } => {
                let spawned = self.running.iter().find(|(_, known)| **known == id);
                if let (Some((&pid, _)), Some(signal)) = (spawned, Signal::from_named_raw(signal)) {
                    sweep::signal(pid, signal);
                }
            }
            Command::Stop { grace_ms } => self.begin_end(Duration::from_millis(grace_ms)),
        }
    }

    fn begin_end(&mut self, grace: Duration) {
        if self.deadline.is_some() {
            return;
        }
        self.deadline = Some(Instant::now() + grace.min(LONGEST_GRACE));
        for &pid in self.running.keys() {
            sweep::signal(pid, Signal::TERM);
        }
    }

    /// Collects all who have ended, adopted descendants included, and reports those spawned.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let Some(exit) = Exit::of(status) else {
                continue;
            };
            let pid = Pid::as_raw(Some(pid)).unsigned_abs();
            if let Some(id) = self.running.remove(&pid) {
                say(&Event::Exited { id, exit });
            }
        }
    }
}

fn spawn(
    words: &[String],
    cwd: &Path,
    env: &BTreeMap<String, String>,
    log: Option<&Path>,
    output: Option<&Path>,
) -> io::Result<u32> {
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"))?;
    if !cwd.is_dir() {
        let message = format!("{} is not a folder", cwd.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    let open = |path| {
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(path)
    };
    let log: OwnedFd = match log {
        Some(path) => open(path)?.into(),
        None => io::stderr().as_fd().try_clone_to_owned()?,
    };
    let output = match output {
        Some(path) => open(path)?.into(),
        None => log.try_clone()?,
    };
    let child = Process::new(program)
        .args(arguments)
        .current_dir(cwd)
        .envs(env)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(log)
        .spawn()?;
    // Reaped by pid together with all other orphans, so the handle is not kept.
    Ok(child.id())
}

fn pin(cpus: &[usize]) -> Result<(), String> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(format!("processor {cpu} is out of range"));
        }
        set.set(cpu);
    }
    sched_setaffinity(None, &set).map_err(|error| format!("processors {cpus:?}: {error}"))
}

/// The event pipe is this process's standard output. A failure to write means that powerband is
/// gone, which standard input shows as well.
fn say(event: &Event) {
    let mut line = serde_json::to_vec(event).expect("events are plain data");
    line.push(b'\n');
    let mut rest = line.as_slice();
    while !rest.is_empty() {
        match rustix::io::write(rustix::stdio::stdout().as_fd(), rest) {
            Ok(written) => rest = &rest[written..],
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Whether the other end of the pipe is closed; also true if `poll` fails.
fn powerband_is_gone() -> bool {
    let mut fds = [PollFd::from_borrowed_fd(
        rustix::stdio::stdin(),
        PollFlags::IN,
    )];
    poll(&mut fds, Some(&Timespec::default())).is_err() || fds[0].revents().contains(PollFlags::HUP)
}

/// True when there was something.
fn drain(mut pipe: &UnixStream) -> bool {
    let mut buffer = [0; 64];
    let mut some = false;
    while let Ok(1..) = pipe.read(&mut buffer) {
        some = true;
    }
    some
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN_A_PROCESS_OF_ITS_OWN: &str = "POWERBAND_TEST_KEEPER_FAILS";

    /// A keeper ends all descendants of its process: the test runs itself again, as one.
    #[test]
    fn a_keeper_that_fails_leaves_nothing_running() {
        if let Some(file) = std::env::var_os(IN_A_PROCESS_OF_ITS_OWN) {
            let words = ["sleep", "600"].map(String::from);
            let null = Path::new("/dev/null");
            let kept = spawn(&words, Path::new("/"), &BTreeMap::new(), Some(null), None).unwrap();
            let mut keeper = Keeper::new().unwrap();
            keeper.remove.orphaned = vec![Path::new(&file).with_extension("group")];
            std::fs::write(&file, kept.to_string()).unwrap();
            let failed = keeper.run_by(|_| Err(io::Error::other("poll")));
            assert_eq!(failed.unwrap_err().to_string(), "poll");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let group = file.with_extension("group");
        std::fs::create_dir(&group).unwrap();
        let output = Process::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "guard::keeper::tests::a_keeper_that_fails_leaves_nothing_running",
            ])
            .env(IN_A_PROCESS_OF_ITS_OWN, &file)
            // Closed at once: for the keeper powerband is gone.
            .stdin(Stdio::piped())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let kept = std::fs::read_to_string(&file).unwrap();
        assert!(!Path::new("/proc").join(kept).exists());
        assert!(!group.exists());
    }
}
