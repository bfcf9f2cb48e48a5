//! What a run is asked to do, and what makes it impossible. Nothing here
//! touches the network.

use std::time::Duration;

use crate::arrivals::Arrivals;
use crate::header::Header;
use crate::histogram::HIGHEST_US;
use crate::target::Target;
use crate::think::Think;
use crate::workload::Workload;

/// How requests are started.
#[derive(Debug, Clone, PartialEq)]
pub enum Mode {
    /// On schedule, whatever the server does.
    Open {
        /// When requests are due.
        arrivals: Arrivals,
        /// Connections opened as needed up to this many; beyond it requests
        /// wait, and the wait is part of their response time.
        max_connections: usize,
    },
    /// Each connection sends its next request when its answer has come and
    /// its user has thought about it.
    Closed {
        /// How many do so.
        connections: usize,
        /// Between an answer and the next request.
        think: Think,
    },
}

impl Mode {
    /// A closed loop without think time.
    #[must_use]
    pub fn closed(connections: usize) -> Self {
        let think = Think::None;
        Self::Closed { connections, think }
    }

    /// The most connections that may be open at once.
    #[must_use]
    pub fn connections(&self) -> usize {
        match *self {
            Self::Open {
                max_connections, ..
            } => max_connections,
            Self::Closed { connections, .. } => connections,
        }
    }
}

/// When the window ends: whichever comes first; neither means when the
/// observer says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stop {
    /// Length of the window.
    pub after: Option<Duration>,
    /// Requests started.
    pub requests: Option<u64>,
}

impl Stop {
    /// After this long.
    #[must_use]
    pub fn after(duration: Duration) -> Self {
        Self {
            after: Some(duration),
            requests: None,
        }
    }

    /// After this many requests.
    #[must_use]
    pub fn requests(count: u64) -> Self {
        Self {
            after: None,
            requests: Some(count),
        }
    }

    /// When the observer says so.
    #[must_use]
    pub fn when_told() -> Self {
        Self::default()
    }
}

/// One run against one server. [`Plan::new`] gives defaults for the rest.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Where to connect, and the `Host` header.
    pub target: Target,
    /// What is asked.
    pub workload: Workload,
    /// Of the request sequence.
    pub seed: u64,
    /// Open or closed loop.
    pub mode: Mode,
    /// The end of the window.
    pub stop: Stop,
    /// From the scheduled instant (closed loop: from the start, or the end of
    /// the think time) to the last byte; above zero, at most 30 minutes. Default 30 s.
    pub timeout: Duration,
    /// Reuse connections (default here; every verb says which it wants);
    /// otherwise each request opens its own and sends `Connection: close`, as
    /// nginx long did towards its upstreams. Puma 6 keeps a thread waiting up
    /// to 0.2 s for the next request of a kept connection, which `docs/load.md`
    /// explains.
    pub keep_alive: bool,
    /// Sent with each request that has none of the same name. Default none.
    pub headers: Vec<Header>,
    /// The response time beyond which a request is a violation.
    pub objective: Option<Duration>,
    /// Send `X-Request-Start: t=<Unix time of the scheduled instant in µs>`.
    /// Default true.
    pub send_request_start: bool,
    /// Between the observer's ticks, and the length of a [`crate::Slice`];
    /// 10 ms to 1 h. Default 1 s.
    pub slice: Duration,
    /// How long to wait, once the window has ended, for answers still due;
    /// the rest count as timeouts. Default 30 s.
    pub drain: Duration,
    /// At most how long to poll without sleeping before a request is due. How
    /// long is learned: about as long as the timer wakes late. Default zero: a
    /// generator that does not sleep takes the CPU from a server that shares
    /// its core.
    pub spin: Duration,
    /// Permit a target that is not loopback. Default false.
    pub allow_remote: bool,
    /// Keep each good answer ([`crate::Outcome::answers`]): 16 bytes a
    /// request. Default false.
    pub keep_answers: bool,
}

/// Connections an open loop may hold by default.
pub const DEFAULT_MAX_CONNECTIONS: usize = 1024;

impl Plan {
    /// A plan with the defaults.
    #[must_use]
    pub fn new(target: impl Into<Target>, workload: Workload, mode: Mode, stop: Stop) -> Self {
        Self {
            target: target.into(),
            workload,
            seed: 0,
            mode,
            stop,
            timeout: Duration::from_secs(30),
            keep_alive: true,
            headers: Vec::new(),
            objective: None,
            send_request_start: true,
            slice: Duration::from_secs(1),
            drain: Duration::from_secs(30),
            spin: Duration::ZERO,
            allow_remote: false,
            keep_answers: false,
        }
    }

    /// Does the server take requests as coming by https? Its `Secure` cookies are sent back then.
    pub(crate) fn is_by_https(&self) -> bool {
        self.target.is_tls() || self.headers.iter().any(Header::tells_https)
    }

    /// Is it a server on this machine, without TLS and without a header that names the scheme? Only there
    /// `X-Forwarded-Proto` may be sent unasked.
    #[must_use]
    pub fn may_be_forwarded(&self) -> bool {
        let told = self.headers.iter().any(Header::tells_scheme);
        self.target.is_local() && !self.target.is_tls() && !told
    }

    /// Refuses what cannot be run.
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        if !self.allow_remote && !self.target.is_local() {
            return Err(LoadError::Remote(self.target.to_string()));
        }
        let refuse = |key, value: String, remedy| Err(LoadError::Plan { key, value, remedy });
        if let Mode::Open { arrivals, .. } = &self.mode
            && let Some((key, value, remedy)) = arrivals.problem()
        {
            return refuse(key, value, remedy);
        }
        if let Mode::Closed { think, .. } = self.mode
            && let Think::Constant(time) | Think::Exponential { mean: time } = think
            && (time.is_zero() || time > Duration::from_secs(3600))
        {
            return refuse(
                "think",
                format!("{time:?}"),
                "give more than 0 and at most 1 h, or none",
            );
        }
        if !(1..=60_000).contains(&self.mode.connections()) {
            return refuse(
                "connections",
                self.mode.connections().to_string(),
                "give 1 to 60000; a client has no more ports than that",
            );
        }
        if self.timeout.is_zero() || self.timeout > Duration::from_secs(1800) {
            return refuse(
                "timeout",
                format!("{:?}", self.timeout),
                "give more than 0 and at most 30 minutes",
            );
        }
        if !(Duration::from_millis(10)..=Duration::from_secs(3600)).contains(&self.slice) {
            return refuse("slice", format!("{:?}", self.slice), "give 10 ms to 1 h");
        }
        if self.drain > Duration::from_secs(3600) {
            return refuse("drain", format!("{:?}", self.drain), "give at most 1 h");
        }
        if self
            .objective
            .is_some_and(|o| o.is_zero() || o.as_micros() >= u128::from(HIGHEST_US))
        {
            return refuse(
                "objective",
                format!("{:?}", self.objective.unwrap_or_default()),
                "give more than 0 and less than 1 h",
            );
        }
        if self.stop.requests == Some(0) || self.stop.after == Some(Duration::ZERO) {
            return refuse(
                "stop",
                "0".into(),
                "give at least one request and some time",
            );
        }
        let host = self.target.host();
        if host.is_empty() || !host.bytes().all(|b| b.is_ascii_graphic()) {
            return refuse(
                "host",
                format!("{host:?}"),
                "give a host name, with :port if need be",
            );
        }
        Ok(())
    }
}

impl LoadError {
    /// What `EADDRNOTAVAIL` means, which Linux says of both. After so many
    /// `connections` to the same target.
    pub(crate) fn no_local_address(target: String, connections: u64, requests: u64) -> Self {
        if connections == 0 {
            Self::NoAddress { target }
        } else {
            Self::NoPorts { target, requests }
        }
    }
}

/// Why a run could not be made. Errors of the server are never here: they are
/// counted in the outcome.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The target is another machine.
    #[error("{0} is not a loopback address: pass --allow-remote if that server may be loaded")]
    Remote(String),
    /// A setting of the plan is out of range.
    #[error("{key}: {value}: {remedy}")]
    Plan {
        /// Which.
        key: &'static str,
        /// What it was.
        value: String,
        /// What to give.
        remedy: &'static str,
    },
    /// The limit on open files is too low for the connections asked for.
    #[error(
        "{needed} open files are needed and the hard limit is {limit}: \
         raise it (ulimit -Hn, LimitNOFILE) or use fewer connections"
    )]
    FileLimit {
        /// What the run needs.
        needed: u64,
        /// What the process may have.
        limit: u64,
    },
    /// The machine refused another socket while the run was under way.
    #[error(
        "out of open files after {open} connections, {limit} may be open: raise ulimit -n, \
         or fs.file-max, or use fewer connections"
    )]
    NoFiles {
        /// Connections open at the time.
        open: usize,
        /// Files that the process might open then.
        limit: u64,
    },
    /// No local port is left.
    #[error(
        "out of local ports to {target} after {requests} requests: use keep-alive, a lower rate, \
         or widen net.ipv4.ip_local_port_range"
    )]
    NoPorts {
        /// The server.
        target: String,
        /// Requests started until then.
        requests: u64,
    },
    /// The machine has no address to connect from.
    #[error(
        "this machine has no address from which to reach {target} (is its kind of address, \
         IPv6 perhaps, switched off here?) or no local port left: give an address of the other \
         kind, such as 127.0.0.1 for this machine, or wait a minute for ports"
    )]
    NoAddress {
        /// The server.
        target: String,
    },
    /// A system call failed that should not.
    #[error("{call}: {source}")]
    System {
        /// Which.
        call: &'static str,
        /// How.
        source: rustix::io::Errno,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_can_only_run_out_after_connections() {
        let said = |connections| {
            LoadError::no_local_address("[::1]:80".into(), connections, 7).to_string()
        };
        assert!(said(0).contains("[::1]:80") && said(0).contains("127.0.0.1"));
        assert!(said(1).contains("out of local ports to [::1]:80 after 7"));
    }
}
