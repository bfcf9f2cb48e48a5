//! A scripted server that speaks TLS, with certificates of its own making.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};

use super::Server;

/// An authority and its certificate as a PEM file.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: tempfile::NamedTempFile,
}

impl Authority {
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        let mut pem = tempfile::NamedTempFile::new().unwrap();
        pem.write_all(certificate.pem().as_bytes()).unwrap();
        Self {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// A server's settings, with a certificate for this name until this year.
    pub fn server(
        &self,
        name: &str,
        until_year: i32,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(until_year, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Arc::new(config)
    }
}

/// The socket, which may give each byte a packet of its own.
struct Wire<'a> {
    socket: &'a TcpStream,
    byte_by_byte: bool,
}

impl Read for Wire<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.socket.read(buffer)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let length = if self.byte_by_byte { 1 } else { bytes.len() };
        self.socket.write(&bytes[..length.min(bytes.len())])
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The server's end of a TLS connection.
pub struct TlsPeer<'a> {
    session: ServerConnection,
    wire: Wire<'a>,
    pending: Vec<u8>,
}

impl TlsPeer<'_> {
    /// The next request, head and body; `None` when the client has gone.
    pub fn request(&mut self) -> Option<Vec<u8>> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            if let Some(end) = self.pending.windows(4).position(|w| w == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.pending[..end]).into_owned();
                let length: usize = head
                    .lines()
                    .find_map(|line| line.strip_prefix("Content-Length: "))
                    .map_or(0, |value| value.parse().unwrap());
                if self.pending.len() >= end + 4 + length {
                    return Some(self.pending.drain(..end + 4 + length).collect());
                }
            }
            match rustls::Stream::new(&mut self.session, &mut self.wire).read(&mut buffer) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.pending.extend_from_slice(&buffer[..count]),
            }
        }
    }

    /// In one record, or as many as it takes.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        let mut stream = rustls::Stream::new(&mut self.session, &mut self.wire);
        stream
            .write_all(bytes)
            .and_then(|()| stream.flush())
            .is_ok()
    }

    /// Goes with the server's part of the handshake, before the client's end of it.
    pub fn write_early(&mut self, bytes: &[u8]) {
        self.session.writer().write_all(bytes).unwrap();
    }

    /// A record without a word of HTTP, and the connection's end at once.
    pub fn part_with_a_record(&mut self) {
        self.session.refresh_traffic_keys().unwrap();
        let mut record = Vec::new();
        self.session.write_tls(&mut record).unwrap();
        self.wire.socket.write_all(&record).unwrap();
        self.wire
            .socket
            .shutdown(std::net::Shutdown::Write)
            .unwrap();
    }

    /// Each byte in a record of its own.
    pub fn write_byte_by_byte(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| self.write(&[*byte]))
    }

    /// The orderly end.
    pub fn end(&mut self) {
        self.session.send_close_notify();
        while self.session.wants_write() && self.session.write_tls(&mut self.wire).is_ok() {}
    }

    /// Did the client resume an earlier session?
    pub fn resumed(&self) -> bool {
        self.session.handshake_kind() == Some(rustls::HandshakeKind::Resumed)
    }
}

/// `script` is called with each connection, whose handshake its first reading makes.
pub fn server(
    config: Arc<ServerConfig>,
    byte_by_byte: bool,
    script: impl Fn(&mut TlsPeer<'_>) + Send + Sync + 'static,
) -> Server {
    Server::new(move |peer, _| {
        let mut tls = TlsPeer {
            session: ServerConnection::new(config.clone()).unwrap(),
            wire: Wire {
                socket: &peer.stream,
                byte_by_byte,
            },
            pending: Vec::new(),
        };
        script(&mut tls);
    })
}
