//! Watches the connections of all processes that a run starts: the prepare command, hooks, services, servers, commands.
//! The first connection to another machine that `--allow-remote` does not name ends the run.
//!
//! `servers::safety` judges variables and files before the start; addresses in the application's code are found only here.
//! A tunnel on this machine cannot be distinguished from a local service.

mod judge;

use crate::error::Stopped;
use crate::progress::{Event, Watcher};
use crate::request::Experiment;
use host::sockets::Protocol;
use host::{Connection, HostError, Tree};
use judge::{Judge, name_servers};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The shortest time between two samples.
const EVERY: Duration = Duration::from_millis(250);
/// The next sample waits at least this many times as long as the last one took. Under load the kernel's tables have tens of
/// thousands of lines, and reading them must not disturb the measurement.
const REST: u32 = 100;
/// The longest process name in a message, in characters.
const LONGEST_NAME: usize = 80;

/// A watcher around the user's watcher. It cancels the run at the first connection that is not allowed.
pub struct Peers<'a> {
    watcher: &'a dyn Watcher,
    tree: Tree,
    /// The load generator must never wait for this lock: it asks `cancelled` between requests.
    looking: Mutex<Looking>,
    refused: OnceLock<String>,
    is_over: Mutex<bool>,
    ended: Condvar,
}

struct Looking {
    judge: Judge,
    /// The user was warned that some connections cannot be read.
    warned: bool,
}

impl std::fmt::Debug for Peers<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peers")
            .field("tree", &self.tree)
            .finish_non_exhaustive()
    }
}

/// Does `work` while the connections of all descendants of this process are watched. The second value is the refusal, if any;
/// it replaces the result of the work.
pub fn watched<T>(
    experiment: &Experiment,
    watcher: &dyn Watcher,
    work: impl FnOnce(&Peers<'_>) -> T,
) -> (T, Option<Stopped>) {
    let resolvers = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let judge = Judge::new(experiment.allow_remote.clone(), name_servers(&resolvers));
    let peers = Peers {
        watcher,
        tree: Tree::from(std::process::id()).without_root(),
        looking: Mutex::new(Looking {
            judge,
            warned: false,
        }),
        refused: OnceLock::new(),
        is_over: Mutex::new(false),
        ended: Condvar::new(),
    };
    let result = std::thread::scope(|scope| {
        scope.spawn(|| peers.keep_looking());
        let _over = Over(&peers);
        work(&peers)
    });
    let refused = peers.refused.into_inner();
    (result, refused.map(Stopped::Configuration))
}

/// Ends the sampling thread, also when the work panics.
struct Over<'a>(&'a Peers<'a>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        *locked(&self.0.is_over) = true;
        self.0.ended.notify_all();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Peers<'_> {
    /// Takes a sample now. True when the run must stop.
    pub fn look(&self) -> bool {
        let mut looking = locked(&self.looking);
        if self.refused.get().is_none() {
            self.look_with(&mut looking);
        }
        self.refused.get().is_some()
    }

    fn keep_looking(&self) {
        let mut is_over = locked(&self.is_over);
        while !*is_over {
            drop(is_over);
            let began = Instant::now();
            if self.look() {
                return;
            }
            let rest = EVERY.max(began.elapsed() * REST);
            let waited = self
                .ended
                .wait_timeout_while(locked(&self.is_over), rest, |is_over| !*is_over);
            is_over = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn look_with(&self, looking: &mut Looking) {
        let connections = match self.tree.connections() {
            Ok(connections) => connections,
            Err(error) => return self.tell(looking, "connections to other machines", &error),
        };
        for connection in &connections.found {
            if !looking.judge.takes(&connection.socket) {
                let unresolved = looking.judge.unresolved();
                let _ = self.refused.set(refusal(connection, unresolved.as_deref()));
                return;
            }
        }
        for (pid, error) in &connections.unreadable {
            // A process that has exited since needs no warning.
            if std::path::Path::new(&format!("/proc/{pid}/fd")).exists() {
                self.tell(
                    looking,
                    &format!("the connections of {}", called(*pid)),
                    error,
                );
            }
        }
    }

    /// Warns once per run.
    fn tell(&self, looking: &mut Looking, what: &str, error: &HostError) {
        if !std::mem::replace(&mut looking.warned, true) {
            self.watcher.on(Event::Note(format!(
                "{what} cannot be checked: {error}; run powerband as the user of these processes, or as root"
            )));
        }
    }
}

impl Watcher for Peers<'_> {
    fn on(&self, event: Event<'_>) {
        self.watcher.on(event);
    }

    fn cancelled(&self) -> bool {
        self.watcher.cancelled() || self.refused.get().is_some()
    }

    fn elapsed(&self) -> Duration {
        self.watcher.elapsed()
    }
}

fn refusal(connection: &Connection, unresolved: Option<&str>) -> String {
    let socket = &connection.socket;
    let what = match (socket.protocol, socket.is_connecting) {
        (Protocol::Udp, _) => "talks over UDP to",
        (Protocol::Tcp, true) => "is connecting to",
        (Protocol::Tcp, false) => "has a connection to",
    };
    let peer = socket.peer;
    let unresolved = unresolved.map_or(String::new(), |why| format!(" ({why})"));
    format!(
        "{} {what} {peer}, which is not this machine{unresolved}, and the run was ended; give the application a local copy of \
         that service, or allow the run to use it with --allow-remote {peer}",
        called(connection.pid)
    )
}

/// The pid and name of a process. Its arguments are left out: they may be secrets.
fn called(pid: u32) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let name = words.split(|byte| *byte == 0).next().unwrap_or_default();
    let name: String = String::from_utf8_lossy(name)
        .chars()
        .take(LONGEST_NAME)
        .collect();
    match name.trim() {
        "" => format!("process {pid}"),
        name => format!("process {pid} ({name})"),
    }
}

#[cfg(test)]
mod tests {
    use super::refusal;
    use host::Connection;
    use host::sockets::{Protocol, Socket};

    #[test]
    fn a_refusal_names_the_process_the_protocol_the_peer_and_the_remedy() {
        let said = |protocol, is_connecting| {
            let socket = Socket {
                protocol,
                local: "10.0.0.1:40000".parse().unwrap(),
                peer: "10.0.0.9:5432".parse().unwrap(),
                is_connecting,
                is_accepted: false,
                inode: 1,
            };
            let pid = std::process::id();
            refusal(&Connection { pid, socket }, Some("of db.test"))
        };
        for (protocol, is_connecting, does) in [
            (Protocol::Tcp, false, "has a connection to"),
            (Protocol::Tcp, true, "is connecting to"),
            (Protocol::Udp, false, "talks over UDP to"),
        ] {
            let text = said(protocol, is_connecting);
            let begin = format!("process {} (", std::process::id());
            assert!(text.starts_with(&begin), "{text}");
            let middle = format!(") {does} 10.0.0.9:5432, which is not this machine (of db.test)");
            assert!(text.contains(&middle), "{text}");
            assert!(text.ends_with("--allow-remote 10.0.0.9:5432"), "{text}");
        }
    }
}
