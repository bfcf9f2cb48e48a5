//! Where a run connects: a URL made into an address, a `Host` header and, for
//! https, what is asked of the server's certificate. Names are resolved here,
//! once, so that no look-up is part of a response time.

mod url;

use std::fmt;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::target_error::TargetError;
use crate::tls_settings::{TlsOptions, TlsSettings};
use url::{Parts, Place, refused, socket_path};

/// Among a name's loopback addresses the first that answers within this.
const LOOPBACK_ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// One server, resolved.
#[derive(Debug, Clone)]
pub struct Target {
    address: Address,
    host: String,
    tls: Option<TlsSettings>,
}

/// What a connection is opened to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl From<SocketAddr> for Target {
    /// Plain HTTP, `Host` being the address.
    fn from(address: SocketAddr) -> Self {
        Self {
            address: Address::Tcp(address),
            host: address.to_string(),
            tls: None,
        }
    }
}

impl Target {
    /// Reads `http://`, `https://`, and `http+unix://` or `https+unix://` with
    /// the socket's percent-encoded path in the place of the host. Returns the
    /// URL's path and query as well.
    ///
    /// # Errors
    /// The URL cannot be read, its host not be resolved, or the certificates
    /// that [`TlsOptions`] names not be loaded.
    pub fn from_url(url: &str, tls: &TlsOptions) -> Result<(Self, String), TargetError> {
        let parts = Parts::of(url)?;
        let address = match &parts.place {
            Place::Socket(path) => Address::Unix(path.clone()),
            Place::Host { host, port } => Address::Tcp(resolve(host, *port)?),
        };
        Self::assemble(url, parts, address, tls)
    }

    /// As [`Target::from_url`], but over this Unix socket: the URL gives the
    /// `Host` header and the certificate's name, and is not resolved.
    ///
    /// # Errors
    /// As [`Target::from_url`].
    pub fn over_unix_socket(
        socket: &Path,
        url: &str,
        tls: &TlsOptions,
    ) -> Result<(Self, String), TargetError> {
        let parts = Parts::of(url)?;
        let address = Address::Unix(socket_path(socket.to_path_buf())?);
        Self::assemble(url, parts, address, tls)
    }

    fn assemble(
        url: &str,
        parts: Parts,
        address: Address,
        options: &TlsOptions,
    ) -> Result<(Self, String), TargetError> {
        let tls = if parts.tls {
            Some(TlsSettings::new(options, parts.name())?)
        } else if *options == TlsOptions::default() {
            None
        } else {
            return Err(refused(
                url,
                "certificates are asked about, and the URL is not https://",
                "use https://, or leave the options for certificates away",
            ));
        };
        let target = Self {
            address,
            host: parts.host_header,
            tls,
        };
        Ok((target, parts.path_and_query))
    }

    /// What connections are opened to.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The `Host` header.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Another `Host` header than the URL's.
    #[must_use]
    pub fn with_host(mut self, host: impl Into<String>) -> Self {
        self.host = host.into();
        self
    }

    pub(crate) fn tls(&self) -> Option<&TlsSettings> {
        self.tls.as_ref()
    }

    /// Is TLS spoken?
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Is the server on this machine? A Unix socket always is.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match &self.address {
            Address::Tcp(address) => is_loopback(address),
            Address::Unix(_) => true,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Tcp(address) if address.to_string() == self.host => write!(f, "{address}"),
            Address::Tcp(address) => write!(f, "{} ({address})", self.host),
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

fn resolve(host: &str, port: u16) -> Result<SocketAddr, TargetError> {
    let failed = |source| TargetError::Dns {
        host: host.to_owned(),
        source,
    };
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(failed)?.collect();
    let none = || failed(std::io::Error::other("it has no address"));
    let first = *addresses.first().ok_or_else(none)?;
    // `localhost` is 127.0.0.1 and ::1, and many a server listens on one of
    // them only. Beyond loopback the resolver's order is taken: nothing is
    // sent to another machine before the run is allowed to.
    if addresses.len() == 1 || !addresses.iter().all(is_loopback) {
        return Ok(first);
    }
    let answers = |address: &&SocketAddr| {
        TcpStream::connect_timeout(address, LOOPBACK_ANSWERS_WITHIN).is_ok()
    };
    Ok(*addresses.iter().find(answers).unwrap_or(&first))
}

fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(url: &str) -> Result<(Target, String), TargetError> {
        Target::from_url(url, &TlsOptions::default())
    }

    #[test]
    fn a_url_is_an_address_a_host_and_a_path() {
        for (url, address, host, path) in [
            ("http://127.0.0.1", "127.0.0.1:80", "127.0.0.1", "/"),
            (
                "HTTP://127.0.0.1:8080/a?b=c#d",
                "127.0.0.1:8080",
                "127.0.0.1:8080",
                "/a?b=c",
            ),
            (
                "http://127.0.0.1:81?q",
                "127.0.0.1:81",
                "127.0.0.1:81",
                "/?q",
            ),
            ("http://[::1]:82/x%20y", "[::1]:82", "[::1]:82", "/x%20y"),
        ] {
            let (target, path_and_query) = plain(url).unwrap();
            assert_eq!(
                target.address,
                Address::Tcp(address.parse().unwrap()),
                "{url}"
            );
            assert_eq!(
                (target.host(), path_and_query.as_str()),
                (host, path),
                "{url}"
            );
            assert!(target.is_local() && !target.is_tls(), "{url}");
        }
        let (remote, _) = plain("http://192.0.2.7/").unwrap();
        assert!(!remote.is_local());
        assert_eq!(remote.to_string(), "192.0.2.7 (192.0.2.7:80)");
    }

    #[test]
    fn a_socket_stands_in_the_place_of_the_host_or_beside_the_url() {
        let (target, path) = plain("http+unix://%2Frun%2Fmy+app.sock/up?x").unwrap();
        assert_eq!(target.address, Address::Unix("/run/my+app.sock".into()));
        assert_eq!((target.host(), path.as_str()), ("localhost", "/up?x"));
        assert!(target.is_local());
        let socket = Path::new("tmp/puma.sock");
        let url = "http://shop.test:3000/cart";
        let (target, path) = Target::over_unix_socket(socket, url, &TlsOptions::default()).unwrap();
        assert_eq!(target.address, Address::Unix("tmp/puma.sock".into()));
        assert_eq!((target.host(), path.as_str()), ("shop.test:3000", "/cart"));
    }

    #[test]
    fn a_url_that_cannot_be_used_is_refused_with_a_remedy() {
        let long = format!("http+unix://{}/", "a".repeat(108));
        for (url, said) in [
            ("localhost:3000/", "begin with http://"),
            ("ftp://localhost/", "ftp is not spoken"),
            ("http:///x", "host"),
            ("http://:80/", "host"),
            ("http://localhost:/", "not a port"),
            ("http://localhost:0/", "not a port"),
            ("http://localhost:99999/", "not a port"),
            ("http://localhost/a b", "percent-encode"),
            ("http://localhost/ä", "percent-encode"),
            ("http://localhost/?q=\"a\"", "percent-encode"),
            ("http+unix:///run/app.sock", "%2Frun%2Fapp.sock"),
            ("http+unix://%2/", "hexadecimal"),
            (&long, "107 bytes"),
        ] {
            let error = plain(url).unwrap_err().to_string();
            assert!(error.contains(said), "{url}: {error}");
        }
        let error = plain("http://ann:secret@localhost/")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("Authorization") && !error.contains("secret"),
            "{error}"
        );
        let insecure = TlsOptions {
            insecure: true,
            ..TlsOptions::default()
        };
        let error = Target::from_url("http://127.0.0.1/", &insecure).unwrap_err();
        assert!(error.to_string().contains("use https://"), "{error}");
    }

    #[test]
    fn a_name_without_an_address_is_named() {
        let error = plain("http://no-such-host.invalid/").unwrap_err();
        assert!(matches!(error, TargetError::Dns { .. }));
        assert!(
            error.to_string().contains("no-such-host.invalid"),
            "{error}"
        );
    }

    #[test]
    fn localhost_is_whichever_of_its_addresses_listens() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (target, _) = plain(&format!("http://localhost:{}/", address.port())).unwrap();
        assert_eq!(target.address, Address::Tcp(address));
    }
}
