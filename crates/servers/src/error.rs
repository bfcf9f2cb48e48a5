//! Why a server would not start, or is no longer there.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::guard::{Exit, GuardError};
use crate::log::Excerpt;

/// A process that should be running ended.
#[derive(Debug, Clone, Error)]
#[error("{what} died ({}): {}", exit.map_or("the guard process is gone".into(), |e| e.to_string()), log)]
pub struct Died {
    /// "the server", or a service's name.
    pub what: String,
    /// `None` when its guard was killed, so that its status is unknown.
    pub exit: Option<Exit>,
    /// What it wrote.
    pub log: Excerpt,
}

/// Why a server did not start. When this is returned, nothing of it is left running.
#[derive(Debug, Error)]
pub enum StartError {
    #[error("interrupted")]
    Cancelled,
    #[error("threads = {0} is not possible: a server needs at least 1 thread")]
    NoThreads(u16),
    #[error(
        "threads = {threads} is not possible with {server}: it has {serves}; ask for \
         threads = 1, and for more workers where more is to be served at once"
    )]
    OneThread {
        server: &'static str,
        serves: &'static str,
        threads: u16,
    },
    #[error("workers = 0 is not possible with {server}: it needs at least 1 worker")]
    NoWorkers { server: &'static str },
    #[error("{what} is not installed, or not on the PATH; Debian has it in the package {package}")]
    NotInstalled { what: String, package: &'static str },
    #[error(
        "{what} does not take what was generated for it; change the settings that it names: {said}"
    )]
    Refused { what: &'static str, said: String },
    #[error("the server command is empty; give the words that start the server")]
    EmptyCommand,
    #[error(
        "port {port} is in use; end what listens there, give another port, or give none and a free \
         one is picked"
    )]
    PortInUse { port: u16 },
    #[error("cannot get port {port} of 127.0.0.1: {source}")]
    Port { port: u16, source: io::Error },
    #[error("cannot {action} {path}: {source}")]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{what} cannot be awaited at {url:?}: only http://127.0.0.1:PORT/PATH is understood")]
    ReadyUrl { what: String, url: String },
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error(transparent)]
    Died(Died),
    #[error("{what} answers {path} with status {status}: {log}")]
    AnswersError {
        what: String,
        path: String,
        status: u16,
        log: Excerpt,
    },
    #[error("{what} runs but will never serve: {why}: {log}")]
    Hopeless {
        what: String,
        why: &'static str,
        log: Excerpt,
    },
    #[error(
        "{what} was not ready within {} s ({missing}); allow it more time, or look at why: {log}",
        waited.as_secs()
    )]
    NotReady {
        what: String,
        /// What was still missing, for a person.
        missing: String,
        waited: Duration,
        log: Excerpt,
    },
}
