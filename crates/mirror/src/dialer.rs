//! Connections to one server, in clear or over TLS.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::{TlsConnector, TlsStream};

use crate::socket::Socket;
use crate::stream::Stream;
use crate::tls::{TlsError, connector};
use crate::{Destination, Upstream};

/// Until a Unix socket with a full queue is tried again.
const BREATH: Duration = Duration::from_millis(20);

/// Connects to one server.
pub struct Dialer {
    at: Destination,
    /// Where the host is an address, no resolver is needed.
    address: Option<SocketAddr>,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dialer({})", self.at)
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No such host, refused, unreachable.
    #[error("cannot connect: {0}")]
    Connect(#[source] io::Error),
    /// Connected, but not as TLS, or not to whom it should be.
    #[error("no TLS: {0}")]
    Tls(#[source] io::Error),
}

impl Dialer {
    /// Reads the authorities' files, where there is TLS.
    ///
    /// # Errors
    ///
    /// As [`connector`].
    pub fn new(upstream: &Upstream) -> Result<Self, TlsError> {
        let address = match &upstream.at {
            Destination::Tcp { host, port } => {
                let ip: Option<IpAddr> = host.parse().ok();
                ip.map(|ip| SocketAddr::new(ip, *port))
            }
            Destination::Unix(_) => None,
        };
        Ok(Self {
            at: upstream.at.clone(),
            address,
            tls: connector(upstream)?,
        })
    }

    /// A new connection that begins with these bytes, before TLS; without a limit of time.
    ///
    /// # Errors
    ///
    /// There is none.
    pub async fn connect(&self, beginning: &[u8]) -> Result<Stream, ConnectError> {
        let socket = match (&self.at, self.address) {
            (_, Some(address)) => TcpStream::connect(address).await.map(Socket::Tcp),
            (Destination::Tcp { host, port }, None) => TcpStream::connect((host.as_str(), *port))
                .await
                .map(Socket::Tcp),
            (Destination::Unix(path), None) => connect_unix(path).await.map(Socket::Unix),
        };
        let mut socket = socket.map_err(ConnectError::Connect)?;
        // A request goes out in one piece; it need not wait for another one.
        socket.set_nodelay();
        if !beginning.is_empty() {
            socket
                .write_all(beginning)
                .await
                .map_err(ConnectError::Connect)?;
        }
        let Some((tls, name)) = &self.tls else {
            return Ok(Stream::Plain(socket));
        };
        let stream = tls
            .connect(name.clone(), socket)
            .await
            .map_err(ConnectError::Tls)?;
        Ok(Stream::Tls(Box::new(TlsStream::Client(stream))))
    }
}

/// A server whose queue is full is busy: TCP waits for room in the queue, a Unix socket that does not block fails at once.
async fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(full) if full.kind() == io::ErrorKind::WouldBlock => {
                tokio::time::sleep(BREATH).await;
            }
            connected => return connected,
        }
    }
}
