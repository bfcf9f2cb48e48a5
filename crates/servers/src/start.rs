//! From a [`ServerSpec`] to a server that answers with everything it was asked to boot.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::control::Control;
use crate::error::{Died, StartError};
use crate::files::{failed, nonce, private_dir, private_file};
use crate::guard::{Guard, ProcessSpec};
use crate::http::{self, Target};
use crate::log::Log;
use crate::port;
use crate::puma::{self, PumaFiles};
use crate::running::{Running, Service, Stopping};
use crate::spec::{Ready, ServerCommand, ServerSpec};

/// Another process may take a free port before the server binds it; thrice in a row is no accident.
const PORT_ATTEMPTS: usize = 3;
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How long powerband's death leaves the server to end by itself.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);
/// A Unix socket's path holds 107 bytes.
const LONGEST_SOCKET: usize = 107;

/// Starts the services and the server, and waits until it answers and every worker has booted.
/// `cancel` is asked every few milliseconds; true ends the attempt.
///
/// # Errors
/// Says what is wrong in terms of the application; nothing of the attempt is left running then.
pub fn start(spec: &ServerSpec, cancel: &dyn Fn() -> bool) -> Result<Running, StartError> {
    if spec.settings.threads == 0 {
        return Err(StartError::NoThreads(0));
    }
    let (ServerCommand::Puma { program: words, .. } | ServerCommand::Custom { words }) =
        &spec.command;
    if words.is_empty() {
        return Err(StartError::EmptyCommand);
    }
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
        let port = port::choose(spec.port)?;
        match start_at(spec, port, cancel) {
            Err(StartError::Died(died)) if lost_the_port(&died) => {
                if let Some(port) = spec.port {
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

fn lost_the_port(died: &Died) -> bool {
    let said = |text: &str| died.last_log_lines.iter().any(|line| line.contains(text));
    said("Address already in use") || said("EADDRINUSE")
}

fn start_at(
    spec: &ServerSpec,
    port: u16,
    cancel: &dyn Fn() -> bool,
) -> Result<Running, StartError> {
    let inherited = |key: &str| std::env::var(key).ok();
    let env = puma::environment(spec, port, inherited);
    let (files, remove) = lay_out(spec)?;
    private_file(&files.config, &puma::config_text(spec.settings, &files))?;
    let words = puma::words(spec, port, &files, &env["RACK_ENV"]);
    let log = Log::from_here(&spec.log_path, &env);
    let cpus = spec.cpus.clone();
    let mut guard = Guard::launch(&spec.guard, cpus, ORPHAN_GRACE, remove, &spec.log_path)?;
    let mut services = Vec::new();
    for service in &spec.services {
        let waiting = Process {
            words: &service.command,
            cwd: &service.cwd,
            env: &service.env,
            what: format!("the service {:?}", service.name),
        }
        .spawn(&mut guard, spec, &log, cancel)?;
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
        services.push(Service {
            id: waiting.id,
            what: waiting.what,
        });
    }
    let server = Process {
        words: &words,
        cwd: &spec.app_dir,
        env: &env,
        what: "the server".into(),
    };
    let waiting = server.spawn(&mut guard, spec, &log, cancel)?;
    waiting.until_it_answers(port, &spec.ready_path)?;
    let control = puma::is_controlled(&spec.command).then_some(&files.control);
    if let Some(control) = control {
        waiting.until_all_workers_booted(control, &files)?;
    }
    let (id, pid) = (waiting.id, waiting.pid);
    Ok(Running {
        port,
        server: (id, pid),
        settings: spec.settings,
        effective: control.map(|_| files.effective.clone()),
        control: control.cloned(),
        log,
        stopping: Stopping {
            guard: Some(guard),
            grace: spec.stop_grace,
            server: id,
            services,
            ask: control.cloned(),
        },
    })
}

/// Names the files of this start, and those among them that must not outlive it.
fn lay_out(spec: &ServerSpec) -> Result<(PumaFiles, Vec<PathBuf>), StartError> {
    let work = &spec.work_dir;
    let token = nonce()?;
    let mut socket = work.join("puma.sock");
    let config = work.join("puma.rb");
    // They hold the token, or are of no use to anybody afterwards.
    let mut remove = vec![
        work.join("puma.pid"),
        work.join("puma.state"),
        config.clone(),
    ];
    if socket.as_os_str().len() > LONGEST_SOCKET {
        let folder = std::env::temp_dir().join(format!("powerband-{}", nonce()?));
        private_dir(&folder)?;
        socket = folder.join("s");
        remove.extend([socket.clone(), folder]);
    } else {
        remove.push(socket.clone());
    }
    let effective = work.join("effective.json");
    for stale in [&effective, &socket] {
        match std::fs::remove_file(stale) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed("remove", stale)(error));
            }
            _ => {}
        }
    }
    let files = PumaFiles {
        config,
        effective,
        pid: work.join("puma.pid"),
        state: work.join("puma.state"),
        control: Control { socket, token },
    };
    Ok((files, remove))
}

struct Process<'a> {
    words: &'a [String],
    cwd: &'a std::path::Path,
    env: &'a BTreeMap<String, String>,
    what: String,
}

impl<'a> Process<'a> {
    fn spawn<'g>(
        self,
        guard: &'g mut Guard,
        spec: &'g ServerSpec,
        log: &'g Log,
        cancel: &'g dyn Fn() -> bool,
    ) -> Result<Waiting<'g>, StartError> {
        let (id, pid) = guard.spawn(&ProcessSpec {
            words: self.words,
            cwd: self.cwd,
            env: self.env,
            log: &spec.log_path,
            output: None,
        })?;
        Ok(Waiting {
            guard,
            id,
            pid,
            what: self.what,
            since: Instant::now(),
            limit: spec.boot_timeout,
            log,
            cancel,
        })
    }
}

/// A process that was started and is not ready yet.
struct Waiting<'a> {
    guard: &'a Guard,
    id: u32,
    pid: u32,
    what: String,
    since: Instant,
    limit: Duration,
    log: &'a Log,
    cancel: &'a dyn Fn() -> bool,
}

impl Waiting<'_> {
    /// Fails when waiting any longer is of no use.
    fn check(&self, missing: &str) -> Result<(), StartError> {
        let exit = self.guard.exit_of(self.id);
        if exit.is_some() || self.guard.is_gone() {
            return Err(StartError::Died(Died {
                what: self.what.clone(),
                exit,
                last_log_lines: self.log.last_lines(),
                log_path: self.log.path(),
            }));
        }
        if (self.cancel)() {
            return Err(StartError::Cancelled);
        }
        let waited = self.since.elapsed();
        if waited < self.limit {
            return Ok(());
        }
        Err(StartError::NotReady {
            what: self.what.clone(),
            missing: missing.to_string(),
            waited,
            last_log_lines: self.log.last_lines(),
            log_path: self.log.path(),
        })
    }

    /// Waits a moment, less if the process ends, then [`Self::check`]s.
    fn pause(&self, missing: &str) -> Result<(), StartError> {
        self.guard.wait_exit(self.id, LOOK_AGAIN);
        self.check(missing)
    }

    fn until_listening(&self, port: u16) -> Result<(), StartError> {
        while std::net::TcpStream::connect_timeout(&port::loopback(port), LOOK_AGAIN).is_err() {
            self.pause(&format!("nothing listens on port {port}"))?;
        }
        self.check("it listens")
    }

    fn until_it_answers(&self, port: u16, path: &str) -> Result<(), StartError> {
        let target = Target::Tcp(port::loopback(port));
        let mut missing = format!("no answer to GET {path} on port {port}");
        loop {
            match http::get(&target, path, || self.check(&missing))? {
                Ok(answer) if answer.status < 500 => return self.check(&missing),
                // How servers and proxies say that they are still booting.
                Ok(answer) if answer.status == 503 => {
                    missing = format!("GET {path} is answered with status 503");
                }
                Ok(answer) => {
                    return Err(StartError::AnswersError {
                        what: self.what.clone(),
                        path: path.to_string(),
                        status: answer.status,
                        last_log_lines: self.log.last_lines(),
                        log_path: self.log.path(),
                    });
                }
                Err(_) => {}
            }
            self.pause(&missing)?;
        }
    }

    /// Also waits for the settings that Puma writes once it has booted.
    fn until_all_workers_booted(
        &self,
        control: &Control,
        files: &PumaFiles,
    ) -> Result<(), StartError> {
        loop {
            let missing = match control.status() {
                Ok(status) if status.is_complete() && files.effective.exists() => return Ok(()),
                Ok(status) => {
                    format!(
                        "{} of {} workers have booted",
                        status.booted(),
                        status.workers.len()
                    )
                }
                Err(error) => error.to_string(),
            };
            self.pause(&missing)?;
        }
    }
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
