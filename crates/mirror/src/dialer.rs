//! Connections to one server, in clear or over TLS.

use std::io;
use std::net::{IpAddr, SocketAddr};

use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, TlsStream};

use crate::Upstream;
use crate::stream::Stream;
use crate::tls::{TlsError, connector};

/// Connects to one server.
pub struct Dialer {
    host: String,
    port: u16,
    /// Where the host is an address, nobody need be asked.
    address: Option<IpAddr>,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dialer({}:{})", self.host, self.port)
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
        Ok(Self {
            host: upstream.host.clone(),
            port: upstream.port,
            address: upstream.host.parse().ok(),
            tls: connector(upstream)?,
        })
    }

    /// A new connection, without a limit of time.
    ///
    /// # Errors
    ///
    /// There is none.
    pub async fn connect(&self) -> Result<Stream, ConnectError> {
        let socket = match self.address {
            Some(address) => TcpStream::connect(SocketAddr::new(address, self.port)).await,
            None => TcpStream::connect((self.host.as_str(), self.port)).await,
        };
        let socket = socket.map_err(ConnectError::Connect)?;
        // A request goes out in one piece; it need not wait for another one.
        socket.set_nodelay(true).map_err(ConnectError::Connect)?;
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
