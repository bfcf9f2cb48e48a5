//! How a server's certificate is verified: by the system's authorities by
//! default. Made once for a run, so that sessions are resumed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::target_error::TargetError;

/// What is asked of a server's certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// A PEM file of authorities that are trusted in addition to the system's.
    pub cacert: Option<PathBuf>,
    /// Take any certificate.
    pub insecure: bool,
    /// The name asked for (SNI) and expected in the certificate, instead of
    /// the URL's host.
    pub server_name: Option<String>,
}

/// [`TlsOptions`], checked and loaded.
#[derive(Debug, Clone)]
pub(crate) struct TlsSettings {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) server_name: ServerName<'static>,
}

impl TlsSettings {
    pub(crate) fn new(options: &TlsOptions, host: &str) -> Result<Self, TargetError> {
        let name = options.server_name.as_deref().unwrap_or(host);
        let server_name =
            ServerName::try_from(name.to_owned()).map_err(|_| TargetError::ServerName {
                name: name.to_owned(),
            })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(TargetError::Tls)?;
        let mut config = if options.insecure {
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
                .with_no_client_auth()
        } else {
            builder
                .with_root_certificates(roots(options.cacert.as_deref())?)
                .with_no_client_auth()
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            config: Arc::new(config),
            server_name,
        })
    }
}

fn roots(cacert: Option<&Path>) -> Result<RootCertStore, TargetError> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    if let Some(path) = cacert {
        let wrong = |problem: String| TargetError::CaFile {
            path: path.to_owned(),
            problem,
        };
        let mut found = false;
        for certificate in
            CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?
        {
            let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| wrong(error.to_string()))?;
            found = true;
        }
        if !found {
            return Err(wrong("it holds no certificate".into()));
        }
    }
    if roots.is_empty() {
        return Err(TargetError::NoRoots {
            problem: system
                .errors
                .first()
                .map_or_else(|| "none found".into(), ToString::to_string),
        });
    }
    Ok(roots)
}

/// Takes any certificate, but only from the holder of its key: the handshake's
/// signatures are still checked.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
