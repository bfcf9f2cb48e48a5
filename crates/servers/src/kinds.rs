//! The kinds of servers: checks before a start, and which module prepares which.

use crate::custom;
use crate::environment::environment;
use crate::error::StartError;
use crate::falcon;
use crate::passenger;
use crate::prefork;
use crate::prepared::Prepared;
use crate::puma;
use crate::spec::{ServerCommand, ServerSpec, Settings};

/// Refuses what can never start, before anything is made.
pub(crate) fn check(spec: &ServerSpec) -> Result<(), StartError> {
    if spec.settings.threads == 0 {
        return Err(StartError::NoThreads(0));
    }
    match &spec.command {
        ServerCommand::Prefork(prefork) => {
            one_thread(prefork.server.name(), ONE_REQUEST, spec.settings)?;
        }
        ServerCommand::Falcon { .. } => {
            one_thread("Falcon", "fibers of one thread a process", spec.settings)?;
        }
        ServerCommand::Passenger(_) => one_thread("Passenger", ONE_REQUEST, spec.settings)?,
        ServerCommand::Puma { .. } | ServerCommand::Custom { .. } => {}
    }
    if spec.command.words().is_empty() {
        return Err(StartError::EmptyCommand);
    }
    Ok(())
}

const ONE_REQUEST: &str = "one request a process";

/// `serves`: what serves requests in place of threads.
fn one_thread(
    server: &'static str,
    serves: &'static str,
    settings: Settings,
) -> Result<(), StartError> {
    let Settings {
        threads, workers, ..
    } = settings;
    match (threads, workers) {
        (1, 1..) => Ok(()),
        (1, 0) => Err(StartError::NoWorkers { server }),
        _ => Err(StartError::OneThread {
            server,
            serves,
            threads,
        }),
    }
}

/// Writes what the server reads, for one attempt to start it at `port`.
pub(crate) fn prepare(spec: &ServerSpec, port: u16) -> Result<Prepared, StartError> {
    let env = environment(spec, port, |key| std::env::var(key).ok());
    match &spec.command {
        ServerCommand::Puma { program, config } => puma::prepare(spec, env, |generated, name| {
            let own = config.clone().or_else(|| {
                (!puma::names_config(program))
                    .then(|| puma::own_config(&spec.app_dir, name))
                    .flatten()
            });
            puma::words(program, own.as_deref(), spec.settings, port, generated)
        }),
        ServerCommand::Prefork(prefork) => prefork::prepare(spec, prefork, port, env),
        ServerCommand::Falcon { program } => Ok(falcon::prepare(spec, program, port, env)),
        ServerCommand::Passenger(passenger) => passenger::prepare(spec, passenger, port, env),
        ServerCommand::Custom { words } => custom::prepare(spec, words, port, env),
    }
}
