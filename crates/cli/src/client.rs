//! How other servers are asked over HTTP: by addresses without credentials, over TLS that is verified, with secrets from files.

pub mod credentials;

use crate::Failure;
use http::Uri;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// A flag that takes an address.
#[derive(Debug, Clone, Copy)]
pub struct AddressFlag {
    pub name: &'static str,
    /// An address such as it takes.
    pub example: &'static str,
    /// What takes a user and a password in place of the address.
    pub secrets: &'static str,
}

impl AddressFlag {
    /// An http or https address.
    pub fn address(&self, asked: &str) -> Result<Uri, Failure> {
        let wrong = |what: &str| {
            // A password or a key that does not belong there is not printed.
            let shown = match asked.split_once('?') {
                Some((_, after)) if after.contains('@') => "",
                Some((before, _)) => before,
                None => asked,
            };
            let shown = shown.rsplit('@').next().unwrap_or_default();
            Failure::usage(format!("{} = {shown:?}: {what}", self.name))
        };
        let example = format!("give an address such as {}", self.example);
        let uri: Uri = asked
            .parse()
            .map_err(|_| wrong(&format!("no address; {example}")))?;
        if !matches!(uri.scheme_str(), Some("http" | "https"))
            || uri.host().is_none_or(str::is_empty)
        {
            return Err(wrong(&format!("no http or https address; {example}")));
        }
        if uri
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'))
        {
            return Err(wrong(&format!(
                "it holds a user; give {} instead",
                self.secrets
            )));
        }
        if uri.query().is_some() {
            return Err(wrong(&format!("it has parameters; {example}")));
        }
        Ok(uri)
    }

    /// Refuses to send secrets to an address that is not encrypted, other than of this machine.
    pub fn keeps_secrets(&self, uri: &Uri) -> Result<(), Failure> {
        match is_plain(uri) && !is_loopback(uri) {
            true => Err(Failure::usage(format!(
                "{} = {:?}: a password or token would go over the network in plain text; give an https address",
                self.name,
                uri.to_string().trim_end_matches('/')
            ))),
            false => Ok(()),
        }
    }
}

/// What asks that server. A question takes so long at most; no redirection is followed.
pub fn agent(uri: &Uri, timeout: Duration, ca: Option<&Path>) -> Result<Agent, Failure> {
    let mut config = Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(format!("powerband/{}", env!("CARGO_PKG_VERSION")));
    if is_loopback(uri) {
        config = config.proxy(None);
    }
    if !is_plain(uri) {
        config = config.tls_config(tls(ca)?);
    }
    Ok(config.build().into())
}

/// Whether an address is not encrypted.
pub fn is_plain(uri: &Uri) -> bool {
    uri.scheme_str() == Some("http")
}

fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The authorities of a file, else the system's; and ring.
fn tls(ca: Option<&Path>) -> Result<TlsConfig, Failure> {
    let found = match ca {
        Some(file) => rustls_native_certs::load_certs_from_paths(Some(file), None),
        None => rustls_native_certs::load_native_certs(),
    };
    if found.certs.is_empty() {
        return Err(Failure::usage(match ca {
            Some(file) => format!(
                "--ca = \"{}\": no certificate is there that can be read; name a PEM file with the authority's certificate",
                file.display()
            ),
            None => "this system has no certificates to check an https address with; install ca-certificates, or set SSL_CERT_FILE"
                .to_owned(),
        }));
    }
    let certificates: Vec<Certificate<'static>> = found
        .certs
        .iter()
        .map(|one| Certificate::from_der(one).to_owned())
        .collect();
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(certificates)))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAG: AddressFlag = AddressFlag {
        name: "--prometheus",
        example: "https://prometheus.internal:9090",
        secrets: "--basic-file",
    };

    #[test]
    fn addresses() {
        for good in ["http://127.0.0.1:9090", "https://prometheus.internal/shop"] {
            assert!(FLAG.address(good).is_ok(), "{good}");
        }
        for bad in ["", "prometheus:9090", "ftp://a", "http://", "http://a/?x=1"] {
            assert!(FLAG.address(bad).is_err(), "{bad}");
        }
        let said = |asked: &str| FLAG.address(asked).unwrap_err().message;
        let user = said("http://user:hunter2@a:9090");
        assert!(user.contains("--basic-file"), "{user}");
        for secret in [
            "user:hunter2@a",
            "a/?k=hunter2",
            "u:x?hunter2@a",
            "a/?k=x@hunter2",
        ] {
            let said = said(&format!("http://{secret}"));
            assert!(!said.contains("hunter2"), "{said}");
        }
    }

    #[test]
    fn secrets_go_over_tls_or_stay_on_this_machine() {
        for (address, kept) in [
            ("http://localhost:1", true),
            ("http://[::1]:1", true),
            ("https://10.0.0.1", true),
            ("http://10.0.0.1", false),
            ("http://localhost.evil", false),
        ] {
            let uri = FLAG.address(address).unwrap();
            assert_eq!(FLAG.keeps_secrets(&uri).is_ok(), kept, "{address}");
        }
    }
}
