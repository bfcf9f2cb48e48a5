//! The client's half: each client's connection has a connection to a primary of
//! its own, so that keeping, affinity and failures are what the primary alone
//! would give. One thread serves them all; whatever else there is to do with a
//! request is told to a [`Tap`] and done elsewhere.

mod accept;
mod begin;
mod conversation;
mod deadline;
mod exchange;
mod goodbye;
mod ledger;
mod relay;
mod serving;
mod side;
mod tunnel;
mod watched;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::sync::watch;

use crate::tls::TlsError;
use crate::{Counts, Settings, Tap};
use serving::Serving;

/// Connections that the kernel holds until they are accepted; it may hold fewer (`net.core.somaxconn`).
const BACKLOG: i32 = 4096;

/// Why the proxy does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The address is taken, not ours, or not allowed.
    #[error(
        "cannot listen on {address}: {source}; give an address of this machine and a port that is free"
    )]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// Certificates, keys or authorities.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Settings without any primary.
    #[error("there is no primary; give at least one")]
    NoPrimary,
    /// The system gives no event queue.
    #[error("cannot begin to serve: {0}")]
    Runtime(#[source] std::io::Error),
}

/// What was still under way when the time for it was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drained {
    /// Connections that were cut, tunnels among them.
    pub connections: usize,
    /// Requests that were cut; counted as aborted.
    pub requests: u64,
}

/// What all connections share.
struct Shared {
    counts: Arc<Counts>,
    serving: watch::Sender<Arc<Serving>>,
    drain: watch::Sender<bool>,
    requests: AtomicU64,
}

/// A proxy that listens; connections wait until [`Proxy::serve`] takes them.
pub struct Proxy {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// Speaks to a proxy that serves, from any thread.
#[derive(Clone)]
pub struct Control(Arc<Shared>);

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Proxy({})", self.address)
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Control")
    }
}

impl Proxy {
    /// Listens where the settings say, and reads the files that they name.
    ///
    /// # Errors
    ///
    /// The address or a file cannot be used.
    pub fn bind(
        settings: &Settings,
        counts: Arc<Counts>,
        tap: Arc<dyn Tap>,
    ) -> Result<Self, ProxyError> {
        let serving = Arc::new(Serving::new(settings, tap)?);
        let wanted = settings.listen.address;
        let failed = |source: std::io::Error| ProxyError::Listen {
            address: wanted,
            source,
        };
        let listener = TcpListener::bind(wanted).map_err(failed)?;
        // The library's own backlog is for servers with few clients.
        rustix::net::listen(&listener, BACKLOG).map_err(|errno| failed(errno.into()))?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            counts,
            serving: watch::Sender::new(serving),
            drain: watch::Sender::new(false),
            requests: AtomicU64::new(0),
        });
        Ok(Self {
            listener,
            address,
            shared,
        })
    }

    /// Where it listens, with the port that was chosen where none was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// For whoever reloads and ends it.
    #[must_use]
    pub fn control(&self) -> Control {
        Control(self.shared.clone())
    }

    /// Serves on this thread until told to drain, and as long as that takes.
    ///
    /// # Errors
    ///
    /// The system gives no event queue; nothing was served.
    pub fn serve(self) -> Result<Drained, ProxyError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(ProxyError::Runtime)?;
        let drained = runtime.block_on(accept::serve(self.listener, self.shared));
        // A name that is being looked up need not be waited for.
        runtime.shutdown_background();
        drained.map_err(ProxyError::Runtime)
    }
}

impl Control {
    /// Other primaries, limits, files and tap for every request from now on; connections stay. Where it listens and
    /// whether it speaks TLS there stay as well.
    ///
    /// # Errors
    ///
    /// A file cannot be used; everything stays as it was.
    pub fn reload(&self, settings: &Settings, tap: Arc<dyn Tap>) -> Result<(), ProxyError> {
        let mut serving = Serving::new(settings, tap)?;
        let before = self.0.serving.borrow().clone();
        if before.acceptor.is_some() != serving.acceptor.is_some() {
            serving.acceptor = before.acceptor.clone();
        }
        self.0.serving.send_replace(Arc::new(serving));
        Ok(())
    }

    /// Takes no connection any more, and lets those that are there end: [`Proxy::serve`] returns.
    pub fn drain(&self) {
        self.0.drain.send_replace(true);
    }
}

impl Shared {
    fn serving(&self) -> Arc<Serving> {
        self.serving.borrow().clone()
    }

    fn draining(&self) -> bool {
        *self.drain.borrow()
    }
}
