//! One TLS session, as a filter: what the socket gave goes in and plain text
//! comes out, and the other way round. It performs no I/O.

use std::io::{BufRead, Write};
use std::ops::ControlFlow;

use rustls::{AlertDescription, CertificateError, ClientConnection, Error, PeerIncompatible};

use crate::tls_settings::TlsSettings;

#[derive(Debug)]
pub(crate) struct Session {
    client: ClientConnection,
    /// The peer has said that nothing follows.
    ended: bool,
}

impl Session {
    pub(crate) fn new(settings: &TlsSettings) -> Result<Self, Error> {
        let mut client =
            ClientConnection::new(settings.config.clone(), settings.server_name.clone())?;
        // A request is sealed as a whole, whatever its size.
        client.set_buffer_limit(None);
        Ok(Self {
            client,
            ended: false,
        })
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.client.is_handshaking()
    }

    /// Has the peer closed the session in the orderly way?
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Takes bytes from the socket and hands over the plain text in them,
    /// chunk by chunk, until the callback breaks. During the handshake there is
    /// none.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        mut plain: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        loop {
            let taken = self
                .client
                .read_tls(&mut bytes)
                .map_err(|error| Error::General(error.to_string()))?;
            self.ended |= self.client.process_new_packets()?.peer_has_closed();
            if !self.client.is_handshaking() {
                let mut reader = self.client.reader();
                while let Ok(chunk) = reader.fill_buf()
                    && !chunk.is_empty()
                {
                    let length = chunk.len();
                    if plain(chunk).is_break() {
                        return Ok(());
                    }
                    reader.consume(length);
                }
            }
            if taken == 0 || bytes.is_empty() {
                return Ok(());
            }
        }
    }

    /// Appends what is to be sent: this plain text, after whatever the session
    /// itself has to say.
    pub(crate) fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>) {
        // Writing to memory, within no limit, cannot fail.
        let _ = self.client.writer().write_all(plain);
        while self.client.wants_write() && self.client.write_tls(sealed).is_ok() {}
    }

    /// Appends the orderly end of the session.
    pub(crate) fn seal_end(&mut self, sealed: &mut Vec<u8>) {
        self.client.send_close_notify();
        self.seal(&[], sealed);
    }
}

/// A TLS error in words for the user, and what to do.
pub(crate) fn explained(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(reason) => format!(
            "the server's certificate is refused: {}",
            explained_certificate(reason)
        ),
        Error::InvalidMessage(_) => {
            "the server does not answer in TLS: is it an http:// server?".into()
        }
        Error::NoApplicationProtocol
        | Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            "the server does not offer HTTP/1.1 on this port: use one that does".into()
        }
        Error::AlertReceived(AlertDescription::ProtocolVersion)
        | Error::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13) => {
            "the server offers neither TLS 1.2 nor TLS 1.3: enable one of them there".into()
        }
        other => format!("TLS: {other}"),
    }
}

fn explained_certificate(reason: &CertificateError) -> String {
    match reason {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "it has expired: renew it, or pass --insecure".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet: check this machine's clock, or pass --insecure".into()
        }
        // A bad signature is one by an authority that shares its name with one known here.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its issuer is unknown here: name the issuer's \
             certificate with --cacert, or pass --insecure"
                .into()
        }
        CertificateError::NotValidForName => "it is for another name: use that in the URL, or \
             pass --insecure"
            .into(),
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => format!(
            "it is not for {} but for {}: use that in the URL, or pass --insecure",
            expected.to_str(),
            presented.join(", ")
        ),
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "it is an authority's own: issue one for the server with it and name the authority \
             with --cacert, or pass --insecure"
                .into()
        }
        other => format!("{other}: replace it, or pass --insecure"),
    }
}
