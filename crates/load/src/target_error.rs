//! Why a run cannot connect to a URL.

use std::path::PathBuf;

/// Why a URL leads to no target.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The URL cannot be read.
    #[error("{url}: {problem}: {remedy}")]
    Url {
        /// As given, without credentials.
        url: String,
        /// What is wrong.
        problem: String,
        /// What to give.
        remedy: &'static str,
    },
    /// The host's name has no address.
    #[error("{host} cannot be resolved ({source}): check the name, /etc/hosts and DNS")]
    Dns {
        /// Of the URL.
        host: String,
        /// The resolver's words.
        source: std::io::Error,
    },
    /// A certificate file cannot be used.
    #[error("--cacert {}: {problem}: give a readable PEM file of certificates", path.display())]
    CaFile {
        /// Of the file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// There is nothing to verify certificates with.
    #[error(
        "this system has no certificate authorities ({problem}): install ca-certificates, \
         or name a PEM file with --cacert"
    )]
    NoRoots {
        /// What looking for them said.
        problem: String,
    },
    /// Not a name that a certificate can have.
    #[error("{name}: no name that a certificate can have: give a host name or an IP address")]
    ServerName {
        /// As given.
        name: String,
    },
    /// The TLS library refuses its own settings.
    #[error("TLS cannot be set up: {0}")]
    Tls(rustls::Error),
}
