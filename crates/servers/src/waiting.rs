//! A process that was started, and the sign that it is ready.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Died, StartError};
use crate::guard::{Guard, ProcessSpec};
use crate::handle::{Handle, Progress};
use crate::http::{self, Target};
use crate::log::Log;
use crate::nginx::{self, Nginx};
use crate::port;
use crate::service::Service;
use crate::spec::ServerSpec;

const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How often the log is read while waiting.
const READ_AGAIN: Duration = Duration::from_millis(250);

pub(crate) struct Process<'a> {
    pub(crate) words: &'a [String],
    pub(crate) cwd: &'a Path,
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) what: String,
}

impl<'a> Process<'a> {
    pub(crate) fn spawn<'g>(
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
            log: Some(&spec.log_path),
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
            log_read: Cell::new(Instant::now()),
            cancel,
        })
    }
}

/// A process that was started and is not ready yet.
pub(crate) struct Waiting<'a> {
    guard: &'a Guard,
    id: u32,
    pid: u32,
    pub(crate) what: String,
    since: Instant,
    limit: Duration,
    log: &'a Log,
    log_read: Cell<Instant>,
    cancel: &'a dyn Fn() -> bool,
}

impl Waiting<'_> {
    /// It is ready: what is left to remember of it.
    pub(crate) fn service(self) -> Service {
        Service {
            id: self.id,
            pid: self.pid,
            what: self.what,
        }
    }

    /// Fails when waiting any longer is of no use.
    pub(crate) fn check(&self, missing: &str) -> Result<(), StartError> {
        let exit = self.guard.exit_of(self.id);
        if exit.is_some() || self.guard.is_gone() {
            return Err(StartError::Died(Died {
                what: self.what.clone(),
                exit,
                log: self.log.excerpt(),
            }));
        }
        if (self.cancel)() {
            return Err(StartError::Cancelled);
        }
        if self.log_read.get().elapsed() >= READ_AGAIN {
            self.log_read.set(Instant::now());
            if self.log.tells_of_no_worker() {
                return Err(StartError::Hopeless {
                    what: self.what.clone(),
                    why: "Puma cannot start a worker",
                    log: self.log.excerpt(),
                });
            }
        }
        let waited = self.since.elapsed();
        if waited < self.limit {
            return Ok(());
        }
        Err(StartError::NotReady {
            what: self.what.clone(),
            missing: missing.to_string(),
            waited,
            log: self.log.excerpt(),
        })
    }

    /// Waits a moment, less if the process ends, then [`Self::check`]s.
    fn pause(&self, missing: &str) -> Result<(), StartError> {
        self.guard.wait_exit(self.id, LOOK_AGAIN);
        self.check(missing)
    }

    pub(crate) fn until_listening(&self, port: u16) -> Result<(), StartError> {
        while std::net::TcpStream::connect_timeout(&port::loopback(port), LOOK_AGAIN).is_err() {
            self.pause(&format!("nothing listens on port {port}"))?;
        }
        self.check("it listens")
    }

    pub(crate) fn until_it_answers(&self, port: u16, path: &str) -> Result<(), StartError> {
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
                        log: self.log.excerpt(),
                    });
                }
                Err(_) => {}
            }
            self.pause(&missing)?;
        }
    }

    pub(crate) fn until_workers(&self, asked: &Nginx) -> Result<(), StartError> {
        loop {
            let (there, of) = (nginx::workers(self.pid), usize::from(asked.workers));
            if there >= of {
                return Ok(());
            }
            self.pause(&format!("{there} of {of} workers run"))?;
        }
    }

    /// Waits for all that the server was asked to boot.
    pub(crate) fn until_complete(&self, handle: &dyn Handle) -> Result<(), StartError> {
        loop {
            match handle.progress(self.pid) {
                Progress::Complete => return Ok(()),
                Progress::Missing(missing) => self.pause(&missing)?,
                Progress::Hopeless(why) => {
                    return Err(StartError::Hopeless {
                        what: self.what.clone(),
                        why,
                        log: self.log.excerpt(),
                    });
                }
            }
        }
    }
}
