//! From a [`ServerSpec`] to a server that answers with everything it was asked to boot.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::{Died, StartError};
use crate::files::private_dir;
use crate::front::Front;
use crate::guard::{Guard, Remove};
use crate::kinds;
use crate::log::Log;
use crate::nginx;
use crate::port;
use crate::prepared::Prepared;
use crate::running::{Running, Stopping};
use crate::service::Service;
use crate::spec::{Ready, ServerSpec};
use crate::waiting::Process;
use crate::words;

/// Another process may take a free port before the server binds it; thrice in a row is no accident.
const PORT_ATTEMPTS: usize = 3;
/// What stands in front, in messages.
const FRONT: &str = "nginx";
const SERVER: &str = "the server";
/// How long powerband's death leaves the server to end by itself.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);

/// Starts the services and the server, and waits until it answers and every worker has booted.
/// `cancel` is asked every few milliseconds; true ends the attempt.
///
/// # Errors
/// Says what is wrong in terms of the application; nothing of the attempt is left running then.
pub fn start(spec: &ServerSpec, cancel: &dyn Fn() -> bool) -> Result<Running, StartError> {
    kinds::check(spec)?;
    let spec = &spec.absolute()?;
    private_dir(&spec.work_dir)?;
    if let Some(folder) = spec.log_path.parent() {
        private_dir(folder)?;
    }
    if let Some(agent) = &spec.agent {
        private_dir(&agent.flight_dir)?;
    }
    let mut attempt = 1;
    loop {
        let ports = Ports::choose(spec)?;
        match start_at(spec, &ports, cancel) {
            Err(StartError::Died(died)) if lost_the_port(&died) => {
                // Where something stands in front, that has the port that was asked for.
                let is_public = spec.front.is_none() || died.what == FRONT;
                if let Some(port) = spec.port.filter(|_| is_public) {
                    return Err(StartError::PortInUse { port });
                }
                if attempt == PORT_ATTEMPTS {
                    return Err(StartError::Died(died));
                }
                attempt += 1;
            }
            other => return other,
        }
    }
}

struct Ports {
    server: u16,
    front: Option<u16>,
}

impl Ports {
    fn choose(spec: &ServerSpec) -> Result<Self, StartError> {
        let public = port::choose(spec.port)?;
        Ok(if spec.front.is_some() {
            Ports {
                server: port::choose(None)?,
                front: Some(public),
            }
        } else {
            Ports {
                server: public,
                front: None,
            }
        })
    }
}

fn lost_the_port(died: &Died) -> bool {
    let said = |text: &str| died.log.says(text);
    // A service that lost its own is not helped by other ports of the server.
    [SERVER, FRONT].contains(&died.what.as_str())
        && (said("Address already in use") || said("EADDRINUSE"))
}

fn start_at(
    spec: &ServerSpec,
    ports: &Ports,
    cancel: &dyn Fn() -> bool,
) -> Result<Running, StartError> {
    let Prepared {
        words,
        env,
        mut remove,
        handle,
    } = kinds::prepare(spec, ports.server)?;
    let front = match (&spec.front, ports.front) {
        (Some(nginx), Some(port)) => {
            let front = nginx::prepare(nginx, &spec.work_dir, port, ports.server)
                .inspect_err(|_| remove.now())?;
            remove.files.extend(front.remove.iter().cloned());
            Some((nginx, port, front))
        }
        _ => None,
    };
    let log = Log::from_here(&spec.log_path, &env).of_application(&spec.app_dir);
    let cpus = spec.cpus.clone();
    let words = words::inside(&spec.groups, words);
    let launched = Guard::launch(
        &spec.guard,
        cpus,
        ORPHAN_GRACE,
        Remove {
            orphaned: spec.groups.clone(),
            ..remove.clone()
        },
        Some(&spec.log_path),
    );
    let mut guard = launched.inspect_err(|_| remove.now())?;
    let services = start_services(spec, &mut guard, &log, cancel)?;
    let server = Process {
        words: &words,
        cwd: &spec.app_dir,
        env: &env,
        what: SERVER.into(),
    };
    let waiting = server.spawn(&mut guard, spec, &log, cancel)?;
    waiting.until_it_answers(ports.server, &spec.ready_path)?;
    waiting.until_complete(handle.as_ref())?;
    let server = waiting.service();
    let front = match front {
        None => None,
        Some((nginx, port, prepared)) => {
            let process = Process {
                words: &prepared.words,
                cwd: &spec.work_dir,
                env: &BTreeMap::new(),
                what: FRONT.into(),
            };
            let waiting = process.spawn(&mut guard, spec, &log, cancel)?;
            waiting.until_listening(port)?;
            // With TLS this client could not ask; that the server answers is known.
            if !nginx.tls {
                waiting.until_it_answers(port, &spec.ready_path)?;
            }
            waiting.until_workers(nginx)?;
            Some(Front {
                port,
                process: waiting.service(),
                asked: nginx.clone(),
                version: prepared.version,
                certificate: prepared.certificate,
            })
        }
    };
    Ok(Running {
        upstream_port: ports.server,
        server: (server.id, server.pid),
        settings: spec.settings,
        log,
        stopping: Stopping {
            guard: Some(guard),
            grace: spec.stop_grace,
            server: server.id,
            front: front.as_ref().map(|front| front.process.id),
            services,
            handle,
        },
        front,
    })
}

fn start_services(
    spec: &ServerSpec,
    guard: &mut Guard,
    log: &Log,
    cancel: &dyn Fn() -> bool,
) -> Result<Vec<Service>, StartError> {
    let mut services = Vec::new();
    for service in &spec.services {
        let waiting = Process {
            words: &service.command,
            cwd: &service.cwd,
            env: &service.env,
            what: format!("the service {:?}", service.name),
        }
        .spawn(guard, spec, log, cancel)?;
        match &service.ready {
            None => waiting.check("running")?,
            Some(Ready::Port(port)) => waiting.until_listening(*port)?,
            Some(Ready::Url(url)) => {
                let (port, path) = parse_url(url).ok_or_else(|| StartError::ReadyUrl {
                    what: waiting.what.clone(),
                    url: url.clone(),
                })?;
                waiting.until_it_answers(port, path)?;
            }
        }
        services.push(waiting.service());
    }
    Ok(services)
}

fn parse_url(url: &str) -> Option<(u16, &str)> {
    let rest = url.strip_prefix("http://")?;
    let rest = rest
        .strip_prefix("127.0.0.1:")
        .or_else(|| rest.strip_prefix("localhost:"))?;
    let path_at = rest.find('/').unwrap_or(rest.len());
    let path = if path_at == rest.len() {
        "/"
    } else {
        &rest[path_at..]
    };
    Some((rest[..path_at].parse().ok()?, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_services_address_is_on_loopback_with_a_port() {
        assert_eq!(
            parse_url("http://127.0.0.1:80/up?x=1"),
            Some((80, "/up?x=1"))
        );
        assert_eq!(parse_url("http://localhost:8080"), Some((8080, "/")));
        for wrong in [
            "https://127.0.0.1:1/",
            "http://127.0.0.1/",
            "http://example.org:80/",
        ] {
            assert_eq!(parse_url(wrong), None, "{wrong}");
        }
    }
}
