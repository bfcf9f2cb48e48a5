//! Certificates: ours, which clients see, and the authorities by which servers'
//! are judged. Read from files when settings are taken over, never on the way.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::{Destination, Upstream};

/// Why TLS cannot be spoken.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// No certificate that can be shown.
    #[error("certificate {path}: {problem}; give a PEM file with the chain, the server's own first", path = path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// No key, or not the certificate's.
    #[error("key {path}: {problem}; give a PEM file with the certificate's private key", path = path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// No authority that can be trusted.
    #[error("authority {path}: {problem}; give a PEM file with at least one certificate", path = path.display())]
    Authority {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Neither the system's nor another.
    #[error(
        "no authority to verify {host} by: {problem}; install ca-certificates or name an authority's PEM file"
    )]
    NoAuthorities {
        /// Whose certificate was to be verified.
        host: String,
        /// Why the system has none.
        problem: String,
    },
    /// Nothing that a certificate could be for.
    #[error(
        "{host:?} is no name that a certificate could be for; give a host's name or an address"
    )]
    Name {
        /// The host.
        host: String,
    },
    /// Of the library.
    #[error("TLS: {0}")]
    Library(#[from] rustls::Error),
}

/// For clients: this chain and key, HTTP/1.1 alone.
///
/// # Errors
///
/// A file cannot be read, or the two do not belong together.
pub fn acceptor(chain: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let wrong = |problem: String| TlsError::Certificate {
        path: chain.to_owned(),
        problem,
    };
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(error.to_string()))?;
    if certificates.is_empty() {
        return Err(wrong("it holds no certificate".into()));
    }
    let wrong = |problem: String| TlsError::Key {
        path: key.to_owned(),
        problem,
    };
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, private)
        .map_err(|error| wrong(error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// For a server, where it speaks TLS: the system's authorities and its own. Sessions are resumed.
///
/// # Errors
///
/// There is no authority to verify it by, or nothing that a certificate could be for.
pub fn connector(
    upstream: &Upstream,
) -> Result<Option<(TlsConnector, ServerName<'static>)>, TlsError> {
    let host = match &upstream.at {
        Destination::Tcp { host, .. } if upstream.tls => host,
        _ => return Ok(None),
    };
    let name =
        ServerName::try_from(host.clone()).map_err(|_| TlsError::Name { host: host.clone() })?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(authorities(upstream, host)?)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some((TlsConnector::from(Arc::new(config)), name)))
}

fn authorities(upstream: &Upstream, host: &str) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    if let Some(path) = &upstream.ca {
        let wrong = |problem: String| TlsError::Authority {
            path: path.clone(),
            problem,
        };
        let certificates = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| wrong(error.to_string()))?;
        if certificates.is_empty() {
            return Err(wrong("it holds no certificate".into()));
        }
        for certificate in certificates {
            roots
                .add(certificate)
                .map_err(|error| wrong(error.to_string()))?;
        }
    }
    if roots.is_empty() {
        let problem = system
            .errors
            .first()
            .map_or_else(|| "none found".into(), ToString::to_string);
        return Err(TlsError::NoAuthorities {
            host: host.to_owned(),
            problem,
        });
    }
    Ok(roots)
}
