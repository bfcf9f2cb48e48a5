//! A server that runs: where, whether still, its status, its end.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::control::{PumaStatus, StatusError};
use crate::error::Died;
use crate::front::Front;
use crate::guard::{Ended, Exit, Guard};
use crate::handle::Handle;
use crate::http;
use crate::log::Log;
use crate::nginx;
use crate::passenger_status::PassengerStatus;
use crate::port;
use crate::read_back::{FrontReadBack, Mismatch, ReadBack};
use crate::service::Service;
use crate::spec::Settings;

/// What services get to end by themselves where the server took all of the grace.
const SERVICE_GRACE: Duration = Duration::from_secs(2);

/// A server that answered. Dropping it stops it as [`Running::stop`] does.
#[derive(Debug)]
pub struct Running {
    pub(crate) upstream_port: u16,
    pub(crate) front: Option<Front>,
    /// The id that the guard knows it by, and its process id.
    pub(crate) server: (u32, u32),
    pub(crate) settings: Settings,
    pub(crate) log: Log,
    pub(crate) stopping: Stopping,
}

/// How a server ended.
#[derive(Debug, Clone, PartialEq)]
pub struct StopReport {
    /// The server ended within the grace and left nothing behind, and its guard saw to that.
    pub clean: bool,
    /// Processes that had to be killed.
    pub killed_pids: Vec<u32>,
    /// Processes that even SIGKILL did not end.
    pub left_pids: Vec<u32>,
    /// How the server's main process ended; `None` when its guard was killed.
    pub exit: Option<Exit>,
    /// From the request to the guard's last word.
    pub took: Duration,
}

/// The guard and what it needs to be stopped, so that dropping and stopping are one.
#[derive(Debug)]
pub(crate) struct Stopping {
    pub(crate) guard: Option<Guard>,
    pub(crate) grace: Duration,
    /// The id that the guard knows the server by.
    pub(crate) server: u32,
    pub(crate) services: Vec<Service>,
    /// The id that the guard knows what stands in front by; asked to stop first.
    pub(crate) front: Option<u32>,
    /// Asked to stop before any signal is sent.
    pub(crate) handle: Box<dyn Handle>,
}

impl Stopping {
    /// `None` when it was done before.
    fn end(&mut self) -> Option<(Ended, Option<Exit>)> {
        let mut guard = self.guard.take()?;
        let began = Instant::now();
        if let Some(front) = self.front
            && guard.exit_of(front).is_none()
            && guard.signal(front, nginx::ORDERLY_END)
        {
            guard.wait_exit(front, self.grace);
        }
        if guard.exit_of(self.server).is_none() {
            let left = self.grace.saturating_sub(began.elapsed());
            self.handle.end(&mut guard, self.server, left);
        }
        let mut grace = self.grace.saturating_sub(began.elapsed());
        let runs = |service: &Service| guard.exit_of(service.id).is_none();
        if self.services.iter().any(runs) {
            // They have not been asked yet, and are not killed for the time that the server took.
            grace = grace.max(SERVICE_GRACE);
        }
        let ended = guard.stop(grace);
        Some((ended, guard.exit_of(self.server)))
    }
}

impl Drop for Stopping {
    fn drop(&mut self) {
        self.end();
    }
}

impl Running {
    /// The main process: Puma's master in cluster mode.
    pub fn server_pid(&self) -> u32 {
        self.server.1
    }

    /// The root of the whole tree, services included.
    pub fn guard_pid(&self) -> u32 {
        self.guard().pid()
    }

    /// # Errors
    /// When the main process, what stands in front of it or one of the services ended, or their guard was killed.
    pub fn alive(&self) -> Result<(), Died> {
        let died = |what: &str, exit| {
            Err(Died {
                what: what.to_string(),
                exit,
                log: self.log.excerpt(),
            })
        };
        let exit = self.guard().exit_of(self.server.0);
        if exit.is_some() {
            return died("the server", exit);
        }
        let front = self.front.iter().map(|front| &front.process);
        for service in self.stopping.services.iter().chain(front) {
            let exit = self.guard().exit_of(service.id);
            if exit.is_some() {
                return died(&service.what, exit);
            }
        }
        if self.guard().is_gone() {
            return died("the server", None);
        }
        Ok(())
    }

    /// Waits at most `limit` for the server to end; true when it did, or a service did meanwhile.
    pub fn wait_for_death(&self, limit: Duration) -> bool {
        self.guard().wait_exit(self.server.0, limit).is_some() || self.alive().is_err()
    }

    /// Where the server writes.
    pub fn log_path(&self) -> &Path {
        self.log.path()
    }

    /// What the log says of failing requests such as `GET /weather`, with the remedy where it is known; the values of
    /// secret variables are masked.
    pub fn why_failing(&self, request: &str) -> Option<String> {
        self.log.of_page(request)
    }

    /// # Errors
    /// When the command gives no access to Puma's status, or Puma does not answer.
    pub fn status(&self) -> Result<PumaStatus, StatusError> {
        self.handle().puma_status()
    }

    /// # Errors
    /// When it is no Passenger, or Passenger does not answer.
    pub fn passenger_status(&self) -> Result<PassengerStatus, StatusError> {
        self.handle().passenger_status()
    }

    /// The body of the answer to a GET with one more header, sent to the server directly and not through its front. `go_on` is called
    /// every 50 ms of waiting and ends it with its error.
    ///
    /// # Errors
    /// The outer error is `go_on`'s; the inner one says that no answer came, or one that refuses.
    pub fn asked<E>(
        &self,
        path: &str,
        header: (&str, &str),
        go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<io::Result<Vec<u8>>, E> {
        let target = http::Target::Tcp(self.upstream_addr());
        let header = format!("{}: {}\r\n", header.0, header.1);
        let answer = http::get_with(&target, path, &header, go_on)?;
        Ok(answer.and_then(|answer| match answer.status {
            200 => Ok(answer.body),
            status => Err(io::Error::other(format!(
                "it answered {status}: {}",
                String::from_utf8_lossy(&answer.body)
            ))),
        }))
    }

    /// Where clients ask: the port on 127.0.0.1, the front's where there is one.
    pub fn port(&self) -> u16 {
        self.front
            .as_ref()
            .map_or(self.upstream_port, |front| front.port)
    }

    /// Where clients ask: the front's address where there is one.
    pub fn addr(&self) -> SocketAddr {
        port::loopback(self.port())
    }

    /// The server's own address, past what stands in front of it.
    pub fn upstream_addr(&self) -> SocketAddr {
        port::loopback(self.upstream_port)
    }

    /// `https` where the front talks TLS, else `http`.
    pub fn scheme(&self) -> &'static str {
        if self.certificate().is_some() {
            "https"
        } else {
            "http"
        }
    }

    /// What clients are to trust where [`Running::scheme`] is `https`: a file of one certificate, for 127.0.0.1 and
    /// `localhost`, signed by itself.
    pub fn certificate(&self) -> Option<&Path> {
        self.front.as_ref()?.certificate.as_deref()
    }

    /// The front's main process.
    pub fn front_pid(&self) -> Option<u32> {
        Some(self.front.as_ref()?.process.pid)
    }

    /// What stands in front runs with, and what of that was not asked; `None` where nothing does.
    pub fn read_back_front(&self) -> Option<(FrontReadBack, Option<Mismatch>)> {
        self.front.as_ref().map(Front::read_back)
    }

    /// Whether workers end and are replaced while the server serves, as it is set to do.
    pub fn replaces_workers(&self) -> bool {
        self.handle().replaces_workers()
    }

    /// What has ended meanwhile, where the server replaces no process; for a person.
    pub fn ended(&self) -> Option<String> {
        self.handle().ended(self.server_pid())
    }

    /// Compares what was asked with what runs.
    ///
    /// # Errors
    /// When the server's status cannot be read: always for a custom command without `{config}`.
    pub fn read_back(&self) -> Result<ReadBack, StatusError> {
        let mut read = self.handle().read_back(self.settings, self.server_pid())?;
        if let Some((front, mismatch)) = self.read_back_front() {
            read.front = Some(front);
            read.mismatches.extend(mismatch);
        }
        Ok(read)
    }

    /// A request to stop or SIGTERM, the grace, then the end of whatever is left, daemons included.
    pub fn stop(mut self) -> StopReport {
        let began = Instant::now();
        let (ended, exit) = self.stopping.end().expect("only stop takes the guard");
        StopReport {
            clean: ended.reported
                && exit.is_some()
                && ended.killed.is_empty()
                && ended.left.is_empty(),
            killed_pids: ended.killed,
            left_pids: ended.left,
            exit,
            took: began.elapsed(),
        }
    }

    pub(crate) fn handle(&self) -> &dyn Handle {
        self.stopping.handle.as_ref()
    }

    fn guard(&self) -> &Guard {
        self.stopping
            .guard
            .as_ref()
            .expect("only stop takes the guard")
    }
}
