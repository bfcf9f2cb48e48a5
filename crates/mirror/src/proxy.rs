//! The client's half: each client's connection has a connection to a primary of
//! its own, so that keeping, affinity and failures are what the primary alone
//! would give. One thread serves them all; whatever else there is to do with a
//! request goes to a [`Tap`] and is done elsewhere.

mod accept;
mod arrival;
mod begin;
mod conversation;
mod deadline;
mod dial;
mod exchange;
mod goodbye;
mod idle;
mod ledger;
mod relay;
mod rotation;
mod serving;
mod side;
mod tunnel;
mod watched;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::Waker;

use tokio::sync::watch;

use crate::listener::{Address, ListenError, Listener};
use crate::proxy_protocol::Ends;
use crate::tls::TlsError;
use crate::{Cause, Counts, NoRoom, OpenFiles, Settings, Tap};
use idle::Idle;
use serving::Serving;

/// Why the proxy does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The socket for clients cannot be had.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Certificates, keys or authorities.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Settings without any primary.
    #[error("there is no primary; give at least one")]
    NoPrimary,
    /// The limit on open files is too low.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
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
    files: OpenFiles,
    idle: Idle,
}

/// A proxy that listens; connections wait until [`Proxy::serve`] takes them.
pub struct Proxy {
    listener: Listener,
    shared: Arc<Shared>,
}

/// Speaks to a proxy that serves, from any thread.
#[derive(Clone)]
pub struct Control(Arc<Shared>);

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Proxy({})", self.address())
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
    /// The address or a file cannot be used, or too few files may be open.
    pub fn bind(
        settings: &Settings,
        files: OpenFiles,
        counts: Arc<Counts>,
        tap: Arc<dyn Tap>,
    ) -> Result<Self, ProxyError> {
        files.check(settings.shadow_connections())?;
        let serving = Arc::new(Serving::new(settings, tap)?);
        let listener = Listener::open(&settings.listen.at)?;
        let shared = Arc::new(Shared {
            serving: watch::Sender::new(serving),
            drain: watch::Sender::new(false),
            requests: AtomicU64::new(0),
            files,
            idle: Idle::new(counts.clone()),
            counts,
        });
        shared.most();
        Ok(Self { listener, shared })
    }

    /// Where it listens, with the port that was chosen where none was asked for.
    #[must_use]
    pub fn address(&self) -> &Address {
        self.listener.address()
    }

    /// For the code that reloads and ends it.
    #[must_use]
    pub fn control(&self) -> Control {
        Control(self.shared.clone())
    }

    /// Serves on this thread until asked to drain, and as long as that takes.
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
    /// whether it speaks TLS and the PROXY protocol there stay as well.
    ///
    /// # Errors
    ///
    /// A file cannot be used, or too few may be open; everything stays as it was.
    pub fn reload(&self, settings: &Settings, tap: Arc<dyn Tap>) -> Result<(), ProxyError> {
        self.0.files.check(settings.shadow_connections())?;
        let mut serving = Serving::new(settings, tap)?;
        let before = self.0.serving.borrow().clone();
        if before.acceptor.is_some() != serving.acceptor.is_some() {
            serving.acceptor = before.acceptor.clone();
        }
        serving.proxy_protocol = before.proxy_protocol;
        self.0.serving.send_replace(Arc::new(serving));
        self.0.most();
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

    /// Clients at once: as many as are allowed and fit. Shadows that are ending after a reload may leave no room for a
    /// moment, and one client is served nevertheless.
    fn most(&self) -> usize {
        let allowed = self.serving.borrow().client.connections;
        let fit = self.files.clients(self.counts.shadow_connections.get());
        let most = allowed.min(fit).max(1);
        self.counts.client.most.set(most as u64);
        most
    }

    /// Asks the longest idle connection to close; where there is none, `acceptor` is woken when there is one.
    fn close_oldest_idle(&self, acceptor: Option<&Waker>) -> bool {
        let closing = self.idle.close_oldest(acceptor);
        self.counts.client.idle_closed.add(u64::from(closing));
        closing
    }

    /// A head, or what comes before it. Of the client only the kind of its address is kept for the log.
    fn refuse(&self, cause: Cause, ends: Option<&Ends>, why: impl fmt::Display) {
        let from = ends.map_or("a Unix socket", |ends| kind(ends.client().ip()));
        let causes = &self.counts.client.causes;
        causes.add_with(cause, format_args!("from {from}: {why}"));
    }
}

/// Where a client comes from, without its address.
fn kind(client: IpAddr) -> &'static str {
    match client.to_canonical() {
        address if address.is_loopback() => "this machine",
        IpAddr::V4(v4) if v4.is_private() || v4.is_link_local() => "a private address",
        IpAddr::V6(v6) if v6.is_unique_local() || v6.is_unicast_link_local() => "a private address",
        _ => "a public address",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_named_by_the_kind_of_its_address() {
        for (address, expected) in [
            ("127.0.0.1", "this machine"),
            ("::1", "this machine"),
            ("::ffff:127.0.0.1", "this machine"),
            ("10.1.2.3", "a private address"),
            ("::ffff:192.168.0.9", "a private address"),
            ("fd00::1", "a private address"),
            ("fe80::1", "a private address"),
            ("8.8.8.8", "a public address"),
            ("2001:db8::1", "a public address"),
        ] {
            assert_eq!(kind(address.parse().unwrap()), expected, "{address}");
        }
    }
}
