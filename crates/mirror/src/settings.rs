//! The settings of a mirror: checked values, made from flags and files by the caller.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use regex::bytes::Regex;

use crate::http1::{Forwarding, Strictness};
use crate::proxy_protocol::Version;

/// A whole mirror. A reload swaps everything but where it listens.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where clients come in.
    pub listen: Listen,
    /// Who answers them. More than one: connections take turns, as with several servers behind a balancer, and
    /// shadows get what all of them get together.
    pub primaries: Vec<Primary>,
    /// The servers that get copies.
    pub shadows: Vec<Shadow>,
    /// Of the client's side.
    pub client: Client,
    /// Of all shadows together.
    pub limits: Limits,
}

impl Settings {
    /// Connections to all shadows that may be open at once.
    #[must_use]
    pub fn shadow_connections(&self) -> u64 {
        let each = self.shadows.iter().map(|shadow| shadow.connections as u64);
        each.sum()
    }
}

/// Where clients come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// Loopback by default.
    pub at: ListenAt,
    /// TLS: certificate chain and key, both PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Each connection begins with a PROXY protocol header, which is believed; others are refused.
    pub proxy_protocol: bool,
}

/// A socket that accepts clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAt {
    /// A TCP port.
    Tcp {
        /// Port 0: the system chooses one.
        address: SocketAddr,
        /// Other processes may listen there at the same time (`SO_REUSEPORT`).
        reuse_port: bool,
    },
    /// A Unix socket.
    Unix {
        /// Absolute.
        path: PathBuf,
        /// Permissions of the socket file: write permission is needed to connect.
        mode: u32,
    },
    /// A socket that a service manager opened and passed on (`LISTEN_FDS`).
    Passed {
        /// Its name in `LISTEN_FDNAMES`. `None`: it is the only one.
        name: Option<String>,
    },
}

impl fmt::Display for ListenAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { address, .. } => address.fmt(f),
            Self::Unix { path, .. } => write!(f, "unix:{}", path.display()),
            Self::Passed { name: None } => f.write_str("systemd"),
            Self::Passed { name: Some(name) } => write!(f, "systemd:{name}"),
        }
    }
}

/// Where a server accepts connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A TCP port.
    Tcp {
        /// A name or an address, without brackets.
        host: String,
        /// 1 to 65535.
        port: u16,
    },
    /// A Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A server that answers HTTP/1.1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Where it is.
    pub at: Destination,
    /// https, with the system's authorities and, where given, this one (PEM).
    pub tls: bool,
    /// A further authority, PEM.
    pub ca: Option<PathBuf>,
}

/// Who answers clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Primary {
    /// Where it is.
    pub upstream: Upstream,
    /// How long connecting may take; then 502.
    pub connect_timeout: Duration,
    /// How long no byte of an answer may come; then 504. `None`: as long as the primary likes.
    pub answer_timeout: Option<Duration>,
    /// Each connection to it begins with a PROXY protocol header that names the client.
    pub proxy_protocol: Option<Version>,
}

/// Of the client's side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The header fields with a client's address that primary and shadows get.
    pub forwarded: Forwarding,
    /// From the first byte of a head until its last; then 408.
    pub head_timeout: Duration,
    /// How long a kept connection may be idle; and how long a client may send nothing of a body that it announced, or take
    /// nothing of its answer.
    pub idle_timeout: Duration,
    /// Most bytes of a head; more is 431.
    pub head_bytes: usize,
    /// Most header fields; more is 431.
    pub head_fields: usize,
    /// What becomes of requests that are refused only for strictness.
    pub strictness: Strictness,
    /// Most connections at once, where the limit on open files leaves room for them; for a further one the longest idle
    /// connection is closed, and where none is idle it waits.
    pub connections: usize,
    /// After SIGTERM, how long requests under way may take to end.
    pub drain: Duration,
}

/// Of all shadows together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of requests and answers that are held for shadows at any time.
    pub bytes: usize,
    /// Requests with a larger body go to the primary alone.
    pub body_bytes: usize,
    /// Of an answer's body, so much is kept to be compared; the digest is of all of it.
    pub compared_bytes: usize,
}

/// A server that gets copies.
#[derive(Debug, Clone)]
pub struct Shadow {
    /// Of letters, digits, `-` and `_`.
    pub name: String,
    /// Where it is.
    pub upstream: Upstream,
    /// A second copy of the primary's own configuration: what differs between the two is noise.
    pub twin: bool,
    /// Which requests it gets.
    pub sample: Sample,
    /// Of those, which.
    pub filter: Filter,
    /// How often it gets each request.
    pub copies: u16,
    /// From the moment the request was given to the primary until the shadow's answer must be whole.
    pub deadline: Duration,
    /// Most requests waiting for it.
    pub queue: usize,
    /// Most requests under way to it.
    pub connections: usize,
    /// Whether connections are reused. After an answer a thread of Puma waits on a kept connection for the next request.
    pub keep_alive: bool,
    /// Headers that are changed on the way.
    pub rewrite: Vec<Rewrite>,
    /// A cookie that the primary has set is replaced by the one that this shadow has set in answer to the same request.
    pub cookie_jar: bool,
    /// Form fields and headers whose values are replaced in the same way (`authenticity_token`, `X-CSRF-Token`).
    pub tokens: Vec<String>,
}

/// Which requests are given to a shadow. The same for the same key, so that two shadows with the same share get the
/// same requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Sample {
    /// A share of all requests, 0 to 1, by a hash of the request's number.
    Requests(f64),
    /// A share of all clients, 0 to 1, by a hash of this cookie or, without it, of the connection.
    Sessions {
        /// 0 to 1.
        share: f64,
        /// The cookie's name.
        cookie: String,
    },
}

/// Which requests pass; all of what is given must hold.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Methods; empty: GET, HEAD, OPTIONS and TRACE, which change nothing.
    pub methods: Vec<String>,
    /// One of these matches the path (without the query).
    pub paths: Vec<Regex>,
    /// None of these does.
    pub not_paths: Vec<Regex>,
    /// Each named header is there and its value matches.
    pub headers: Vec<(String, Regex)>,
}

/// A change to a request's header on its way to a shadow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rewrite {
    /// In place of whatever is there.
    Set {
        /// A header's name.
        name: String,
        /// A header's value.
        value: String,
    },
    /// Taken out.
    Remove {
        /// A header's name.
        name: String,
    },
}
